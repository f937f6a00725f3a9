"""The commands, and the one place where errors become a sentence and an exit status."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from kernode.cli import data
from kernode.cli.commands import COMMANDS
from kernode.cli.console import warned
from kernode.cli.log_file import log_file
from kernode.cli.option_groups import Command, Group, expanded
from kernode.cli.ranks import await_the_end, has_joined, rank, take_place
from kernode.cli.streams import harmless, whole_output
from kernode.descriptions import DESCRIPTIONS
from kernode.errors import Interrupted, KernodeError, kept
from kernode.storage import cache_folder, noting_files
from kernode.version import __version__

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
_VARIANTS = "\n\n".join(f"[bold]{name}[/]: {escape(text)}" for name, text in DESCRIPTIONS.items())
for _name in COMMANDS:
    _command = getattr(import_module(f"kernode.cli.{_name}"), _name)
    _epilog = f"Variants:\n\n{_VARIANTS}" if _name == "fit" else None
    app.command(_name.replace("_", "-"), cls=Command, epilog=_epilog)(expanded(_command))
app.add_typer(
    data.app, name="data", help="Data sets: list them, look at one, fetch one; tables into one file."
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"kernode {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def kernode(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn a similarity kernel on the nodes of a graph.

    Start with: [bold]kernode fit cora[/]
    """


def main() -> None:
    """Run a command; whatever goes wrong ends in one sentence, never in a traceback."""
    try:
        take_place(sys.argv[1:])
        with (
            noting_files() as files,
            kept(lambda: _said_of(files())),
            whole_output(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            warned.begin()
            warnings.showwarning = warned.hear
            status: int = app(prog_name="kernode", standalone_mode=False) or 0
            if status == Interrupted.exit_status:  # typer makes a number of Ctrl-C
                raise KeyboardInterrupt
        log_file.end(status)
        raise SystemExit(status)
    except KernodeError as error:
        _fail(with_option(error), error.exit_status)
    except (KeyboardInterrupt, typer.Abort):
        _fail(str(Interrupted()), Interrupted.exit_status)
    except BrokenPipeError:  # whoever was reading has enough
        log_file.end(141, "nobody reads stdout any more")
        raise SystemExit(141) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.", 1)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's: an option or argument that there is not
            _fail_use(error)
        if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
            _fail(_said_of_a_name(), 2)
        if os.environ.get("KERNODE_DEBUG"):
            raise
        if isinstance(error, MemoryError) or "allocate" in str(error):
            _fail("the memory does not suffice. Try fewer --replicas, --triplets or a smaller --hidden.", 1)
        sentence = f"internal error ({type(error).__name__}: {error}). Set KERNODE_DEBUG=1 to see where."
        _fail(sentence, 1, error)


def with_option(error: KernodeError, words: Sequence[str] | None = None) -> str:
    """The sentence of an error, with the option of the command for the setting that it is about.

    >>> with_option(KernodeError("hops must be an integer ≥ 1. Got 0.", setting="hops"), ["fit", "cora"])
    'hops must be an integer ≥ 1. Got 0. (--hops)'
    """
    command: Any = typer.main.get_command(app)
    for word in sys.argv[1:] if words is None else words:
        command = getattr(command, "commands", {}).get(word, command)
    setting = error.fields.get("setting", ())
    settings = (setting,) if isinstance(setting, str) else setting
    named = [one for name in settings for one in command.params if one.name == name]
    options = [
        "/".join([*one.opts[:1], *one.secondary_opts]) for one in named if one.opts[0].startswith("--")
    ]
    shown = ", ".join(option for option in options if option not in str(error))
    return f"{error} ({shown})" if shown else str(error)


def _said_of(files: Collection[Path]) -> str:
    """What is kept of a command that has nothing else to say about it: the files that are whole."""
    shown = [str(path) for path in files if not path.is_relative_to(cache_folder())]
    if not shown:
        return "Nothing was written."
    others = f" and {len(shown) - 3} others" if len(shown) > 3 else ""
    return f"Written by then: {', '.join(shown[:3])}{others}."


def _said_of_a_name() -> str:
    """About a file whose name is no text: here, or anywhere."""
    if sys.getfilesystemencoding().lower() != "utf-8":
        return "a file's name is not in the encoding of this locale. Set PYTHONUTF8=1, or a UTF-8 LC_ALL."
    words = (word for word in sys.argv[1:] if re.search("[\ud800-\udfff]", word))
    shown = os.fsencode(next(words, "a file")).decode("utf-8", "backslashreplace")
    return f"{shown}: the name is not text in UTF-8. Rename the file."


def _fail(sentence: str, status: int, error: Exception | None = None) -> None:
    """Say what is wrong, on stderr and in the log; an error that nobody foresaw is whole in the log."""
    log_file.end(status, " ".join(sentence.split()), error)
    who, where = (f"kernode (rank {rank()})", sys.__stderr__) if rank() else ("kernode", sys.stderr)
    if rank() and not has_joined():  # before they have met, all of them fail alike: the first says it
        await_the_end()
    with suppress(OSError):  # nobody listens; the status says it
        print(f"{who}: {harmless(' '.join(sentence.split()))}", file=where, flush=True)
    if has_joined():
        os._exit(status)  # to leave the others in order is to wait for them, and one may be gone
    raise SystemExit(status)


def _fail_use(error: Any) -> None:
    """A command that was called wrongly; without anything to do its help has been shown instead."""
    sentence = error.format_message().rstrip(". ")
    if not sentence:
        raise SystemExit(error.exit_code)
    context = getattr(error, "ctx", None)
    _fail(f"{sentence}. See: {context.command_path if context else 'kernode'} --help", error.exit_code)
