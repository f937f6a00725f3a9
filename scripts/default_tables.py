"""What `kernode fit` gives with nothing set, from what it printed with --json (but for the model's path)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from comparison_tables import TITLES

from experiments import RESULTS
from kernode.search.results import read_record

SPLITS = {"fastgcn": "FastGCN", "jk": "JK"}  # others are files, called after their graph


def default_tables(folder: Path = RESULTS / "default") -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"default_fits": lambda: default_fits([read_record(path) for path in folder.glob("*.json")])}


def default_fits(records: list[dict[str, Any]]) -> str:
    """A line for each graph and split: what was chosen, and the mean and spread of the runs."""
    lines = [
        "| graph | split | variant | runs | validation | test accuracy | seconds |",
        "|" + " --- |" * 7,
    ]
    for one in sorted(records, key=lambda one: (one["split"] not in SPLITS, one["split"], _order(one))):
        figures = (
            f"{one[part]['accuracy_mean']:.2f} ± {one[part]['accuracy_std']:.2f}"
            for part in ("validation", "test")
        )
        words = TITLES[one["dataset"]], SPLITS.get(one["split"], "Luo et al."), one["variant"]
        seconds = f"{one['seconds_total']:.0f}{' †' * (one['device'] == 'cuda')}"
        lines.append(f"| {' | '.join((*words, str(one['replicas']), *figures, seconds))} |")
    return "\n".join(lines)


def _order(record: dict[str, Any]) -> int:
    return list(TITLES).index(record["dataset"])
