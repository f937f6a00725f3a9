"""The table of calibration errors, from what benchmarks/calibration.py stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from comparison_tables import TITLES

from experiments import RESULTS
from kernode.search.results import read_record


def calibration_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"calibration": lambda: calibration(read_record(RESULTS / "calibration.json")["rows"])}


def calibration(rows: list[dict[str, Any]]) -> str:
    """A line for each graph: as trained, calibrated, and what chance explains; bold what it does not."""
    lines = [
        "| calibration error, % | as trained | calibrated | by chance, mean and most | all ten as trained "
        "| calibrated | by chance, mean and most |",
        f"|{' --- |' * 7}",
    ]
    for row in rows:
        before, after = row["test"]["before"], row["test"]["after"]
        name = TITLES.get(row["dataset"], row["dataset"])
        cells = [name, *_cells(before, after), *_cells(before["ensemble"], after["ensemble"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    chance = f"{after['by_chance']:.2f}, {after['by_chance_at_most']:.2f}"
    return [_error(before), _error(after), chance]


def _error(one: dict[str, Any]) -> str:
    bold = "**" if one["error_mean"] > one["by_chance_at_most"] else ""
    return f"{bold}{one['error_mean']:.2f}{bold}"
