"""``kernode report``: a saved model on one page."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import check_place
from kernode.cli.console import print_json, progress, say
from kernode.cli.graph_source import graph_from, notes_of
from kernode.cli.options import ModelOptions, OutputOptions
from kernode.errors import KernodeError

if TYPE_CHECKING:
    from kernode.node_classification.model_on_graph import ModelOnGraph


def report(
    *,
    model: ModelOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.html.", show_default="MODEL-report.html")
    ] = None,
    plane: Annotated[str, typer.Option(help="Where nodes lie in the plane by: tsne, umap or pca.")] = "tsne",
    output: OutputOptions,
) -> None:
    """Write one page about a model: accuracy beside baselines, its nodes, classes, doubts and settings.

    The page is a single file with all that it needs and opens in any browser, without a network. Its charts
    answer to the pointer. Needs the extra `report`.

    Example: [bold]kernode report cora.safetensors -o report.html[/]
    """
    path = out or model.model.with_name(f"{model.model.stem}-report.html")
    check_place(path, (".html", ".htm"))
    from kernode.show.evidence import Evidence
    from kernode.show.layout import checked_plane
    from kernode.show.report.contents import Contents
    from kernode.show.report.page import plotly_script, write_report

    found_by = checked_plane(plane)
    plotly_script()  # says before anything is computed that it is missing
    with progress("report", quiet=output.silent):
        opened = model.open()
        contents = Contents(
            Evidence.of(opened.on),
            found_by,
            _words(model, opened.on),
            tuple(notes_of(opened)),
        )
        size = write_report(contents, path)
    if output.json:
        print_json({"model": str(model.model), "out": str(path), "bytes": size, **contents.to_json()})
        return
    if output.quiet:
        return
    say(f"{escape(str(path))} ({size / 1e6:.1f} MB)")
    for name, why in contents.left_out.items():
        say(f"[dim]no {name}: {escape(why)}[/]")


def _words(asked: ModelOptions, on: ModelOnGraph) -> tuple[str, ...] | None:
    """How `kernode fit` is told of the graph; None where the model does not know all that it was told.

    Options for tables are tried: read with them, the tables must give the graph that was trained on.
    """
    from kernode.io.tables import is_table
    from kernode.show.report.rerun import table_options

    encoding, model = on.model.encoding, on.model
    if asked.data is None:
        return () if encoding is None else None
    if encoding is None or not is_table(asked.data):
        return (asked.data,)
    given: dict[str, Any] = {"nodes": asked.nodes, **table_options(encoding), "encoding": asked.encoding}
    options = {name: value for name, value in given.items() if value is not None}
    numbers = {"positions": int(options["positions"])} if "positions" in options else {}
    try:
        with warnings.catch_warnings():  # said when they were read first
            warnings.simplefilter("ignore")
            graph = graph_from(asked.data, **options | numbers)
    except KernodeError:
        return None
    same = graph.fingerprint == model.fingerprint and graph.class_names == on.graph.class_names
    if not (same and (graph.labels == on.graph.labels).all()):
        return None
    return (asked.data, *(word for name, value in options.items() for word in (f"--{name}", str(value))))
