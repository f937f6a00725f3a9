"""The commands, and the one place where errors become a sentence and an exit status."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from kernode.cli import bench, compare, data, embed, estimate, fit, gram, links, predict, reproduce, tune
from kernode.errors import KernodeError
from kernode.node_classification.descriptions import SUMMARIES
from kernode.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(
    "fit",
    epilog="Variants:\n\n" + "\n\n".join(f"[bold]{name}[/]: {text}" for name, text in SUMMARIES.items()),
)(fit.fit)
app.command("predict")(predict.predict)
app.command("embed")(embed.embed)
app.command("gram")(gram.gram)
app.command("links")(links.links)
app.command("tune")(tune.tune)
app.command("compare")(compare.compare)
app.command("estimate")(estimate.estimate)
app.command("reproduce")(reproduce.reproduce)
app.command("bench")(bench.bench)
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
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            app(prog_name="kernode")
    except KernodeError as error:
        _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        _fail("interrupted.", 130)
    except BrokenPipeError:  # whoever was reading has enough
        raise SystemExit(141) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.", 1)
    except Exception as error:
        if isinstance(error, MemoryError) or "allocate" in str(error):
            _fail("the memory does not suffice. Try fewer --replicas, --triplets or a smaller --hidden.", 1)
        if os.environ.get("KERNODE_DEBUG"):
            raise
        _fail(f"internal error ({type(error).__name__}: {error}). Set KERNODE_DEBUG=1 to see where.", 1)


def _fail(sentence: str, status: int) -> None:
    print(f"kernode: {' '.join(sentence.split())}", file=sys.stderr)  # noqa: T201
    raise SystemExit(status)


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        print(f"kernode: warning: {' '.join(str(message).split())}", file=sys.stderr)  # noqa: T201
