"""The table of one graph on several processes, from what benchmarks/ranks.py stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.search.results import read_record


def scale_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"ranks": lambda: ranks(read_record(RESULTS / "bench-ranks-cpu.json")["rows"])}


def ranks(rows: list[dict[str, Any]]) -> str:
    """A line for each number of processes; of its ranks the one with most."""
    titles = (
        "processes", "rows of adjacency and features", "share of one", "most memory",
        "passed by the system", "seconds an epoch", "test accuracy",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    whole = rows[0]["ranks"][0]["rows_bytes"]
    for row in rows:
        own = row["ranks"]
        held = max(rank["rows_bytes"] for rank in own)
        mean, std = mean_and_std(row["accuracy"])
        cells = (
            str(row["processes"]), _mb(held), f"{held / whole:.3f}",
            _mb(max(rank["most_bytes"] for rank in own)),
            _mb(row["loopback_bytes"]),
            f"{row['seconds_per_epoch']:.2f}", f"{mean:.2f} ± {std:.2f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mb(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
