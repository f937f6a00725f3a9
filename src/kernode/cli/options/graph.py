"""A graph, or several: a name, a file, or people's own tables and what is in which column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import data_name
from kernode.cli.graph_source import graph_from
from kernode.cli.options.single import DATA_HELP, TABLES, EncodingOption, NodesOption
from kernode.cli.ranks import processes
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What is in which column of people's own tables."""

    nodes: NodesOption = None
    label: Annotated[str | None, typer.Option(help="Column of the classes; gaps are unknown.", **TABLES)] = (
        None
    )
    id: Annotated[str | None, typer.Option(help="Column of the nodes' ids.", **TABLES)] = None
    source: Annotated[str | None, typer.Option(help="Column of the edges' first nodes.", **TABLES)] = None
    target: Annotated[str | None, typer.Option(help="Column of the edges' second nodes.", **TABLES)] = None
    weight: Annotated[str | None, typer.Option(help="Column of the edges' weights.", **TABLES)] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns to learn from, with kinds if need be: year,venue:category,title:text.", **TABLES
        ),
    ] = None
    positions: Annotated[
        int | None,
        typer.Option(
            help="Random-projection positions beside the degree; 64 without features, else 0.", **TABLES
        ),
    ] = None

    unknown: Annotated[
        str | None,
        typer.Option(
            help="What means not known in the label column, with commas between: '-1,unknown'; '' for none.",
            **TABLES,
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal sign of numbers, '.' or ','; left out: as it looks.", **TABLES),
    ] = None
    dates: Annotated[
        str | None, typer.Option(help="Order of dates, dmy or mdy; left out: as it looks.", **TABLES)
    ] = None
    encoding: EncodingOption = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row of text files holds names; left out: as it looks.",
            **TABLES,
        ),
    ] = None

    def columns(self) -> dict[str, Any]:
        """Those that were given, by name."""
        return {
            field.name: value
            for field in fields(TableOptions)
            if (value := getattr(self, field.name)) is not None
        }

    def graphs(self, names: list[str]) -> list[Graph]:
        """Several graphs; the options are about each table among them."""
        from kernode.io.tables import is_table

        about = [name for name in names if is_table(name)] or names[:1]  # without one, the first complains
        return [graph_from(name, **self.columns() if name in about else {}) for name in names]


@dataclass(frozen=True, kw_only=True)
class GraphOptions(TableOptions):
    """One graph: a name, a file, or tables."""

    data: Annotated[str, typer.Argument(help=DATA_HELP)]

    def __post_init__(self) -> None:
        if Path(self.data).suffix.lower() == ".safetensors":
            raise InputError(
                f"{self.data} is a model, not a graph. Give the graph; kernode predict, similar and explain "
                "take models."
            )

    def graph(self) -> Graph:
        """Load, fetch, make or read it."""
        return graph_from(self.data, **self.columns())

    def require_memory(self, methods: Mapping[str, tuple[Any, Training]], place: Place) -> None:
        """Refuse before a graph is made or read where no method fits; what does not is left out later."""
        from kernode.io.sizes import look_up
        from kernode.io.store import is_store
        from kernode.io.synthetic import is_synthetic
        from kernode.training.memory import refused

        if is_synthetic(self.data) or is_store(self.data):
            refused(look_up(self.data).share(processes()), methods, place)

    @property
    def name(self) -> str:
        """What it is called in the names of files."""
        return data_name(self.data)

    @property
    def files(self) -> list[str]:
        """What a command needs to be told that has a model of it: files; any other is found by its name."""
        from kernode.io.registry import is_registered

        if not Path(self.data).suffix and (is_registered(self.data) or not Path(self.data).is_dir()):
            return []
        given = {"nodes": self.nodes, "encoding": self.encoding}
        return [
            self.data,
            *(word for name, value in given.items() if value for word in (f"--{name}", str(value))),
        ]

    @property
    def words(self) -> list[str]:
        """What a command needs to be told that reads it anew."""
        return [
            self.data,
            *(word for name, value in self.columns().items() for word in _as_words(name, value)),
        ]


def _as_words(name: str, value: Any) -> list[str]:
    """An option as it is typed."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]
