"""The command line: commands, and errors as one sentence and an exit status."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from kernode.cli import data
from kernode.cli.console import harmless, warned, write_stdout
from kernode.cli.log_file import end_log
from kernode.cli.option_groups import FORMER_COMMANDS, MOVED, expanded, flag, option
from kernode.cli.ranks import begin_rank, has_joined, rank
from kernode.descriptions import DESCRIPTIONS
from kernode.errors import Interrupted, KernodeError, kept
from kernode.storage import cache_folder, written_files
from kernode.version import __version__

# By panel of the help; each is a function in a file of its name.
COMMANDS = {
    "Classes": ("fit", "predict"),
    "Similarity": ("similar", "explain", "embed"),
    "Links": ("links", "predict-links"),
    "Pictures and pages": ("plot", "report", "serve"),
    "Settings and data": ("tune", "compare"),
}
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
_SHOWN = (
    "auto",
    "best",
    "fast",
    "instant",
    "similarity",
    "k1",
    "k2",
    "k3",
    "n1",
    "gcn",
    "gat",
    "appnp",
    "mlp",
)
_VARIANTS = (
    f"Variants: {', '.join(_SHOWN)} and {len(DESCRIPTIONS) - len(_SHOWN)} more; the documentation's page "
    "Variants says what each is."
)


def add_command(name: str, panel: str | None = None) -> None:
    """Add the function in a file of its name, in a panel of the help."""
    function = name.replace("-", "_")
    command = expanded(getattr(import_module(f"kernode.cli.{function}"), function))
    epilog = _VARIANTS if name == "fit" else None
    app.command(name, epilog=epilog, rich_help_panel=panel)(command)


for _panel, _names in COMMANDS.items():
    for _name in _names:
        add_command(_name, _panel)
app.add_typer(
    data.app,
    name="data",
    help="List, describe and convert graphs.",
    rich_help_panel="Settings and data",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"kernode {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def kernode(
    context: typer.Context,
    log_file: Annotated[Path | None, option("Append a log to this file, as JSON lines.")] = None,
    version: Annotated[
        bool, flag("Print the version.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn a similarity kernel on the nodes of a graph.

    Start with: [bold]kernode fit cora[/]
    """
    context.obj = log_file


def main() -> None:
    """Run a command; print a failure as one sentence and exit with its status."""
    try:
        begin_rank()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # characters that a terminal's encoding lacks
        with kept(_written), warnings.catch_warnings():
            warnings.simplefilter("default")
            warned.clear()
            warnings.showwarning = warned.showwarning
            status: int = app(prog_name="kernode", standalone_mode=False) or 0
            if status == Interrupted.exit_status:  # typer returns a number for Ctrl-C
                raise KeyboardInterrupt
            write_stdout()
    except SystemExit:
        raise
    except BaseException as error:
        explained = _explained(error)
        if explained is None and os.environ.get("KERNODE_DEBUG"):
            raise
        about = f"{type(error).__name__}: {error}"
        sentence, status = explained or (f"internal error ({about}). Set KERNODE_DEBUG=1 to see where.", 1)
        _fail(" ".join(sentence.split()), status, None if explained else error)
    end_log(status)
    raise SystemExit(status)


def _explained(error: BaseException) -> tuple[str, int] | None:
    """The sentence and the exit status of an error; None: an internal error."""
    if isinstance(error, KernodeError):
        return str(error), error.exit_status
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return str(Interrupted()), Interrupted.exit_status
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}.", 2 if isinstance(error, IsADirectoryError) else 1
    if hasattr(error, "format_message"):  # typer's, about options and arguments
        context, sentence = getattr(error, "ctx", None), error.format_message().rstrip(". ")
        if not sentence:
            return "", error.exit_code  # type: ignore[attr-defined]
        former = sentence.split("'")[1] if sentence.startswith("No such command") else ""
        now = FORMER_COMMANDS.get(former) or MOVED.get(getattr(error, "option_name", ""))
        takes_graph = context is not None and any("--graph" in one.opts for one in context.command.params)
        if "unexpected extra argument" in sentence and takes_graph:
            now = "--graph DATA"
        sentence += f": it is now {now}" if now else ""
        path = context.command_path if context else "kernode"
        return f"{sentence}. See: {path} --help", error.exit_code  # type: ignore[attr-defined]
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        return "a file's name is not text in UTF-8. Rename the file, or set PYTHONUTF8=1.", 2
    if isinstance(error, MemoryError) or "allocate" in str(error):
        return "out of memory. Use fewer replicas, fewer triplets or narrower hidden layers.", 1
    return None


def _written() -> str:
    """Return a sentence on the files that an interrupted command has written."""
    shown = [str(path) for path in dict.fromkeys(written_files()) if not path.is_relative_to(cache_folder())]
    return f"Written by then: {', '.join(shown)}." if shown else "Nothing was written."


def _fail(sentence: str, status: int, error: BaseException | None = None) -> None:
    """End with a sentence on stderr and in the log, which also has an internal error's traceback."""
    end_log(status, sentence, error)
    if (
        rank() and not has_joined()
    ):  # all processes fail alike until they communicate: rank 0 prints the error
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(5)  # until torchrun ends all processes
    with suppress(KernodeError, ValueError, SystemExit):  # full, or closed already
        write_stdout()
    if sentence:
        who, where = (f"kernode (rank {rank()})", sys.__stderr__) if rank() else ("kernode", sys.stderr)
        with suppress(OSError):  # the status says it
            print(f"{who}: {harmless(sentence)}", file=where, flush=True)
    if has_joined():
        os._exit(status)  # a regular exit would wait for the other ranks, and one may be gone
    raise SystemExit(status)
