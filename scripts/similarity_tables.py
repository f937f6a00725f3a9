"""Tables of what a similarity is worth: classes that nobody taught, and what the kernel loss adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from comparison_tables import TITLES

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.search.results import read_record


def similarity_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {
        "unseen_classes": lambda: unseen_classes(_stored("unseen-classes")),
        "kernel_loss": lambda: kernel_loss(_stored("kernel-loss")),
        "kernels_together": lambda: kernels_together(read_record(RESULTS / "kernels-together.json")["rows"]),
    }


def _stored(folder: str) -> list[dict[str, Any]]:
    """Records of a folder, in the order of the graphs' titles."""
    found = [read_record(path) for path in sorted((RESULTS / folder).glob("*.json"))]
    return sorted(found, key=lambda one: list(TITLES).index(one["dataset"]))


def unseen_classes(records: list[dict[str, Any]]) -> str:
    """A line for each kernel; mean and spread over pairs of classes that were left out, the highest bold."""
    figures = {"map": "mAP", "accuracy": "five-shot accuracy"}
    columns = [(one, figure) for one in records for figure in figures]
    best = {i: max(system[figure] for system in one["systems"].values()) for i, (one, figure) in
            enumerate(columns)}  # fmt: skip
    lines = [
        "|  | "
        + " | ".join(f"{TITLES[one['dataset']]}, {figures[figure]}" for one, figure in columns)
        + " |",
        "|" + " --- |" * (len(columns) + 1),
    ]
    for name in records[0]["systems"]:
        cells = []
        for i, (one, figure) in enumerate(columns):
            mean, std = mean_and_std([pair[figure] for pair in one["systems"][name]["pairs"]])
            bold = "**" * (one["systems"][name][figure] == best[i])
            cells.append(f"{bold}{mean:.2f}{bold} ± {std:.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def kernel_loss(records: list[dict[str, Any]]) -> str:
    """A line for each graph and loss: mAP and accuracy, and what the loss adds to mAP, in pairs."""
    head = ["", "splits", "loss", "mAP", "accuracy", "adds to mAP", "95 % interval"]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for one in records:
        best = max(np.mean(found["map"]) for found in one["losses"].values())
        for name, found in one["losses"].items():
            mean, std = mean_and_std(found["map"])
            bold = "**" * bool(np.mean(found["map"]) == best)
            adds, first = found["adds"], name == "λ = 0"
            interval = f"{_signed(adds['low'])} … {_signed(adds['high'])}"
            cells = [
                TITLES[one["dataset"]], str(one["splits"]), name, f"{bold}{mean:.2f}{bold} ± {std:.2f}",
                f"{np.mean(found['accuracy']):.2f}", "–" if first else _signed(adds["mean"]),
                "–" if first else interval,
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def kernels_together(rows: list[dict[str, Any]]) -> str:
    """A line for each graph: mAP of single runs, and of several as one kernel."""
    sizes = list(rows[0]["groups"])
    titles = ["", *("one run" if size == "1" else f"{size} runs as one" for size in sizes)]
    lines = [f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles)]
    for row in rows:
        figures = [mean_and_std(row["groups"][size]) for size in sizes]
        cells = [f"{mean:.2f} ± {std:.2f}" for mean, std in figures]
        lines.append(f"| {TITLES[row['dataset']]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
