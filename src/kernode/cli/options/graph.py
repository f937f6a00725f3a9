"""A graph: a name, a file, or tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from kernode.cli.console import harmless, say
from kernode.cli.option_groups import argument, option
from kernode.cli.options.settings import SetOptions, TableSettings
from kernode.cli.ranks import processes
from kernode.errors import InputError
from kernode.progress import log_event

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.training.settings import Training

DATA_HELP = (
    "cora, citeseer, pubmed, an .npz graph, a table of edges, a store's folder, "
    "synthetic:nodes=20000,degree=10,… or duckdb:FILE?edges=TABLE&nodes=QUERY (also sqlite:)"
)
NodesOption = Annotated[
    list[str] | None,
    option("Table of nodes: ids, features, labels (CSV, Parquet, Arrow, JSON, Excel, …). May be repeated."),
]
SplitOption = Annotated[
    str | None,
    option(
        "fastgcn, public, jk, fractions 0.6/0.2/0.2, counts 140/500/1000, 20-per-class, or a file "
        "(.npz, .json, .csv)."
    ),
]


@dataclass(frozen=True, kw_only=True)
class TableOptions(SetOptions):
    """Tables of graphs."""

    takes: ClassVar[dict[str, Any]] = {"table": TableSettings}

    nodes: NodesOption = None
    label: Annotated[str | None, option("Column of the classes; empty cells are unknown.")] = None

    def columns(self) -> dict[str, Any]:
        """What is given about tables, as arguments of ``read_table``."""
        own = {"nodes": self.nodes or None, "label": self.label}
        given = {name: value for name, value in own.items() if value is not None}
        return given | self.part("table").columns()

    def graphs(self, names: list[str]) -> list[Graph]:
        """Several graphs; the options are about each table among them."""
        from kernode.io.tables import is_table

        about = [name for name in names if is_table(name)] or names[:1]  # without a table, the first raises
        return [graph_of(name, self.columns() if name in about else {}) for name in names]


@dataclass(frozen=True, kw_only=True)
class GraphOptions(TableOptions):
    """One graph: a name, a file, or tables."""

    data: Annotated[str, argument(DATA_HELP)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if Path(self.data).suffix.lower() == ".safetensors":
            raise InputError(f"{self.data} is a model, not a graph.", "wrong-file", path=self.data)

    def graph(self) -> Graph:
        """Load, fetch, make or read it."""
        return graph_of(self.data, self.columns())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that are read."""
        return file_of(self.data), *map(file_of, self.nodes or ())

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
    def model_words(self) -> list[str]:
        """Words for a command that has a model of it: its files, none where its name is enough."""
        from kernode.io.registry import is_registered
        from kernode.io.tables import is_table

        named = is_registered(self.data) or not Path(self.data).is_dir()
        if not is_table(self.data) and not Path(self.data).suffix and named:
            return []
        encoding = self.part("table").encoding
        return ["--graph", *self._words, *(["--set", f"table.encoding={encoding}"] if encoding else [])]

    @property
    def words(self) -> list[str]:
        """Words for a command that reads it again."""
        changes = [one for one in self.changes or () if one.startswith("table.")]
        label = [] if self.label is None else ["--label", self.label]
        return [*self._words, *label, *(word for one in changes for word in ("--set", one))]

    @property
    def _words(self) -> list[str]:
        return [self.data, *(word for one in self.nodes or () for word in ("--nodes", str(one)))]


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
            f"{data} is not a store, which several processes can share. Make one: "
            f"kernode data convert {data} -o FOLDER, and give the folder.",
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
        log_event("input", text)
        if not quiet:
            sys.stderr.write(f"kernode: input: {harmless(text)}\n")


def print_notes(notes: tuple[str, ...]) -> None:
    """Print what was assumed about tables and done to them."""
    for text in notes:
        say(f"  [dim]input:[/] {escape(text)}")
