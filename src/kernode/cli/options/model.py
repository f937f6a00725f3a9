"""A saved model, and the graph that it answers about: its own, another, or its own with new nodes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import harmless, print_json, say, write_data
from kernode.cli.files import Table, as_csv, rows_of, write_table
from kernode.cli.options.graph import EncodingOption, NodesOption, file_of, load_data, print_notes
from kernode.cli.options.run import DeviceOption, OutputOptions
from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.graph.lookup import Positions
    from kernode.models.model import Model

_DATA_HELP = (
    "Its graph, or another with the same columns; not needed where the model has its graph or "
    "that is a built-in one."
)
OutTableOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
]


@dataclass(frozen=True)
class Opened:
    """A model on a graph."""

    model: Any  # an estimator
    nodes: Positions  # to answer about
    notes: tuple[str, ...]  # on the graph's tables
    repairs: tuple[Any, ...]
    from_tables: bool = False  # which were read just now

    @classmethod
    def of(cls, model: Any, *, from_tables: bool = False) -> Opened:
        """About every node of the graph."""
        from kernode.graph import positions

        graph = model.graph_
        return cls(model, positions(range(graph.n_nodes)), graph.notes, graph.repairs, from_tables)

    @classmethod
    def extended(cls, model: Any, nodes: Any, edges: Any, encoding: str | None = None) -> Opened:
        """The model after nodes and edges arrived at its graph, about the nodes that did."""
        from kernode.graph import positions

        old, grown = model.graph_, model.extend(None, nodes, edges, encoding=encoding)
        new = grown.graph_
        arrived = positions(range(old.n_nodes, new.n_nodes))
        return cls(grown, arrived, new.notes[len(old.notes) :], new.repairs[len(old.repairs) :], True)

    @property
    def graph(self) -> Graph:
        """The graph that answers are about."""
        found: Graph = self.model.graph_
        return found

    @property
    def on(self) -> Any:
        """The estimator's model on the graph."""
        return self.model._fitted() if hasattr(self.model, "split_") else self.model._on(None)

    def print_json(self, model: LinkModelOptions, **facts: Any) -> None:
        """Print facts as JSON, with the model's file, the graph and its notes."""
        about = {"model": str(model.model), "dataset": self.graph.name}
        print_json({**about, **facts, "notes": list(self.notes)})

    def print_notes(self, output: OutputOptions) -> None:
        """Print what was assumed about tables that were read just now, and done to them."""
        if self.from_tables and not output.quiet:
            print_notes(self.notes)

    def print_table(
        self, table: Table, facts: Mapping[str, Any], out: Path | None, output: OutputOptions, *,
        rows: str = "predictions", sentences: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """Write a table to a file or stdout, and print facts as JSON, or sentences (on stderr with a table).

        ``rows``: where the JSON object has the table, if no file does.
        """
        if out is not None:
            write_table(out, table)
        if output.json:
            about = {"out": None if out is None else str(out), "notes": list(self.notes)}
            about["repairs"] = [repair.to_json() for repair in self.repairs]
            print_json({**facts, **about, **({rows: rows_of(table)} if out is None else {})})
        elif out is not None:
            self.print_notes(output)
            for sentence in () if output.quiet else sentences:
                say(escape(sentence))
        else:
            write_data(as_csv(table).decode())
            encoding = self.graph.encoding
            usual = {"made undirected", *(encoding.describe() if encoding else ())}
            news = [f"input: {note}" for note in self.notes if self.from_tables and note not in usual]
            for line in () if output.quiet else (*news, *sentences):
                sys.stderr.write(f"kernode: {harmless(line)}\n")


@dataclass(frozen=True, kw_only=True)
class LinkModelOptions:
    """A saved model, and its graph."""

    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` or `kernode links` wrote.")]
    data: Annotated[str | None, typer.Argument(help=_DATA_HELP)] = None
    nodes: NodesOption = None
    encoding: EncodingOption = None
    device: DeviceOption = "auto"

    @property
    def inputs(self) -> tuple[str | Path | None, ...]:
        """The files that are read."""
        tables = (*(() if self.data is None else (self.data,)), *(self.nodes or ()))
        return self.model, *map(file_of, tables)

    def open(self, *tasks: str) -> Opened:
        """Read both files. ``tasks``: what the model may be of, "classes" (the default) or "links"."""
        return self._on_graph(*read_model_of(self.model, tasks or ("classes",), self.device))

    def _on_graph(self, model: Model, device: str) -> Opened:
        from kernode.estimators.load import as_estimator
        from kernode.io.tables import is_table

        graph = graph_for(model, self.data, self.nodes, self.encoding)
        estimator = as_estimator(model, graph, device, self.model)
        return Opened.of(estimator, from_tables=self.data is not None and is_table(self.data))


@dataclass(frozen=True, kw_only=True)
class ModelOptions(LinkModelOptions):
    """A saved model, and the graph that it answers about."""

    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Take tables as a graph of their own, though they mention the model's nodes."
        ),
    ] = False

    def _on_graph(self, model: Model, device: str) -> Opened:
        from kernode.estimators.load import as_estimator
        from kernode.io import read_table
        from kernode.io.tables import is_table
        from kernode.tasks.classes.model import NodeModel

        tables = self.data is not None and is_table(self.data) and model.encoding is not None
        if not tables or self.whole or not isinstance(model, NodeModel):
            return super()._on_graph(model, device)
        assert self.data is not None
        assert model.encoding is not None
        graph = read_table(self.data, self.nodes or None, like=model.encoding, encoding=self.encoding)
        if not model.is_own(graph):
            self._require_listed(model, graph)
        return Opened.of(as_estimator(model, graph, device), from_tables=True)

    def _require_listed(self, model: Model, graph: Graph) -> None:
        """Refuse tables whose edges mention nodes of the model's graph that are not listed."""
        import numpy as np

        assert model.encoding is not None
        names = np.asarray(graph.node_names)
        if graph.listed is not None:
            names = names[~graph.listed]
        elif self.nodes or "nodes=" in str(self.data):
            names = names[:0]
        known = () if model.graph is None else model.graph.node_names
        unlisted, own = len(names), int(np.isin(names, np.asarray(known, str)).sum())
        words = ["kernode", "predict", str(self.model), "--new-edges", str(self.data)]
        listed = (word for one in self.nodes or () for word in ("--new-nodes", one))
        arriving = shlex.join([*words, *listed])
        if model.graph is None and unlisted and model.encoding.columns:
            warn(
                f"edges mention {unlisted:,} nodes that are not listed, without features here. If "
                f"they are of {model.dataset!r}, the graph that the model learned from: {arriving}"
            )
        elif own:
            raise InputError(
                f"edges mention {own:,} nodes of {model.dataset!r}, the graph that the "
                f"model learned from, which are not listed. If new nodes arrive at it: {arriving}. Else "
                "take the tables as a graph of their own.",
                "ambiguous", setting="whole",
            )  # fmt: skip

    def extended(self, nodes: list[str] | None, edges: str | None) -> Opened:
        """Read both files, and let nodes and edges arrive at the graph, which the model learned from."""
        from kernode.estimators.load import as_estimator

        model, device = read_model_of(self.model, ("classes",), self.device)
        given = self.data is not None or bool(self.nodes)
        graph = graph_for(model, self.data, self.nodes, self.encoding) if given else model.own_graph()
        if graph is None or not model.is_own(graph):
            raise InputError(
                f"{self.data or self.model} does not hold {model.dataset!r}, the graph that the model "
                "learned from. Give its own tables, or train with kernode fit … --with-graph.",
                "missing", setting="nodes",
            )  # fmt: skip
        if graph.encoding is None:
            raise InputError(
                f"{graph.name!r} was not read from tables, so that no table says what new nodes are. Use "
                f"Python: kernode.load_model({str(self.model)!r}).extend(None, features, edges).",
                "unsupported",
            )
        return Opened.extended(as_estimator(model, graph, device), nodes, edges, self.encoding)


@dataclass(frozen=True, kw_only=True)
class QueryOptions(ModelOptions):
    """A saved model for queries: its graph is an option, because the arguments are nodes."""

    data: Annotated[str | None, typer.Option("--graph", help=_DATA_HELP, show_default=False)] = None


def read_model_of(path: Path, tasks: tuple[str, ...], device: str) -> tuple[Any, str]:
    """A model of one of these tasks, and the device that it answers on."""
    from kernode.compute.place import Place
    from kernode.models.file import read_model
    from kernode.tasks.links.model import LinkModel

    model = read_model(path)
    task = "links" if isinstance(model, LinkModel) else "classes"
    if task not in tasks:
        raise InputError(f"{path} is a model of {task}. Give a model of {tasks[0]}.", "wrong-file", path=path)
    return model, str(Place.of(model.precision, device).device)


def graph_for(model: Model, data: str | None, nodes: list[str] | None, encoding: str | None) -> Graph | None:
    """The graph that is given with a model; None: its own. Tables are read as those it learned from."""
    from kernode.io import read_table
    from kernode.io.tables import is_table

    if data is not None and is_table(data) and model.encoding is not None:
        return read_table(data, nodes or None, like=model.encoding, encoding=encoding)
    for name, value in (("nodes", nodes), ("encoding", encoding)):
        if value:
            sentence = "this is about tables: give a table of edges, and a model that learned from tables."
            raise InputError(sentence, "no-effect", setting=name)
    return None if data is None else load_data(data)


def as_node(graph: Graph, text: str) -> str | int:
    """A node as it is typed: its name, or its index where nodes have no names."""
    is_index = graph.node_names is None and text.isascii() and text.isdigit()
    return int(text) if is_index else text


def chosen_nodes(graph: Graph, text: str, setting: str) -> Positions:
    """Return the nodes of a list "a,b,c", or of a file with one per line."""
    import numpy as np

    names = [name.strip() for name in _listed(text) if name.strip()]
    if not names:
        raise InputError(f"{text} names no node. Give a,b,c or a file.", "too-few", setting=setting)
    nodes = graph.find([as_node(graph, name) for name in names])
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        twice = names_of(graph, values[counts > 1])[0]
        raise InputError(f"{twice} is listed twice. List each node once.", "duplicate", setting=setting)
    return nodes


def _listed(text: str) -> list[str]:
    try:
        return Path(text).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{text} is not a text file in UTF-8.", "wrong-file", path=text) from None
    except (OSError, ValueError):  # no such file, or a text that cannot be the name of one
        return text.split(",")


def names_of(graph: Graph, nodes: Any) -> Any:
    """Names of nodes, or their indices where the graph has no names: an array."""
    from kernode.graph import typed_names

    return nodes if graph.node_names is None else typed_names(graph.node_names)[nodes]
