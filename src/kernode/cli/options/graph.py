"""A graph: a name, a file, or tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from kernode.cli.console import harmless
from kernode.cli.option_groups import argument, option
from kernode.cli.options.settings import SetOptions, TableSettings
from kernode.cli.ranks import processes
from kernode.errors import InputError
from kernode.progress import log_event

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions
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

    def read(self, data: str, *, is_only: bool = True) -> Graph:
        """A graph by its name, from a file, or from tables, which options about tables need."""
        from kernode.io import read_table
        from kernode.io.tables import is_table

        columns = self.columns()
        if is_table(data) and processes() == 1:
            return read_table(data, **columns)
        if columns and is_only:
            sentence = (
                f"{data} is not a table of edges (CSV, TSV, Parquet, …): leave out what is about tables."
            )
            raise InputError(sentence, "no-effect", setting=next(iter(columns)))
        return load_data(data)

    def require_labels(self, graph: Graph) -> None:
        """Refuse graphs of numbers, and tables without classes; name the columns that could hold them."""
        from kernode.tasks.classes.labels import require_no_numbers

        require_no_numbers(graph)
        if (graph.labels >= 0).any() or graph.encoding is None:
            return
        names = ", ".join(column.name for column in graph.encoding.columns)
        among = f", one of {names}" if names else ""
        sentence = f"no node has a class. Name the column of the classes{among}."
        if self.label is not None:
            sentence = f"no node has a class in column {self.label!r}. Fill it for some nodes."
        elif ignored := [one for one in graph.notes if one.startswith("did not take a column as label")]:
            sentence = f"no node has a class: {ignored[0]}"
        raise InputError(sentence, "missing", setting="label" if self.label else ("nodes", "label"))

    def require_numbers(self, graph: Graph) -> None:
        """Refuse graphs without numbers."""
        if graph.targets is None:
            sentence = f"{graph.name!r} holds no numbers, and a covariance is for numbers. Name their column."
            raise InputError(sentence, "missing", setting="label")


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
        return self.read(self.data)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that are read."""
        return file_of(self.data), *map(file_of, self.nodes or ())

    def require_memory(self, methods: Mapping[str, tuple[Any, Training]], options: TensorOptions) -> None:
        """Refuse before a graph is made or read where no method fits; what does not is left out later."""
        from kernode.io.shards import is_store
        from kernode.io.sizes import look_up
        from kernode.io.synthetic import is_synthetic
        from kernode.training.memory import refused

        if is_synthetic(self.data) or is_store(self.data):
            refused(look_up(self.data).share(processes()), methods, options)

    @property
    def name(self) -> str:
        """Its name in the names of files."""
        return data_name(self.data)

    def words(self, *, of_model: bool = False) -> list[str]:
        """Words that name it for the next command; ``of_model``: which has a model of it."""
        if of_model and not Path(file_of(self.data)).exists():
            return []
        label = [self.label] if self.label and not of_model else []
        part = "table.encoding" if of_model else "table."
        changes = [one for one in self.changes or () if one.startswith(part)]
        given = {"--nodes": self.nodes or [], "--label": label, "--set": changes}
        words = [word for name, values in given.items() for value in values for word in (name, value)]
        return [*(["--graph"] if of_model else []), self.data, *words]


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


def show_notes(graph: Graph, *, quiet: bool) -> None:
    """Write what was assumed about a graph's tables to the log and to stderr, before anything is trained."""
    for text in graph.notes if graph.encoding is not None else ():
        log_event("input", text)
        if not quiet:
            sys.stderr.write(f"kernode: input: {harmless(text)}\n")


def note_lines(notes: tuple[str, ...]) -> list[str]:
    """What was assumed about tables and done to them, for people."""
    return [f"  [dim]input:[/] {escape(text)}" for text in notes]
