"""``kernode predict``: a saved model's classes and probabilities, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import check_writable, print_json, progress, say
from kernode.cli.graph_source import print_notes, print_notes_on_rows
from kernode.cli.options import ModelOptions, OutputOptions
from kernode.cli.predictions import as_csv, check_suffix, predictions, report_of, write_predictions
from kernode.cli.streams import write_data


def predict(
    *,
    model: ModelOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
    output: OutputOptions,
) -> None:
    """Write node, class, the class that the data gives and the probability of each, for every node.

    With several runs in the model, probabilities are their mean. For the nearest-centroid variants
    (k1, k2) they are a softmax over class similarities: an order, not a calibrated probability.

    Tables are read as those were that the model learned from; only their paths are needed. Where the model
    has its graph (`kernode fit --with-graph`), new nodes whose edges mention nodes of it arrive there, as
    with `kernode extend`. On stdout the table is CSV in UTF-8, whatever the terminal's encoding.

    Example: [bold]kernode predict cora.safetensors -o predictions.csv[/]

    Your own tables: [bold]kernode predict edges.safetensors new-edges.csv --nodes new-nodes.csv -o out.csv[/]
    """
    check_suffix(out)
    check_writable(out)
    with progress("predict", quiet=output.silent):
        opened = model.open()
        on, nodes = opened.on, opened.nodes
        table = predictions(on, nodes) if out is None else write_predictions(out, on, nodes)
    if out is None and not output.json:
        write_data(as_csv(table).decode())
        if opened.from_tables and not output.quiet:
            print_notes_on_rows(opened, on.graph)
        return
    trained, graph = on.model, on.graph
    facts = {
        "model": str(model.model),
        "dataset": graph.name,
        "nodes": len(nodes),
        "classes": {name: table["class"].count(name) for name in trained.classes},
    }
    if output.json:
        print_json(report_of(facts, opened, table, out, "predictions"))
    elif not output.quiet:
        if graph.encoding is not None:
            print_notes(opened)
        say(f"{len(nodes):,} nodes of [bold]{escape(graph.name)}[/] written to {escape(str(out))}")
