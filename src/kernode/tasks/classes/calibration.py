"""Calibrated probabilities: a temperature and a floor, fitted on held-out nodes, kept in the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from kernode.tasks.classes.task import LabelledNodes

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

FEWEST = 10  # nodes: fewer do not calibrate
_MOST = 2_000  # most nodes of a replica, evenly spaced: enough for two numbers
_TINY = 1e-45  # the least float32, in place of probabilities that were rounded to 0
_LOG_T = np.log(100.0)  # the search covers temperatures from 1/100 to 100
_GRID = 25
_ROUNDS = 4  # of grids, each within two steps of the one before: to 2e-4 of log T
_HALVINGS = 13  # of the range of floors: to 1e-4
_MOST_FLOOR = 0.5


@dataclass(frozen=True)
class Tempering:
    """``(1 − floor) · p^(1/T) / Σ p^(1/T) + floor / c`` in place of p.

    For p = softmax(s) the first part is softmax(s / T), temperature scaling (Guo et al. 2017). The floor is
    the share of nodes about which the scores say nothing, such as labels that are wrong in the data: without
    it a few confident errors decide T for all others (Zhang et al. 2020 mix
    in the uniform distribution likewise). Neither changes which class is the most probable.
    """

    temperature: float = 1.0
    floor: float = 0.0

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """Temper … × c probabilities, in float64: values that differ by rounding must still differ.

        >>> Tempering(temperature=0.5, floor=0.1)(np.array([0.75, 0.25])).round(4)
        array([0.86, 0.14])
        """
        c = probabilities.shape[-1]
        return (1 - self.floor) * softmax(_logs(probabilities) / self.temperature, axis=-1) + self.floor / c


def fit_tempering(probabilities: np.ndarray, truth: np.ndarray) -> Tempering:
    """Fit to probabilities (m × c) of nodes with true classes (m, −1: none of the c).

    Maximises the likelihood of the true classes and of whether each prediction is right. With the first
    alone, the probabilities of the second and third class of a wrong node would change its confidence.

    A penalty of ½ log²T, the weight of one node, keeps T from 0 where a few nodes are all right. For the same
    reason the floor is at least 1 / (m + 2): m right predictions do not prove the next (Laplace's rule of
    succession). For each T the best floor is the root of a monotone function; T is searched on finer and
    finer grids.
    """
    m, c = probabilities.shape
    logs = _logs(probabilities)
    known, right = truth >= 0, truth == probabilities.argmax(axis=-1)
    rows, classes = np.arange(m), np.where(known, truth, 0)
    # Either likelihood is linear in the floor: from what it is without one to what it is with nothing else.
    ends = np.concatenate([np.full(m, 1 / c), np.where(right, 1 / c, 1 - 1 / c)])

    def loss_and_floor(log_t: float) -> tuple[float, float]:
        tempered = softmax(logs / np.exp(log_t), axis=-1)
        top = tempered.max(axis=-1)
        own = np.where(known, tempered[rows, classes], 0.0)
        starts = np.concatenate([own, np.where(right, top, 1 - top)])
        floor = _best_floor(starts, ends, 1 / (m + 2))
        return float(-np.log(_between(starts, ends, floor)).sum() + log_t**2 / 2), floor

    log_t, reach = 0.0, float(_LOG_T)
    for _ in range(_ROUNDS):
        grid = np.clip(log_t + np.linspace(-reach, reach, _GRID), -_LOG_T, _LOG_T).tolist()
        log_t = min(grid, key=lambda one: loss_and_floor(one)[0])
        reach *= 2 / (_GRID - 1)
    return Tempering(float(np.exp(log_t)), loss_and_floor(log_t)[1])


def _best_floor(starts: np.ndarray, ends: np.ndarray, least: float) -> float:
    """The likeliest floor where likelihoods go from starts to ends, by bisection."""
    low, high = least, max(least, _MOST_FLOOR)
    for _ in range(_HALVINGS):
        floor = (low + high) / 2
        slope = ((starts - ends) / _between(starts, ends, floor)).sum()
        low, high = (floor, high) if slope < 0 else (low, floor)
    return high


def _between(starts: np.ndarray, ends: np.ndarray, floor: float) -> np.ndarray:
    return np.asarray(np.maximum((1 - floor) * starts + floor * ends, _TINY))


def _logs(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities.astype(np.float64), _TINY))


@dataclass(frozen=True)
class Calibration:
    """One tempering for each of r replicas, and one for the mean of their probabilities.

    The mean is tempered, instead of averaging tempered replicas: tempering keeps the order of classes, so
    ``predict`` agrees with ``predict_proba``; and a mean of calibrated replicas is not calibrated, but
    underconfident where they differ (Rahaman and Thiery 2021).
    """

    runs: tuple[Tempering, ...]
    together: Tempering
    nodes: int  # it was fitted on
    # Of the nodes' true classes, by ``together``, ascending, for prediction sets; none in files of 0.2.
    true_probabilities: tuple[float, ...] = ()

    @property
    def for_sets(self) -> int:
        """Number of different nodes that prediction sets are fitted on."""
        return min(self.nodes, len(self.true_probabilities))

    def of_runs(self, probabilities: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of each replica: r × m × c."""
        return np.stack([run(own) for run, own in zip(self.runs, probabilities, strict=True)])

    def of_replicas(self, replicas: list[int]) -> Calibration:
        """Return the calibration of some replicas; the mean of one is that replica.

        Without the true classes' probabilities, which are those of the mean of all.
        """
        if replicas == [*range(len(self.runs))]:
            return self
        runs = tuple(self.runs[i] for i in replicas)
        return Calibration(runs, runs[0] if len(runs) == 1 else self.together, self.nodes)

    def for_others(self, r: int) -> Calibration:
        """Return the calibration for r replicas of the method trained again on more nodes."""
        return replace(self, runs=(self.together,) * r)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Calibration:
        """Build from :meth:`to_json`."""
        runs = tuple(Tempering(**run) for run in values["runs"])
        found = tuple(values.get("true_probabilities", ()))
        return cls(runs, Tempering(**values["together"]), values["nodes"], found)


def calibration_of(on: NodeModelOnGraph, nodes: LabelledNodes) -> Calibration | None:
    """Calibrate on the validation nodes; None if there are too few, or probabilities are not finite.

    Slightly optimistic: validation nodes chose the epoch, too.
    """
    count = len(np.unique(nodes.validation))
    if not on.model.method.has_kernel or count < FEWEST:
        return None
    every = slice(None, None, -(-nodes.validation.shape[1] // _MOST))
    found = on.probabilities(nodes.validation[:, every])
    if not np.isfinite(found).all():
        return None
    return fit_calibration(found, nodes.validation_labels[:, every], count)


def fit_calibration(by_run: np.ndarray, truth: np.ndarray, nodes: int) -> Calibration:
    """Calibrate probabilities of replicas (r × m × c) by true classes (q × m) of so many different nodes.

    Where runs have nodes of their own, no node is held out of all: what single runs need on their nodes, all
    of them taken together, serves their mean, which then is a little too unsure.
    """
    r, m, c = by_run.shape
    labels = np.broadcast_to(truth, (r, m))
    if len(truth) == 1 or m >= FEWEST:
        runs = tuple(map(fit_tempering, by_run, labels))
    if len(truth) == 1:
        found, true = by_run.mean(axis=0), truth[0]
        together = runs[0] if r == 1 else fit_tempering(found, true)
    else:
        found, true = by_run.reshape(r * m, c), labels.ravel()
        together = fit_tempering(found, true)
        runs = runs if m >= FEWEST else (together,) * r
    return Calibration(runs, together, nodes, _true_probabilities(together(found), true))


def _true_probabilities(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    """Probabilities of true classes, ascending, of at most 2,000 nodes; 0 for a class that is not known."""
    own = np.take_along_axis(probabilities, np.maximum(truth, 0)[:, None], axis=1)[:, 0]
    own = np.where(truth >= 0, own, 0)[:: -(-len(truth) // _MOST)]
    return tuple(np.sort(own).round(6).tolist())
