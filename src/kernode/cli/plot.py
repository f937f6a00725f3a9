"""``kernode plot``: pictures of a saved model, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from kernode.cli.console import progress
from kernode.cli.files import check_folder
from kernode.cli.option_groups import argument, option
from kernode.cli.options.model import ModelOptions
from kernode.cli.options.run import LayoutOption, OutputOptions
from kernode.viz.pictures import NAMES


def plot(
    *,
    model: ModelOptions,
    pictures: Annotated[
        list[str] | None, argument(f"Of {', '.join(NAMES)}.", show_default="all that apply")
    ] = None,
    out: Annotated[Path | None, option("Folder.", "--out", "-o", show_default="MODEL-pictures")] = None,
    layout: LayoutOption = "tsne",
    output: OutputOptions,
) -> None:
    """Draw a model: embedding, kernel, training curves, errors; of numbers also intervals.

    Every picture is a PNG and an SVG as wide as a column (3.4 inches). Needs the extra `plots`.

    Example: [bold]kernode plot cora.safetensors -o pictures[/]

    Some of them: [bold]kernode plot cora.safetensors confusion gram -o pictures[/]
    """
    folder = out or model.model.with_name(f"{model.model.stem}-pictures")
    check_folder(folder)
    from kernode.viz.layout import checked_layout
    from kernode.viz.numbers import evaluation_of
    from kernode.viz.pictures import write_pictures

    checked = checked_layout(layout)
    with progress("plot", quiet=output.silent):
        opened = model.open("classes", "numbers")
        evaluation = evaluation_of(opened.on, layout=checked)
        found = dict(write_pictures(evaluation, folder, pictures or ()))
    paths = {
        name: [str(path) for path in files] for name, files in found.items() if not isinstance(files, str)
    }
    left_out = {name: why for name, why in found.items() if isinstance(why, str)}
    lines = [escape(f"{first} and {Path(second).suffix}") for first, second in paths.values()]
    lines += [f"[dim]no {name}: {escape(why)}[/]" for name, why in left_out.items()]
    output.show(opened.facts | {"pictures": paths, "left_out": left_out}, [*opened.lines, *lines])
