"""A saved model and the graph to answer about: its own, another, or its own after tables arrived."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.graph.lookup import Positions
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.links.model import LinkModel


@dataclass(frozen=True)
class Opened:
    """A model on a graph, and what is to be said of the graph."""

    on: NodeModelOnGraph
    nodes: Positions  # of those that are asked about
    notes: tuple[str, ...]
    repairs: tuple[Any, ...]
    from_tables: bool = False  # read just now: what was done to them is news

    @classmethod
    def of(cls, on: NodeModelOnGraph, sentence: str = "", *, from_tables: bool = False) -> Opened:
        """About every node of a graph; ``sentence``: how tables were taken, where that is not evident."""
        from kernode.graph import positions

        graph = on.graph
        notes = (sentence, *graph.notes) if sentence else graph.notes
        return cls(on, positions(range(graph.n_nodes)), notes, graph.repairs, from_tables)


def open_model(
    path: Path, data: str | None, nodes: Path | None, whole: bool, device: str, encoding: str | None = None
) -> Opened:
    """The model of a file on the graph that is named, on its own, or on what tables make of its own."""
    from kernode.compute.place import Place
    from kernode.io.tables import is_table
    from kernode.tasks.classes.model import NodeModel

    model = NodeModel.load(path)
    where = str(Place.of(model.precision, device).device)
    if data is not None and is_table(data) and model.encoding is not None:
        return _of_tables(model, path, data, nodes, whole, where, encoding)
    return Opened.of(model.on(graph_of(model, path, data, nodes, encoding), where))


def graph_of(
    model: NodeModel | LinkModel, path: Path, data: str | None, nodes: Path | None, encoding: str | None
) -> Graph:
    """The graph that is named after a model, or its own."""
    if data is not None:
        return graph_at(model, path, data, nodes, encoding)
    if nodes is not None:
        raise InputError("--nodes is for a table of edges. Give that one, too.", "missing", setting="data")
    if encoding is not None:
        raise InputError("--encoding is for tables. Give them, too.", "missing", setting="data")
    return _own_graph_of(model, path)


def _own_graph_of(model: NodeModel | LinkModel, path: Path) -> Graph:
    """The graph in a model's file, or the built-in one it was trained on."""
    from kernode.estimators.load import own_graph

    own = own_graph(model)
    if own is None:
        raise InputError(
            f"{path} was trained on {model.dataset!r}: give that graph's file, too, or train it with "
            "--with-graph.",
            "missing",
            setting="data",
        )
    return own


def graph_at(
    model: NodeModel | LinkModel, path: Path, data: str, nodes: Path | None, encoding: str | None = None
) -> Graph:
    """The graph of a name, a file or tables; these are read as those were that the model learned from."""
    from kernode.cli.ranks import loaded
    from kernode.io import read_table
    from kernode.io.tables import is_table

    if is_table(data) and model.encoding is not None:
        return read_table(data, nodes, like=model.encoding, encoding=encoding)
    for option, value in (("nodes", nodes), ("encoding", encoding)):
        if value is not None:
            other = path if is_table(data) else data
            raise InputError(f"--{option} is for a model and a graph from tables, which {other} is not.")
    return loaded(data)


def extended(
    model: NodeModel, graph: Graph, nodes: Any, edges: Any, device: str, encoding: str | None = None
) -> Opened:
    """The model on its graph after tables arrived, asked about the nodes that did."""
    from kernode.graph import positions
    from kernode.io.tables import extend

    larger = extend(graph, nodes, edges, encoding=encoding)
    arrived = positions(range(graph.n_nodes, larger.n_nodes))
    notes, repairs = larger.notes[len(graph.notes) :], larger.repairs[len(graph.repairs) :]
    return Opened(model.on(graph, device).extended(larger), arrived, notes, repairs, from_tables=True)


def _of_tables(
    model: NodeModel,
    path: Path,
    data: str,
    nodes: Path | None,
    whole: bool,
    device: str,
    encoding: str | None,
) -> Opened:
    """Tables of nodes that arrive at the model's graph, of another state of it, or of another graph."""
    from kernode.io import read_table
    from kernode.io.tables.files import read_like
    from kernode.io.tables.growth import Overlap

    assert model.encoding is not None
    own, name = model.graph, Path(data).name.split(".")[0] or "edges"
    edges = read_like(data, "edges", model.encoding, encoding)
    listed = None if nodes is None else read_like(nodes, "nodes", model.encoding, encoding)
    shared = Overlap.of(own, edges, listed, model.encoding)
    arrives = listed is not None and shared.only_mentioned and not shared.listed_again
    if own is not None and arrives and not whole:
        opened = extended(model, own, listed, edges, device)
        sentence = (
            f"{_count(len(opened.nodes), 'node')} arrived at the {own.n_nodes:,} of {own.name!r}, the graph "
            f"that the model learned from, for edges mention {shared.only_mentioned:,} of those; answers are "
            "about the nodes that arrived (--whole takes the tables as a graph of their own)"
        )
        return replace(opened, notes=(sentence, *opened.notes))
    graph = read_table(edges, listed, like=model.encoding, name=name)
    if model.is_own(graph):
        return Opened.of(model.on(graph, device), from_tables=True)
    if own is None or whole:
        if shared.unlisted and not whole and model.encoding.columns:
            _warn_of_unlisted(model, path, data, nodes, shared.unlisted)
        return Opened.of(model.on(graph, device), from_tables=True)
    if shared.only_mentioned:
        _refuse_to_guess(own, path, data, nodes, shared.listed_again, shared.only_mentioned)
    if shared.listed_again:
        sentence = (
            f"{shared.listed_again:,} of the {graph.n_nodes:,} nodes are among the {own.n_nodes:,} of "
            f"{own.name!r}: taken as a whole graph, without other nodes and edges of that one"
        )
    else:
        sentence = (
            f"none of the nodes is among the {own.n_nodes:,} of {own.name!r}, the graph that the model "
            "learned from: taken as a graph of their own"
        )
    return Opened.of(model.on(graph, device), sentence, from_tables=True)


def _refuse_to_guess(
    own: Graph, path: Path, data: str, nodes: Path | None, listed: int, mentioned: int
) -> None:
    words = ["kernode", "extend", str(path), *(["--nodes", str(nodes)] if nodes else []), "--edges", data]
    beside = f"lists {listed:,} nodes of {own.name!r} again and" if nodes else "comes without --nodes, and"
    who = nodes if nodes else data
    raise InputError(
        f"{who} {beside} {data} mentions {mentioned:,} that are not listed: do these nodes arrive at that "
        f"graph, or are they a whole one? Say {shlex.join(words)}, with the new nodes alone, or --whole."
    )


def _warn_of_unlisted(model: NodeModel, path: Path, data: str, nodes: Path | None, count: int) -> None:
    words = ["kernode", "extend", str(path), "--graph", "DATA", "--nodes", str(nodes), "--edges", data]
    they = "they are nodes" if count > 1 else "it is a node"
    warn(
        f"edges mention {_count(count, 'node')} that {nodes} does not list, without features here. If {they} "
        f"of {model.dataset!r}, the graph that the model learned from, say where that is: {shlex.join(words)}"
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
