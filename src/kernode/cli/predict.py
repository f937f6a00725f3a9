"""``kernode predict``: a saved model's classes and probabilities, as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import check_apart, check_writable, print_json, progress, say
from kernode.cli.graph_source import print_notes, print_notes_on_rows
from kernode.cli.options import ModelOptions, OutputOptions
from kernode.cli.predictions import as_csv, check_suffix, predictions, report_of, write_table
from kernode.cli.streams import write_data

if TYPE_CHECKING:
    from kernode.cli.model_source import Opened
    from kernode.cli.predictions import Table


def predict(
    *,
    model: ModelOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
    abstain: Annotated[
        float | None,
        typer.Option(help="Give no class where none is as probable, such as 0.9.", show_default=False),
    ] = None,
    output: OutputOptions,
) -> None:
    """Write node, class, the class that the data gives and the probability of each, for every node.

    Probabilities are those of all runs of the model together, calibrated on the nodes that validated them.
    Methods that learn nothing by gradients (label-propagation, correct-and-smooth), models that fewer
    than ten nodes validated and files of before 0.2 have theirs as they were trained. With `--abstain 0.9` a
    node has no class where none has a probability of 0.9, and its most probable class in a column of its own.

    Tables are read as those were that the model learned from; only their paths are needed. Where the model
    has its graph (`kernode fit --with-graph`), new nodes whose edges mention nodes of it arrive there, as
    with `kernode extend`. On stdout the table is CSV in UTF-8, whatever the terminal's encoding.

    Example: [bold]kernode predict cora.safetensors -o predictions.csv[/]

    Your own tables: [bold]kernode predict edges.safetensors new-edges.csv --nodes new-nodes.csv -o out.csv[/]
    """
    check_suffix(out)
    check_writable(out)
    check_apart((out,), (model.model, model.data, model.nodes))
    if abstain is not None:
        from kernode.estimators.classifier import checked_threshold, warn_of_uncalibrated

        checked_threshold(abstain)
    with progress("predict", quiet=output.silent):
        opened = model.open()
        if abstain is not None:
            warn_of_uncalibrated(opened.on.model)
        table = predictions(opened.on, opened.nodes, abstain)
        if out is not None:
            write_table(out, table)
    facts = _facts(model.model, opened, table, abstain)
    if output.json:
        print_json(report_of(facts, opened, table, out, "predictions"))
        return
    _show(opened, table, facts, out, quiet=output.quiet)


def _facts(model: Path, opened: Opened, table: Table, abstain: float | None) -> dict[str, Any]:
    on, nodes = opened.on, opened.nodes
    answered = len(nodes) - table["class"].count(None)
    return {
        "model": str(model),
        "dataset": on.graph.name,
        "nodes": len(nodes),
        "classes": {name: table["class"].count(name) for name in on.model.classes},
        "calibrated_on": 0 if on.model.calibration is None else on.model.calibration.nodes,
        "abstain": abstain,
        "answered": answered,
        "coverage": round(100 * answered / max(1, len(nodes)), 4),
    }


def _show(opened: Opened, table: Table, facts: dict[str, Any], out: Path | None, *, quiet: bool) -> None:
    """The table on stdout, or where it is; and of how many nodes a class is given."""
    nodes, graph = facts["nodes"], opened.on.graph
    covered = (
        f"{facts['answered']:,} of {nodes:,} nodes ({facts['coverage']:.1f} %) have a class at "
        f"--abstain {facts['abstain']:g}"
        if facts["abstain"]
        else ""
    )
    if out is None:
        write_data(as_csv(table).decode())
        if opened.from_tables and not quiet:
            print_notes_on_rows(opened, graph)
        if covered and not quiet:
            sys.stderr.write(f"kernode: {covered}\n")
    elif not quiet:
        if graph.encoding is not None:
            print_notes(opened)
        say(f"{nodes:,} nodes of [bold]{escape(graph.name)}[/] written to {escape(str(out))}")
        if covered:
            say(covered)
