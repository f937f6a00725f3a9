"""Calibrated probabilities: a temperature and a floor, fitted on nodes held out, kept in the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from kernode.tasks.classes.task import LabelledNodes

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

FEWEST = 10  # nodes: fewer do not calibrate
_MOST = 2_000  # nodes of a run, evenly taken: more would say the same of two numbers, and take longer
_TINY = 1e-45  # the least float32, in place of probabilities that were rounded to 0
_LOG_T = np.log(100.0)  # temperatures are looked for between 1/100 and 100
_GRID = 25
_ROUNDS = 4  # of grids, each within two steps of the one before: to 2e-4 of log T
_HALVINGS = 13  # of the range of floors: to 1e-4
_MOST_FLOOR = 0.5
_AT_A_TIME = 2**22  # numbers


@dataclass(frozen=True)
class Tempering:
    """``(1 − floor) · p^(1/T) / Σ p^(1/T) + floor / c`` in place of p.

    For p = softmax(s) the first part is softmax(s / T), temperature scaling (Guo et al. 2017). The floor is
    the share of nodes about which the scores say nothing, such as labels that are wrong in the data: without
    it a few nodes that are wrong with great confidence decide about T for all others (Zhang et al. 2020 mix
    in the uniform distribution likewise). Neither changes which class is the most probable.
    """

    temperature: float = 1.0
    floor: float = 0.0

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """The same for … × c probabilities, in float64: what differed by a rounding must still differ.

        >>> Tempering(temperature=0.5, floor=0.1)(np.array([0.75, 0.25])).round(4)
        array([0.86, 0.14])
        """
        c = probabilities.shape[-1]
        return (1 - self.floor) * softmax(_logs(probabilities) / self.temperature, axis=-1) + self.floor / c


def fit_temperings(probabilities: np.ndarray, truth: np.ndarray) -> list[Tempering]:
    """The best for each of r sets of rows (r × m × c) with true classes (r × m, −1: none of the c).

    Best is the highest likelihood of two things that are asked of probabilities: which class it is, and
    whether the class that is found is right. With the first alone a node that is wrong counts by how its
    second and third class stand, and confidences pay for it.

    log T is held near 0 as one node would hold it (½ log²T), for a handful of nodes that are all answered
    rightly would take T to 0. For the same reason the floor is at least 1 / (m + 2): m right answers do not
    show that the next is (Laplace's rule of succession). For each T the best floor is the root of a monotone
    function; T is looked for on grids, one finer than the other.
    """
    r, m, c = probabilities.shape
    logs = _logs(probabilities)
    known, right = truth >= 0, truth == probabilities.argmax(axis=-1)
    at = np.where(known, truth, 0)[..., None]
    # Either likelihood is linear in the floor: from what it is without one to what it is with nothing else.
    ends = np.concatenate([np.full((r, m), 1 / c), np.where(right, 1 / c, 1 - 1 / c)], axis=1)

    def loss_and_floor(log_t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of g values for each set: g × r, both."""
        if len(log_t) > 1 and log_t.size * m * c > _AT_A_TIME:
            parts = [loss_and_floor(half) for half in np.array_split(log_t, 2)]
            losses, floors = (np.concatenate(both) for both in zip(*parts, strict=True))
            return losses, floors
        tempered = softmax(logs / np.exp(log_t)[..., None, None], axis=-1)  # g × r × m × c
        own = np.where(known, np.take_along_axis(tempered, at[None], axis=-1)[..., 0], 0.0)
        top = tempered.max(axis=-1)
        starts = np.concatenate([own, np.where(right, top, 1 - top)], axis=-1)
        floor = _best_floor(starts, ends, 1 / (m + 2))
        return -np.log(_between(starts, ends, floor)).sum(axis=-1) + log_t**2 / 2, floor

    log_t, reach = np.zeros(r), float(_LOG_T)
    for _ in range(_ROUNDS):
        grid = np.clip(log_t + np.linspace(-reach, reach, _GRID)[:, None], -_LOG_T, _LOG_T)
        log_t = np.take_along_axis(grid, loss_and_floor(grid)[0].argmin(axis=0)[None], axis=0)[0]
        reach *= 2 / (_GRID - 1)
    floors = loss_and_floor(log_t[None])[1][0]
    return [Tempering(float(np.exp(t)), float(floor)) for t, floor in zip(log_t, floors, strict=True)]


def _best_floor(starts: np.ndarray, ends: np.ndarray, least: float) -> np.ndarray:
    """The likeliest floors where likelihoods go from starts to ends (… × k each), by bisection."""
    low, high = np.full(starts.shape[:-1], least), np.full(starts.shape[:-1], max(least, _MOST_FLOOR))
    gain = starts - ends
    for _ in range(_HALVINGS):
        floor = (low + high) / 2
        slope = (gain / _between(starts, ends, floor)).sum(axis=-1)
        low, high = np.where(slope < 0, floor, low), np.where(slope < 0, high, floor)
    return high


def _between(starts: np.ndarray, ends: np.ndarray, floor: np.ndarray) -> np.ndarray:
    share = floor[..., None]
    return np.asarray(np.maximum((1 - share) * starts + share * ends, _TINY))


def _logs(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities.astype(np.float64), _TINY))


@dataclass(frozen=True)
class Calibration:
    """A tempering for each of r replicas by itself, and one for the mean of their probabilities.

    The mean is tempered, and not averaged from tempered runs, for two reasons: a tempering changes no order,
    so that ``predict`` is what it always was and agrees with ``predict_proba``; and a mean of calibrated runs
    is not calibrated, but too unsure wherever they differ (Rahaman and Thiery 2021).
    """

    runs: tuple[Tempering, ...]
    together: Tempering
    nodes: int  # it was fitted on

    def of_runs(self, probabilities: np.ndarray) -> np.ndarray:
        """Each run's calibrated probabilities: r × m × c."""
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


def calibration_of(on: NodeModelOnGraph, nodes: LabelledNodes) -> Calibration | None:
    """By the validation nodes of what was just trained; None where they are too few, or answers not finite.

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
