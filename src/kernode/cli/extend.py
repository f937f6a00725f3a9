"""``kernode extend``: nodes and edges arrive at the graph that a model learned from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import progress
from kernode.cli.files import WRITERS, check_apart, check_out, check_writable
from kernode.cli.fit import replaced_file
from kernode.cli.options.graph import DATA_HELP, EncodingOption
from kernode.cli.options.model import Opened, OutTableOption, graph_for, read_model_of
from kernode.cli.options.run import DeviceOption, OutputOptions
from kernode.cli.predict import predictions
from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.graph import Graph

_TABLE: Any = {"show_default": False}


def extend(
    *,
    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` wrote.")],
    nodes: Annotated[Path | None, typer.Option(help="Table of the nodes that arrive.", **_TABLE)] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of the edges that arrive.", **_TABLE)] = None,
    graph: Annotated[
        str | None,
        typer.Option(help=f"What the model learned from, if its file has it not: {DATA_HELP}", **_TABLE),
    ] = None,
    graph_nodes: Annotated[Path | None, typer.Option(help="And its table of nodes.", **_TABLE)] = None,
    out: OutTableOption = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the model with the larger graph in its file.", **_TABLE)
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Answer about every node, not only those that arrived.")
    ] = False,
    encoding: EncodingOption = None,
    device: DeviceOption = "auto",
    output: OutputOptions,
) -> None:
    """Add nodes and edges to the graph that a model learned from, and classify the nodes that arrived.

    New rows are read as the old ones were, and nothing is trained again. Answers equal those computed on
    the whole larger graph; they are those of `extend` in Python. Edges may join new nodes with old ones,
    and old ones with each other.

    Example: [bold]kernode extend edges.safetensors --nodes new-nodes.csv --edges new-edges.csv -o out.csv[/]

    A model of `kernode fit --with-graph` has its graph. Of any other say where it is: [bold]--graph edges.csv
    --graph-nodes nodes.csv[/], which must be the very same.
    """
    check_out(out, WRITERS, (model,))
    check_writable(save)
    check_apart((out, save), (nodes, edges, graph, graph_nodes))  # the model's own file may grow
    if nodes is None and edges is None:
        raise InputError("nothing arrives. Give a table.", "missing", setting=("nodes", "edges"))
    from kernode.estimators.load import as_estimator

    with progress("extend", quiet=output.silent):
        trained, where = read_model_of(model, ("classes",), device)
        old = _learned_from(trained, model, graph, graph_nodes, encoding)
        opened = Opened.extended(as_estimator(trained, old, where), nodes, edges, encoding)
        grown, larger, arrived = opened.model, opened.graph, len(opened.nodes)
        table = predictions(grown, None if everyone else opened.nodes)
    if not arrived and not everyone:
        warn("edges arrived, and no node did: there is nothing to answer about. Add --all for every node.")
    replaced = save is not None and save.exists()
    sentences = []
    if out is not None:
        sentences += [f"{arrived:,} nodes arrived at the {old.n_nodes:,} of {larger.name}"]
        sentences += [f"{len(table['node']):,} nodes written to {out}"]
    if save is not None:
        grown.save(save, with_graph=True)
        sentences += [f"the model with the larger graph written to {save}{replaced_file(replaced)}"]
    facts = {
        "model": str(model),
        "dataset": larger.name,
        "nodes": larger.n_nodes,
        "arrived": arrived,
        "recomputed": len(grown.recomputed_),
        "classes": {str(name): table["class"].count(name) for name in grown.model_.classes},
        "saved": None if save is None else str(save),
        "replaced": replaced,
    }
    opened.print_table(table, facts, out, output, sentences=tuple(sentences))


def _learned_from(
    model: Any, path: Path, data: str | None, nodes: Path | None, encoding: str | None
) -> Graph:
    """The graph that a model learned from: of its file, by its name, or from the tables that are given."""
    needed = ", ".join(column.name for column in model.encoding.columns) if model.encoding else ""
    if data is None and nodes is not None:
        raise InputError("give the graph's table of edges, too.", "missing", setting="graph")
    if data is not None and nodes is None and needed:
        sentence = f"the model learned from the columns {needed}. Give their table, too."
        raise InputError(sentence, "missing", setting="graph_nodes")
    graph = model.own_graph() if data is None else None
    if data is None and graph is None:
        raise InputError(
            f"{path} does not hold {model.dataset!r}, the graph it learned from. Give its tables, or train "
            "with kernode fit … --with-graph.",
            "missing", setting=("graph", "graph_nodes"),
        )  # fmt: skip
    if data is not None:
        with suppress(InputError):  # the encoding may be of the new tables alone
            graph = graph_for(model, data, nodes, None)
        if graph is None or not model.is_own(graph):
            graph = graph_for(model, data, nodes, encoding)
    assert graph is not None
    if not model.is_own(graph):
        sentence = f"{data} is not {model.dataset!r} as {path} learned from it: edges or features are others."
        raise InputError(sentence, "conflict", setting="graph")
    if graph.encoding is None:
        raise InputError(
            f"{graph.name!r} was not read from tables, so that no table says what new nodes are. Use Python: "
            f"kernode.load_model({str(path)!r}).extend(None, features, edges).",
            "unsupported",
        )
    return graph
