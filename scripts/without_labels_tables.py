"""The table of vectors that were learned without labels, from what benchmarks/without_labels.py stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from comparison_tables import TITLES

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.search.results import read_record

SYSTEMS = {
    "links": "`LinkKernelTransformer`",
    "dgi": "Deep Graph Infomax",
    "node2vec": "node2vec",
    "smoothed": "smoothed features",
    "features": "features",
}
FIGURES = {"public_test": "20 labels per class", "fastgcn_test": "FastGCN's split", "retrieval": "mAP"}


def without_labels_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"without_labels": lambda: without_labels(read_record(RESULTS / "without-labels.json")["rows"])}


def without_labels(rows: list[dict[str, Any]]) -> str:
    """A line for each graph and figure, a column for each system: mean ± deviation, the highest bold."""
    systems = [one for one in SYSTEMS if any(row["system"] == one for row in rows)]
    titles = ["", "", *(SYSTEMS[one] for one in systems)]
    lines = [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        found = {row["system"]: row for row in rows if row["dataset"] == dataset}
        for figure, title in FIGURES.items():
            means = {one: round(mean_and_std(row[figure])[0], 2) for one, row in found.items()}
            highest = max(means.values()) if len(means) > 1 else None  # alone, nobody is best
            cells = [_cell(found.get(one), figure, highest) for one in systems]
            lines.append(f"| {' | '.join([TITLES[dataset], title, *cells])} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None, figure: str, highest: float | None) -> str:
    if row is None:
        return "not run"
    mean, std = mean_and_std(row[figure])
    runs = row["runs"]
    text = f"{mean:.2f}" + (f" ± {std:.2f}" if runs > 1 else "")
    text = f"**{text}**" if round(mean, 2) == highest else text
    # Where nothing is drawn, one run is all there is.
    return text if runs == 10 or row["system"] in ("smoothed", "features") else f"{text} ({runs})"
