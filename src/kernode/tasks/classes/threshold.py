"""The probability from which on a node is given the positive class of two, chosen on validation nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.errors import InputError, bad_setting
from kernode.metrics.scoring import positive_class

if TYPE_CHECKING:
    from kernode.models.fit import Candidates
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask


@dataclass(frozen=True)
class Threshold:
    """From probability ``value`` on a node has the class number ``positive``; ``rule`` chose the value."""

    rule: str
    positive: int
    value: float

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        """Return class numbers: … × 2 → …

        >>> Threshold("f1", positive=1, value=0.2)(np.array([[0.7, 0.3], [0.9, 0.1]]))
        array([1, 0])
        """
        return np.where(probabilities[..., self.positive] >= self.value, self.positive, 1 - self.positive)

    to_json = asdict


def parse_rule(rule: Any) -> tuple[str, list[float]]:
    """Return the kind of a rule and its numbers.

    >>> parse_rule("f1"), parse_rule("recall=0.8"), parse_rule("cost=1:10")
    (('f1', []), ('recall', [0.8]), ('cost', [1.0, 10.0]))
    """
    kind, _, text = str(rule).partition("=")
    try:
        numbers = [float(one) for one in text.split(":")] if text else []
    except ValueError:
        numbers = [np.nan]
    fits = {
        "f1": not numbers,
        "recall": len(numbers) == 1 and 0 < numbers[0] <= 1,
        "cost": len(numbers) == 2 and all(0 < one < np.inf for one in numbers),
    }
    if not isinstance(rule, str) or not fits.get(kind):
        must_be = "'f1', a recall to reach such as 'recall=0.8', or costs of a false alarm and a miss"
        raise bad_setting("threshold", f"{must_be} such as 'cost=1:10'", rule)
    return kind, numbers


def best_threshold(rule: str, probabilities: np.ndarray, positive: np.ndarray) -> float:
    """Return the threshold that is best by a rule, from probabilities of m nodes and which are positive.

    "f1": the highest F1. "recall=R": the highest precision with a recall of at least R. "cost=A:M": the
    lowest A · false alarms + M · misses. Midway between two probabilities; of equals the highest.

    >>> best_threshold("recall=1", np.array([0.9, 0.7, 0.5, 0.1]), np.array([True, False, True, False]))
    0.3
    """
    kind, numbers = parse_rule(rule)
    values, at = np.unique(-probabilities, return_inverse=True)  # the highest probability first
    values = -values
    hits, taken = (np.append(0, np.bincount(at, one).cumsum()) for one in (positive, np.ones(len(at))))
    total = hits[-1]
    if kind == "f1":
        gain = 2 * hits / (taken + total)
    elif kind == "recall":
        gain = np.where(hits >= numbers[0] * total - 1e-9, hits / np.maximum(taken, 1), -1)
    else:
        gain = -(numbers[0] * (taken - hits) + numbers[1] * (total - hits))
    best = int(gain.argmax())
    ends = np.concatenate([[1 + 1e-9], values, [0.0]])  # none is taken above a probability of 1
    return float((ends[best] + ends[best + 1]) / 2)


def choosing_threshold(
    fit: Callable[..., NodeModelOnGraph], rule: str, classes: int
) -> Callable[..., NodeModelOnGraph]:
    """Return a fit whose model has the threshold that is best on its validation nodes, once calibrated."""
    parse_rule(rule)
    if classes != 2:
        raise InputError(
            f"a threshold is for two classes. Got {classes}: leave it out.",
            "unsupported",
            setting="threshold",
        )

    def fit_and_choose(task: NodeTask, candidates: Candidates, **about: Any) -> NodeModelOnGraph:
        on, nodes = fit(task, candidates, **about), task.nodes
        positive = positive_class(task.classes, nodes.train_labels)
        if positive is None or not (nodes.validation_labels == positive).any():
            return on
        found = on.model.answers(on.probabilities(nodes.validation), shared=len(nodes.validation) == 1)
        is_positive = np.broadcast_to(nodes.validation_labels == positive, found.shape[:2])
        value = best_threshold(rule, found[..., positive].ravel(), is_positive.ravel())
        return on.with_metadata(threshold=Threshold(rule, positive, value))

    return fit_and_choose
