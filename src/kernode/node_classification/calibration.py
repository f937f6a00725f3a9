"""What makes a model's probabilities chances: fitted on nodes that did not teach it, kept in the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.task import LabelledNodes
from kernode.node_classification.tempering import Tempering, fit_temperings

FEWEST = 10  # nodes: fewer say nothing about chances
_MOST = 10_000  # nodes of a run, evenly taken: more would say the same, and take longer


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

    Where runs have validation nodes of their own, no node is held out of all: what single runs need on
    their nodes, all of them taken together, serves their mean, which then is a little too unsure. Validation
    nodes chose the epoch, too, and so flatter a little.
    """
    count = len(np.unique(nodes.validation))
    if not on.model.method.learns_by_gradient or count < FEWEST:
        return None
    every = slice(None, None, -(-nodes.validation.shape[1] // _MOST))
    rows, labels = nodes.validation[:, every], nodes.validation_labels[:, every]
    found = on.probabilities(rows)
    r, m, c = found.shape
    if not np.isfinite(found).all():
        return None
    labels = np.broadcast_to(labels, (r, m))
    runs = fit_temperings(found, labels)
    if r == 1:
        together = runs
    elif len(rows) == 1:
        together = fit_temperings(found.mean(axis=0, keepdims=True), labels[:1])
    else:
        together = fit_temperings(found.reshape(1, r * m, c), labels.reshape(1, r * m))
        runs = runs if m >= FEWEST else together * r
    return Calibration(tuple(runs), together[0], count)
