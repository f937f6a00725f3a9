"""The commands ``python -m experiments reproduce`` and ``python -m experiments bench``."""

from __future__ import annotations

import warnings

import typer

from experiments.bench.command import bench
from experiments.reproduce.command import reproduce
from kernode.cli.console import warned
from kernode.cli.option_groups import expanded
from kernode.errors import KernodeError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The paper's tables and the benchmarks of kernode.",
)
app.command()(expanded(reproduce))
app.command()(expanded(bench))


def main() -> None:
    """Run a command; an error ends in one sentence on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warned.clear()
            warnings.showwarning = warned.showwarning
            app(prog_name="python -m experiments")
    except KernodeError as error:
        typer.echo(f"experiments: {' '.join(str(error).split())}", err=True)
        raise SystemExit(error.exit_status) from None


if __name__ == "__main__":
    main()
