"""``kernode extend``: nodes and edges arrive at the graph that a model learned from."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import check_apart, check_writable, print_json, progress, say
from kernode.cli.graph_source import print_notes, print_notes_on_rows
from kernode.cli.model_source import extended, graph_at
from kernode.cli.options import DATA_HELP, DeviceOption, EncodingOption, OutputOptions
from kernode.cli.predictions import as_csv, check_suffix, predictions, report_of, write_table
from kernode.cli.reports.fit import said_replaced
from kernode.cli.streams import write_data
from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.tasks.classes.model import NodeModel

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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
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
    check_suffix(out)
    for path in (out, save):
        check_writable(path)
    check_apart((out, save), (nodes, edges, graph, graph_nodes))  # the model's own file may grow
    check_apart((out,), (model,))
    if nodes is None and edges is None:
        raise InputError("nothing arrives. Give --nodes FILE, --edges FILE or both.")

    from kernode.compute.place import Place
    from kernode.tasks.classes.model import NodeModel

    with progress("extend", quiet=output.silent):
        trained = NodeModel.load(model)
        old = _learned_from(trained, model, graph, graph_nodes, encoding)
        where = str(Place.of(trained.precision, device).device)
        opened = extended(trained, old, nodes, edges, where, encoding)
        on, arrived = opened.on, opened.nodes
        table = predictions(on, None if everyone else arrived)
    if not len(arrived) and not everyone:
        warn("edges arrived, and no node did: there is nothing to answer about. Add --all for every node.")
    replaced, saved = save is not None and save.exists(), ""
    if save is not None:
        trained.save(save, on.graph)
        saved = f"the model with the larger graph written to {save}{said_replaced({'replaced': replaced})}"
    if out is not None:
        write_table(out, table)
    elif not output.json:
        write_data(as_csv(table).decode())
        if not output.quiet:
            print_notes_on_rows(opened, on.graph)
            sys.stderr.write(f"kernode: {saved}\n" if saved else "")
        return
    facts = {
        "model": str(model),
        "dataset": on.graph.name,
        "nodes": on.graph.n_nodes,
        "arrived": len(arrived),
        "recomputed": on.graph.n_nodes if on.recomputed is None else len(on.recomputed),
        "classes": {str(name): table["class"].count(name) for name in trained.classes},
        "saved": None if save is None else str(save),
        "replaced": replaced,
    }
    if output.json:
        print_json(report_of(facts, opened, table, out, "predictions"))
    elif not output.quiet:
        print_notes(opened)
        name = escape(on.graph.name)
        say(f"{len(arrived):,} nodes arrived at the {old.n_nodes:,} of [bold]{name}[/]")
        say(f"{len(table['node']):,} nodes written to {escape(str(out))}")
        if saved:
            say(escape(saved))


def _learned_from(
    model: NodeModel, path: Path, data: str | None, nodes: Path | None, encoding: str | None
) -> Graph:
    """The model's own graph: from its file, by its name, or from where it is said to be."""
    from kernode.estimators.load import own_graph

    if data is None and nodes is not None:
        raise InputError("--graph-nodes belongs to --graph, the table of edges. Give that, too.")
    graph = own_graph(model) if data is None else _read_again(model, path, data, nodes, encoding)
    if graph is None:
        raise InputError(
            f"{path} does not hold {model.dataset!r}, the graph it learned from. Say where that is, --graph "
            "EDGES --graph-nodes NODES, or train with kernode fit … --with-graph."
        )
    if not model.is_own(graph):
        raise InputError(
            f"{data} is not {model.dataset!r} as {path} learned from it: edges or features are others. Give "
            "that very graph."
        )
    if graph.encoding is None:
        raise InputError(
            f"{graph.name!r} was not read from tables, so that no table says what new nodes are. Use Python: "
            f"kernode.load_model({str(path)!r}).extend(None, features, edges)."
        )
    return graph


def _read_again(model: NodeModel, path: Path, data: str, nodes: Path | None, encoding: str | None) -> Graph:
    """What the model learned from; ``encoding`` may be of these tables, or only of those that arrive."""
    from kernode.io.tables import is_table

    if not is_table(data) or model.encoding is None:
        return graph_at(model, path, data, nodes)
    if nodes is None and (needed := ", ".join(column.name for column in model.encoding.columns)):
        raise InputError(
            f"{path} learned from the columns {needed}. Give their table, too: --graph-nodes FILE."
        )
    if encoding is not None:
        with suppress(InputError):
            graph = graph_at(model, path, data, nodes)
            if model.is_own(graph):
                return graph
    return graph_at(model, path, data, nodes, encoding)
