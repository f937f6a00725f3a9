"""Report of ``kernode compare``: figures of each variant, and differences with their verdicts."""

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
    for one in values["summary"]:
        say(escape(_standing(values["against"], one)))
    for question in values["questions"]:
        title = f"{question['question']} ({question['with']} against {question['without']})"
        _print_differences(title, question["answers"], None)
    corrected = any(data["corrected"] for data in values["data"])
    test = "Nadeau and Bengio's corrected t-test" if corrected else "Student's t-test, over draws of labels"
    say(f"[dim]95 % intervals by {test}; p after Holm's correction.[/]")


def _print_figures(data: dict[str, Any]) -> None:
    name = escape(data["dataset"])
    table = new_table(
        ("variant", "accuracy", "mAP", "precision at 10", "validation", "seconds"),
        left=("variant",),
        title=f"{name}: {data['splits']} random splits, mean ± standard deviation, %",
    )
    names = ("accuracy", "map", "precision_at_10", "validation")
    best = {
        name: max((row[name]["mean"] for row in data["variants"] if row[name]), default=None)
        for name in names
    }
    for row in data["variants"]:
        cells = [_figure(row[name], best[name]) for name in names]
        table.add_row(escape(row["title"]), *cells, f"{row['seconds']:.0f}")
    print_table(table)
    for row in data["variants"]:
        for line in _losses(row):
            say(escape(f"{row['title']}: {line}"))


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


def _standing(name: str, one: dict[str, Any]) -> str:
    above, below = (", ".join(map(_short, one[word])) or "none" for word in ("above", "below"))
    pair = f"accuracy of {name} against {one['against']}, {one['of']} in all"
    return f"{pair}: significantly above on {above}; below on {below}."


def _figure(figure: dict[str, Any] | None, best: float | None) -> str:
    """Mean and standard deviation; the highest mean of a column is bold."""
    if not figure:
        return "–"
    text = f"{figure['mean']:.2f} ± {figure['std']:.2f}"
    return f"[bold]{text}[/]" if figure["mean"] == best else text


def _losses(row: dict[str, Any]) -> list[str]:
    """Candidates that failed, and why there are no figures where all did."""
    lost = [one for one in row["tried"] or [] if one["lost"]]
    lines = [f"candidate {_settings(one['settings'])} failed: {one['lost']}" for one in lost]
    return [*lines, f"no figures, {row['failed']}."] if row["failed"] else lines


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "without changes"
