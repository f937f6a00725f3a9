"""What ``kernode compare`` says: figures of every variant, and differences with their verdicts."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from kernode.cli.console import new_table, print_table, say

_COLOURS = {"better": "green", "worse": "red"}


def print_report(values: dict[str, Any]) -> None:
    """Print a table for each graph, and one for each question."""
    for data in values["data"]:
        _print_figures(data)
    _print_differences(f"{values['against']} against the others", values["differences"], "against")
    for question in values["questions"]:
        title = f"{question['question']} ({question['with']} against {question['without']})"
        _print_differences(title, question["answers"], None)
    say("[dim]95 % intervals by Nadeau and Bengio's corrected t-test; p after Holm's correction.[/]")


def _print_figures(data: dict[str, Any]) -> None:
    name = escape(data["dataset"])
    table = new_table(
        ("variant", "accuracy", "mAP", "precision at 10", "validation", "seconds"),
        left=("variant",),
        title=f"{name}: {data['splits']} random splits, mean ± standard deviation, %",
    )
    for row in data["variants"]:
        cells = [_figure(row[name]) for name in ("accuracy", "map", "precision_at_10", "validation")]
        table.add_row(escape(row["title"]), *cells, f"{row['seconds']:.0f}")
    print_table(table)


def _print_differences(title: str, entries: list[dict[str, Any]], other: str | None) -> None:
    numbers = ("difference", "95 % interval", "p")
    words = ("data", *([other] if other else []), "figure")
    table = new_table((*words, *numbers, "verdict"), left=(*words, "verdict"), title=escape(title))
    for one in entries:
        colour = _COLOURS.get(one["verdict"], "dim")
        table.add_row(
            escape(_short(one["dataset"])), *([escape(one[other])] if other else []), one["metric"],
            f"{one['mean']:+.2f}", f"{one['low']:+.2f} … {one['high']:+.2f}", f"{one['p_corrected']:.3f}",
            f"[{colour}]{one['verdict']}[/]",
        )  # fmt: skip
    print_table(table)


def _short(name: str) -> str:
    return name.partition(":")[0]  # of a synthetic graph's long name


def _figure(figure: dict[str, Any] | None) -> str:
    return f"{figure['mean']:.2f} ± {figure['std']:.2f}" if figure else "–"
