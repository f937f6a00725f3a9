"""What a user needs to judge an answer: figures of every class, baselines on the same split, versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.metrics.accuracy import class_figures, mean_and_std, wilson
from kernode.node_classification.baselines import NAMES, baselines
from kernode.node_classification.calibration_report import calibration_lines, calibration_report
from kernode.node_classification.experiment import Outcome
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import LabelledNodes
from kernode.progress import timed

FEW = 100  # nodes: below, an accuracy's own uncertainty is said beside it


@dataclass(frozen=True)
class Report:
    """Accuracy on some nodes, in percent, and what to compare it with. ``print(report)`` shows all of it."""

    figures: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self.figures

    def __str__(self) -> str:
        return "\n".join(lines(self.figures))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def judge(
    on: ModelOnGraph, nodes: np.ndarray, truth: np.ndarray, given: LabelledNodes, names: Sequence[Any]
) -> dict[str, Any]:
    """Figures of r runs on nodes (q × t) whose true classes are given as numbers of ``names``.

    The first of the names are the model's own classes, in their order; others no run can find.
    """
    by_run = on.probabilities(nodes)
    runs = [100 * float(right.mean()) for right in by_run.argmax(axis=-1) == truth]
    mean, std = mean_and_std(runs)
    return {
        "accuracy_mean": round(mean, 4),
        "accuracy_std": round(std, 4),
        "runs": [round(run, 4) for run in runs],
        **_beside(mean, on, by_run, nodes, truth, given, names),
    }


def _beside(
    accuracy: float,
    on: ModelOnGraph,
    by_run: np.ndarray,
    nodes: np.ndarray,
    truth: np.ndarray,
    given: LabelledNodes,
    names: Sequence[Any],
) -> dict[str, Any]:
    """What stands beside an accuracy: how sure it is, every class, how sure answers are, baselines."""
    found = by_run.argmax(axis=-1)  # r × t
    figures = {
        "nodes": int(nodes.shape[1]),
        "interval_95": wilson(accuracy / 100, nodes.shape[1]),
        **class_figures(np.broadcast_to(truth, found.shape), found, names),
        "calibration": calibration_report(on.model.calibration, by_run, nodes, truth),
    }
    with timed("baselines"):
        # Training nodes are numbers, which mean nothing in another graph.
        return figures | {
            "baselines": baselines(on.graph, given, nodes, truth) if on.has_training_nodes else {}
        }


def judge_outcome(outcome: Outcome) -> dict[str, Any]:
    """What stands beside the accuracy of an experiment's test nodes; nothing where it has none."""
    on, model, labels = outcome.on, outcome.model, outcome.on.graph.labels
    parts = [split.test for split in outcome.splits]
    nodes = np.asarray(parts[:1] if all(part is parts[0] for part in parts) else parts)
    if not nodes.shape[1]:
        return {}
    others = [name for name in on.graph.class_names if name not in model.classes]
    names = [*model.classes, *others]
    numbers = np.array([names.index(name) for name in on.graph.class_names])
    accuracy = outcome.report["test"]["accuracy_mean"]
    return _beside(accuracy, on, outcome.by_run, nodes, numbers[labels[nodes]], outcome.nodes, names)


def lines(figures: dict[str, Any]) -> list[str]:
    """A report in words, for a terminal."""
    r = len(figures["runs"])
    found = [f"{'accuracy':<20} {percent(figures, 'accuracy', r)}{uncertain(figures)}"]
    found += [f"{'':<20} {line}" for line, _ in baseline_lines(figures)]
    found.append(f"{'macro F1':<20} {percent(figures, 'macro_f1', r)}")
    found += [f"{name:<20} {line}" for name, line in calibration_lines(figures["calibration"], r)]
    widest = max(len(str(one["class"])) for one in figures["classes"])
    found.append(f"{'class':<{widest}}  precision  recall      F1  support")
    for one in figures["classes"]:
        numbers = f"{one['precision']:9.1f} {one['recall']:7.1f} {one['f1']:7.1f} {one['support']:8,.0f}"
        found.append(f"{one['class']!s:<{widest}}  {numbers}")
    return found


def percent(figures: dict[str, Any], name: str, runs: int) -> str:
    """Mean and, of several runs, spread."""
    spread = f" ± {figures[f'{name}_std']:.2f}" if runs > 1 else ""
    return f"{figures[f'{name}_mean']:.2f}{spread} %"


def uncertain(figures: dict[str, Any]) -> str:
    """What few nodes do to a figure, or nothing."""
    n = figures["nodes"]
    if n >= FEW:
        return ""
    low, high = figures["interval_95"]
    nodes = "a single node" if n == 1 else f"{n} nodes"
    return f"   (on {nodes} only: 95 % interval {low:.0f} to {high:.0f} %)"


def baseline_lines(figures: dict[str, Any]) -> list[tuple[str, bool]]:
    """The baselines, each in a line, and whether it is ahead of the figure on the same splits."""
    found = []
    for name, one in figures["baselines"].items():
        rows, splits = len(one["runs"]), one["splits"]
        ours = np.mean(figures["runs"] if splits == 1 else figures["runs"][:rows])
        ahead = one["accuracy_mean"] - ours
        parts = [f"{percent(one, 'accuracy', rows)} {NAMES[name]}"]
        parts += [f"{rows} of {splits} splits"] if rows < splits else []
        parts += [f"{one['training_nodes']:,} training nodes"] if "training_nodes" in one else []
        line = ", ".join(parts)
        found.append((f"{line}: ahead by {ahead:.2f}" if ahead > 0 else line, bool(ahead > 0)))
    return found
