"""A saved model, and the graph it is to answer about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kernode.cli.model_source import Opened, open_model
from kernode.cli.options.single import DeviceOption, EncodingOption, NodesOption


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """A saved model, and the graph it is to answer about."""

    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` wrote.")]
    data: Annotated[
        str | None,
        typer.Argument(
            help="Its graph, another with the same columns, or a table of edges that arrive; "
            "not needed where the model has its graph or that is a built-in one."
        ),
    ] = None
    nodes: NodesOption = None
    encoding: EncodingOption = None
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Take tables as a graph of their own, though they mention the model's nodes."
        ),
    ] = False
    device: DeviceOption = "auto"

    def open(self) -> Opened:
        """Read both files."""
        return open_model(self.model, self.data, self.nodes, self.whole, self.device, self.encoding)


@dataclass(frozen=True, kw_only=True)
class AskedModelOptions(ModelOptions):
    """A saved model that is asked about nodes: its graph is an option, for arguments are nodes."""

    data: Annotated[
        str | None,
        typer.Option(
            "--graph",
            help="The model's graph, another with the same columns, or a table of edges that arrive; "
            "not needed where the model has its graph or that is a built-in one.",
            show_default=False,
        ),
    ] = None
