"""The table of the default beside rivals, from what benchmarks/own_graphs.py stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from comparison_tables import TITLES

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.search.results import read_record

OURS = "kernode"
THEIRS = {  # what there is of them
    "pyg-gcn": "GCN",
    "pyg-gcn, rows scaled": "GCN, rows scaled",
    "pyg-label-propagation": "label propagation",
}


def own_graph_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"own_graphs": lambda: own_graphs(*(_rows(device) for device in ("cpu", "cuda")))}


def _rows(device: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_record(RESULTS / f"own-graphs-{device}.json")["rows"]
    return rows


def own_graphs(cpu: list[dict[str, Any]], cuda: list[dict[str, Any]]) -> str:
    """Accuracies and times, a line for each graph and task; the highest mean in bold, whoever has it.

    Ours is the CPU's where it was measured there, a rival's the GPU's.
    """
    theirs = [system for system in THEIRS if any(row["system"] == system for row in cuda)]
    titles = [THEIRS[system] for system in theirs]
    lines = [
        f"| graph, labelled | kernode | chosen | {' | '.join(titles)} | kernode, s | GCN, s |",
        f"|{' --- |' * (5 + len(theirs))}",
    ]
    for gcn in (row for row in cuda if row["system"] == "pyg-gcn"):
        here = gcn["dataset"], gcn["task"]
        timed, timed_gcn = (_find(cpu, *here, system) for system in (OURS, "pyg-gcn"))
        on_cpu = bool(timed.get("accuracies"))
        ours = timed if on_cpu else _find(cuda, *here, OURS)
        rivals = [_find(cuda, *here, system) for system in theirs]
        best = max(_mean(row) for row in (ours, *rivals))
        chosen = ", ".join(
            f"{name} {ours['chosen'].count(name)}×" for name in sorted(set(ours["chosen"]), reverse=True)
        )
        cells = [
            f"{TITLES.get(here[0], here[0])}, {here[1]}",
            _accuracy(ours, best) + ("" if on_cpu else " †"),
            chosen,
            *(f"{_accuracy(row, best)} †" for row in rivals),
            _seconds(timed or ours) + ("" if timed else " †"),
            _seconds(timed_gcn or gcn) + ("" if timed_gcn else " †"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _find(rows: list[dict[str, Any]], dataset: str, task: str, system: str) -> dict[str, Any]:
    """The row about a system on a graph and task; an empty one where there is none."""
    found = (row for row in rows if (row["dataset"], row["task"], row["system"]) == (dataset, task, system))
    return next(found, {})


def _mean(row: dict[str, Any]) -> float:
    return mean_and_std(row["accuracies"])[0] if row.get("accuracies") else -1.0


def _accuracy(row: dict[str, Any], best: float) -> str:
    if not row.get("accuracies"):
        return "–"
    mean, std = mean_and_std(row["accuracies"])
    bold = "**" if mean == best else ""
    return f"{bold}{mean:.2f} ± {std:.2f}{bold}"


def _seconds(row: dict[str, Any]) -> str:
    return f"{np.median(row['seconds']):.1f}"
