"""What makes a model's probabilities chances: fitted on nodes that did not teach it, kept in the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import LabelledNodes
from kernode.node_classification.tempering import Tempering, fit_temperings

FEWEST = 10  # nodes: fewer say nothing about chances
_MOST = 2_000  # nodes of a run, evenly taken: more would say the same of two numbers, and take longer


@dataclass(frozen=True)
class Calibration:
    """A tempering for each of r runs by itself, and one for the mean of their probabilities.

    The mean is tempered, and not averaged from tempered runs, for two reasons: a tempering changes no order,
    so that ``predict`` is what it always was and agrees with ``predict_proba``; and a mean of calibrated runs
    is not calibrated, but too unsure wherever they differ (Rahaman and Thiery 2021).
    """

    runs: tuple[Tempering, ...]
    together: Tempering
    nodes: int  # it was fitted on

    def of_runs(self, probabilities: np.ndarray) -> np.ndarray:
        """Each run's (r × m × c) as chances."""
        return np.stack([run(own) for run, own in zip(self.runs, probabilities, strict=True)])

    def of_replicas(self, replicas: list[int]) -> Calibration:
        """The same with some of the runs; the mean over one is that run."""
        runs = tuple(self.runs[i] for i in replicas)
        return Calibration(runs, runs[0] if len(runs) == 1 else self.together, self.nodes)

    def for_others(self, r: int) -> Calibration:
        """For r runs of the same method that were trained on more nodes, after these had chosen it."""
        return Calibration((self.together,) * r, self.together, self.nodes)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Calibration:
        """What :meth:`to_json` described."""
        runs = tuple(Tempering(**run) for run in values["runs"])
        return cls(runs, Tempering(**values["together"]), values["nodes"])


def calibration_of(on: ModelOnGraph, nodes: LabelledNodes) -> Calibration | None:
    """By the validation nodes of what was just trained; None where they are too few, or answers no numbers.

    Validation nodes chose the epoch, too, and so flatter a little.
    """
    count = len(np.unique(nodes.validation))
    if not on.model.method.learns_by_gradient or count < FEWEST:
        return None
    every = slice(None, None, -(-nodes.validation.shape[1] // _MOST))
    found = on.probabilities(nodes.validation[:, every])
    if not np.isfinite(found).all():
        return None
    return fit_calibration(found, nodes.validation_labels[:, every], count)


def fit_calibration(by_run: np.ndarray, truth: np.ndarray, nodes: int) -> Calibration:
    """By what runs (r × m × c) answer about nodes with true class numbers (q × m), so many different ones.

    Where runs have nodes of their own, no node is held out of all: what single runs need on their nodes, all
    of them taken together, serves their mean, which then is a little too unsure.
    """
    r, m, c = by_run.shape
    labels = np.broadcast_to(truth, (r, m))
    runs = fit_temperings(by_run, labels)
    if r == 1:
        together = runs
    elif len(truth) == 1:
        together = fit_temperings(by_run.mean(axis=0, keepdims=True), labels[:1])
    else:
        together = fit_temperings(by_run.reshape(1, r * m, c), labels.reshape(1, r * m))
        runs = runs if m >= FEWEST else together * r
    return Calibration(tuple(runs), together[0], nodes)
