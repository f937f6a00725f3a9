"""The table of the default beside PyTorch Geometric's GCN, from what benchmarks/own_graphs.py stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from comparison_tables import TITLES

from kernode.metrics.accuracy import mean_and_std
from kernode.studies.results import SHIPPED, read_record

OURS = "kernode"
THEIRS = ("pyg-gcn", "pyg-gcn, rows scaled")


def own_graph_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"own_graphs": own_graphs}


def own_graphs() -> str:
    """Accuracies and times, a line for each graph and task."""
    cpu, cuda = (read_record(SHIPPED / f"own-graphs-{device}.json")["rows"] for device in ("cpu", "cuda"))
    lines = [
        "| graph, labelled | kernode | chosen | GCN | GCN, rows scaled | kernode, s | GCN, s |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for theirs in (row for row in cuda if row["system"] == THEIRS[0]):
        here = theirs["dataset"], theirs["task"]
        timed, timed_theirs = (_find(cpu, *here, system) for system in (OURS, THEIRS[0]))
        on_cpu = bool(timed.get("accuracies"))
        ours = timed if on_cpu else _find(cuda, *here, OURS)
        chosen = ", ".join(
            f"{name} {ours['chosen'].count(name)}×" for name in sorted(set(ours["chosen"]), reverse=True)
        )
        cells = [
            f"{TITLES[here[0]]}, {here[1]}",
            f"**{_accuracy(ours)}**{'' if on_cpu else ' †'}",
            chosen,
            *(f"{_accuracy(_find(cuda, *here, system))} †" for system in THEIRS),
            _seconds(timed or ours) + ("" if timed else " †"),
            _seconds(timed_theirs or theirs) + ("" if timed_theirs else " †"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _find(rows: list[dict[str, Any]], dataset: str, task: str, system: str) -> dict[str, Any]:
    """The row about a system on a graph and task; an empty one where there is none."""
    found = (row for row in rows if (row["dataset"], row["task"], row["system"]) == (dataset, task, system))
    return next(found, {})


def _accuracy(row: dict[str, Any]) -> str:
    mean, std = mean_and_std(row["accuracies"])
    return f"{mean:.2f} ± {std:.2f}"


def _seconds(row: dict[str, Any]) -> str:
    return f"{np.median(row['seconds']):.1f}"
