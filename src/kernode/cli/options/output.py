"""How much is said, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kernode.cli.console import warned


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How much is said, and to whom."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings on stderr.")] = (
        False
    )
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on stdout (UTF-8), nothing else.")
    ] = False

    log_file: Annotated[
        Path | None,
        typer.Option(
            help="Add lines of JSON to this file: what is done, warnings, the end.", show_default=False
        ),
    ] = None

    def __post_init__(self) -> None:
        warned.shown = not self.silent

    @property
    def silent(self) -> bool:
        """Whether neither progress nor warnings are shown."""
        return self.quiet or self.json
