"""``kernode predict``: a saved model's classes and probabilities, as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import JsonOption, QuietOption, check_writable, print_json, progress, say
from kernode.cli.predictions import as_csv, check_suffix, predictions, rows_of, write_predictions
from kernode.cli.tables import NodesOption, graph_of, print_notes


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(help="Its graph, or another with the same columns; a built-in one is found by name."),
    ] = None,
    nodes: NodesOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write node, class and the probability of each class, for every node of the graph.

    With several runs in the model, probabilities are their mean. For the nearest-centroid variants
    (k1, k2) they are a softmax over class similarities: an order, not a calibrated probability.

    Tables are read as those were that the model learned from; only their paths are needed.

    Example: [bold]kernode predict cora.safetensors -o predictions.csv[/]

    Your own tables: [bold]kernode predict edges.safetensors new-edges.csv --nodes new-nodes.csv -o out.csv[/]
    """
    from kernode.compute.place import Place
    from kernode.node_classification.model import Model

    check_suffix(out)
    check_writable(out)
    trained = Model.load(model)
    with progress("predict", quiet=quiet or json):
        graph = graph_of(trained, model, data, nodes)
    place = Place.of(trained.precision, device)
    if out is None and not json:
        sys.stdout.write(as_csv(predictions(trained, graph, place.device.type)).decode())
        return
    if out is None:
        table = predictions(trained, graph, place.device.type)
    else:
        table = write_predictions(out, trained, graph, place.device.type)
    report: dict[str, Any] = {
        "model": str(model),
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": {name: table["class"].count(name) for name in trained.classes},
        "output": None if out is None else str(out),
        "notes": list(graph.notes),
        "repairs": [repair.to_json() for repair in graph.repairs],
    }
    if out is None:
        report["predictions"] = rows_of(table)
    if json:
        print_json(report)
    elif not quiet:
        if graph.encoding is not None:
            print_notes(graph)
        say(f"{graph.n_nodes:,} nodes of [bold]{escape(graph.name)}[/] written to {escape(str(out))}")
