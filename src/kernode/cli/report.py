"""``kernode report``: a saved model on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from kernode.cli.console import progress
from kernode.cli.files import check_out
from kernode.cli.option_groups import option
from kernode.cli.options.model import ModelOptions
from kernode.cli.options.run import LayoutOption, OutputOptions


def report(
    *,
    model: ModelOptions,
    out: Annotated[Path | None, option("FILE.html.", "--out", "-o", show_default="MODEL-report.html")] = None,
    layout: LayoutOption = "tsne",
    output: OutputOptions,
) -> None:
    """Write an HTML page about a model and its accuracy.

    It has accuracy and baselines, nodes, classes or numbers, uncertain predictions and settings. The page is
    a single file and needs no network. Needs the extra `report`.

    Example: [bold]kernode report cora.safetensors -o report.html[/]
    """
    path = out or model.model.with_name(f"{model.model.stem}-report.html")
    check_out(path, read=model.inputs, extensions=(".html", ".htm"))
    from kernode.viz.layout import checked_layout
    from kernode.viz.numbers import evaluation_of
    from kernode.viz.report import contents_of, plotly_script, write_report

    checked = checked_layout(layout)
    plotly_script()  # fails before anything is computed if it is missing
    with progress("report", quiet=output.silent):
        opened = model.open("classes", "numbers")
        contents = contents_of(evaluation_of(opened.on, layout=checked), opened.notes)
        size = write_report(contents, path)
    lines = [f"{escape(str(path))} ({size / 1e6:.1f} MB)"]
    lines += [f"[dim]no {name}: {escape(why)}[/]" for name, why in contents.left_out.items()]
    output.show({"model": str(model.model), "out": str(path), "bytes": size, **contents.to_json()}, lines)
