"""A graph, or several: a name, a file, or tables and what is in which column."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from kernode.cli.console import harmless, say
from kernode.cli.ranks import processes
from kernode.errors import InputError
from kernode.progress import note

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.training.settings import Training

DATA_HELP = (
    "cora, citeseer, pubmed, an .npz graph, a table of edges, a store's folder, "
    "synthetic:nodes=20000,degree=10,… or duckdb:FILE?edges=TABLE&nodes=QUERY (also sqlite:)"
)


def table_option(help_text: str, *names: str) -> Any:
    """An option about tables."""
    panel = "Your own tables (CSV, TSV, Parquet, Arrow, JSON, Excel, DuckDB, SQLite)"
    return typer.Option(*names, help=help_text, rich_help_panel=panel, show_default=False)


NodesOption = Annotated[
    list[str] | None, table_option("Table of nodes: ids, features, labels. May be repeated.")
]
EncodingOption = Annotated[
    str | None, table_option("Of text files: utf-8, cp1252, …; left out: UTF-8, else Windows-1252.")
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        help="fastgcn, public, jk, fractions 0.6/0.2/0.2, counts 140/500/1000, 20-per-class, or a file "
        "(.npz, .json, .csv)."
    ),
]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What is in which column of tables."""

    nodes: NodesOption = None
    label: Annotated[str | None, table_option("Column of the classes; gaps are unknown.")] = None
    id: Annotated[str | None, table_option("Column of the nodes' ids.")] = None
    source: Annotated[str | None, table_option("Column of the edges' first nodes.")] = None
    target: Annotated[str | None, table_option("Column of the edges' second nodes.")] = None
    weight: Annotated[str | None, table_option("Column of the edges' weights.")] = None
    source_prefix: Annotated[
        str | None, table_option("Put before the ids of sources, where targets are numbered alike.")
    ] = None
    target_prefix: Annotated[str | None, table_option("The same for the ids of targets.")] = None
    negative: Annotated[
        Literal["absolute", "drop"] | None,
        table_option("What to do with weights below 0.", "--negative-weights"),
    ] = None
    features: Annotated[
        str | None,
        table_option("Columns to learn from, with kinds if need be: year,venue:category,title:text."),
    ] = None
    positions: Annotated[
        int | None,
        table_option("Random-projection positions beside the degree; 64 without features, else 0."),
    ] = None
    unknown: Annotated[
        str | None,
        table_option("What means not known in the label column: '-1,unknown'; '' for none."),
    ] = None
    decimal: Annotated[str | None, table_option("Decimal sign, '.' or ','; left out: as it looks.")] = None
    dates: Annotated[str | None, table_option("Order of dates, dmy or mdy; left out: as it looks.")] = None
    encoding: EncodingOption = None
    header: Annotated[
        bool | None,
        table_option("Whether text files begin with names; left out: as it looks.", "--header/--no-header"),
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(TableOptions)}
        return {name: value for name, value in values.items() if value not in (None, [])}

    def columns(self) -> dict[str, Any]:
        """The same as the arguments of ``read_table``."""
        parsers: dict[str, Any] = {"features": parse_features, "unknown": lambda text: text.split(",")}
        return {name: parsers.get(name, lambda value: value)(value) for name, value in self.given().items()}

    @property
    def node_files(self) -> tuple[str, ...]:
        """The files that tables of nodes are in."""
        return tuple(map(file_of, self.nodes or ()))

    def graphs(self, names: list[str]) -> list[Graph]:
        """Several graphs; the options are about each table among them."""
        from kernode.io.tables import is_table

        about = [name for name in names if is_table(name)] or names[:1]  # without a table, the first raises
        return [graph_of(name, self.columns() if name in about else {}) for name in names]


@dataclass(frozen=True, kw_only=True)
class GraphOptions(TableOptions):
    """One graph: a name, a file, or tables."""

    data: Annotated[str, typer.Argument(help=DATA_HELP)]

    def __post_init__(self) -> None:
        if Path(self.data).suffix.lower() == ".safetensors":
            raise InputError(f"{self.data} is a model, not a graph.", "wrong-file", path=self.data)

    def graph(self) -> Graph:
        """Load, fetch, make or read it."""
        return graph_of(self.data, self.columns())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that are read."""
        return file_of(self.data), *self.node_files

    def require_memory(self, methods: Mapping[str, tuple[Any, Training]], place: Place) -> None:
        """Refuse before a graph is made or read where no method fits; what does not is left out later."""
        from kernode.io.shards import is_store
        from kernode.io.sizes import look_up
        from kernode.io.synthetic import is_synthetic
        from kernode.training.memory import refused

        if is_synthetic(self.data) or is_store(self.data):
            refused(look_up(self.data).share(processes()), methods, place)

    @property
    def name(self) -> str:
        """Its name in the names of files."""
        return data_name(self.data)

    @property
    def files(self) -> list[str]:
        """Words for a command that has a model of it: its files, none where its name is enough."""
        from kernode.io.registry import is_registered
        from kernode.io.tables import is_table

        named = is_registered(self.data) or not Path(self.data).is_dir()
        if not is_table(self.data) and not Path(self.data).suffix and named:
            return []
        return [self.data, *self._options("nodes", "encoding")]

    @property
    def words(self) -> list[str]:
        """Words for a command that reads it again."""
        return [self.data, *self._options(*self.given())]

    def _options(self, *names: str) -> list[str]:
        """The options that were given, of these, as words."""
        found = []
        for name, value in self.given().items():
            option = "negative-weights" if name == "negative" else name.replace("_", "-")
            flags = {True: [f"--{option}"], False: [f"--no-{option}"]}
            several = value if isinstance(value, list) else [value]
            if name in names:
                found += flags[value] if isinstance(value, bool) else [
                    word for one in several for word in (f"--{option}", str(one))
                ]  # fmt: skip
        return found


def file_of(data: str) -> str:
    """The file of data: that of a database, where data are tables in one.

    >>> file_of("edges.csv"), file_of("duckdb:shop.db?edges=follows&nodes=users")
    ('edges.csv', 'shop.db')
    """
    return data.partition(":")[2].partition("?")[0] if data.startswith(("duckdb:", "sqlite:")) else data


def data_name(data: str) -> str:
    """The name of data in file names: a data set's name or a file's stem.

    >>> data_name("Cora"), data_name("my/graph.npz"), data_name("synthetic:nodes=50,seed=1")
    ('cora', 'graph', 'synthetic-nodes=50-seed=1')
    >>> data_name("duckdb:my/shop.db?edges=follows")
    'shop'
    """
    if data.startswith("synthetic:"):
        return re.sub(r"[^\w=]+", "-", data)  # file names on Windows have no colons
    data = file_of(data)
    return Path(data).stem if Path(data).suffix else Path(data).name.lower()


def parse_features(text: str) -> dict[str, str | None]:
    """Columns, each with its kind or None.

    >>> parse_features("year, venue:category")
    {'year': None, 'venue': 'category'}
    """
    columns = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, kind = part.rpartition(":") if ":" in part else (part, "", "")
        columns[name.strip()] = kind.strip() or None
    return columns


def graph_of(data: str, columns: Mapping[str, Any]) -> Graph:
    """A graph by its name, from a file, or from tables with these columns."""
    from kernode.io import read_table
    from kernode.io.tables import is_table

    if is_table(data) and processes() == 1:
        return read_table(data, **columns)
    if columns:
        raise InputError(
            f"{data} is not a table of edges (CSV, TSV, Parquet, …): leave out what is about tables.",
            "no-effect", setting=next(iter(columns)),
        )  # fmt: skip
    return load_data(data)


def load_data(data: str) -> Graph:
    """A graph by its name or file; each of several processes gets its share of a store."""
    from kernode.io import load_graph

    if processes() == 1:
        return load_graph(data)
    from kernode.compute.ranks import join
    from kernode.io.shards import Store, is_store

    if not is_store(data):
        raise InputError(
            f"{data} is not a store, which several processes can share. Make one: kernode data shard {data} "
            "-o FOLDER, and give the folder.",
            "unsupported",
        )
    return Store.open(data).share(join())


def require_labels(graph: Graph, label: str | None) -> None:
    """Refuse tables without classes, and name the columns that could hold them."""
    if (graph.labels >= 0).any() or graph.encoding is None:
        return
    if label is not None:
        sentence = f"no node has a class in column {label!r}. Fill it for some nodes."
    elif ignored := [one for one in graph.notes if one.startswith("did not take a column as label")]:
        sentence = f"no node has a class: {ignored[0]}"
    else:
        names = ", ".join(column.name for column in graph.encoding.columns)
        sentence = (
            f"no node has a class. Name the column of the classes{f', one of {names}' if names else ''}."
        )
    raise InputError(sentence, "missing", setting="label" if label else ("nodes", "label"))


def tell_notes(graph: Graph, *, quiet: bool) -> None:
    """Write what was assumed about a graph's tables to the log and to stderr, before anything is trained."""
    for text in graph.notes if graph.encoding is not None else ():
        note("input", text)
        if not quiet:
            sys.stderr.write(f"kernode: input: {harmless(text)}\n")


def print_notes(notes: tuple[str, ...]) -> None:
    """Print what was assumed about tables and done to them."""
    for text in notes:
        say(f"  [dim]input:[/] {escape(text)}")
