"""Prediction sets: classes that include the true one with a chosen probability (split-conformal)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import betabinom

from kernode.errors import InputError, bad_setting, warn

if TYPE_CHECKING:
    from kernode.tasks.classes.calibration import Calibration
    from kernode.tasks.classes.model import NodeModel

SHOWN = 0.9  # the coverage of reports
_ROUNDING = 1e-6  # a class of a node that equals a held-out one must not miss by rounding


def least_probability(calibration: Calibration, coverage: float) -> float:
    """The probability from which on a class is in a set; 0 with too few held-out nodes for the coverage.

    Of m held-out nodes that are exchangeable with a new one, its true class is at least as probable as the
    ⌊(m + 1)(1 − coverage)⌋-th lowest probability of theirs, in a share ``coverage`` of all draws or more
    (Sadinle et al. 2019: least ambiguous sets, LAC). Chosen over adaptive sets (APS): those cover no better
    on average and are larger.

    >>> from kernode.tasks.classes.calibration import Calibration, Tempering
    >>> held_out = Calibration((), Tempering(), 9, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))
    >>> [least_probability(held_out, coverage) for coverage in (0.5, 0.8, 0.9, 0.95)]
    [0.5, 0.2, 0.1, 0.0]
    """
    found, m = calibration.true_probabilities, calibration.for_sets
    at = _rank(m, coverage) * len(found) // m  # runs that hold out the same nodes count m nodes
    return found[at - 1] if at else 0.0


def _rank(m: int, coverage: float) -> int:
    return int((m + 1) * (1 - coverage) + 1e-9)  # 10 · (1 − 0.9) is slightly less than 1


def in_sets(model: NodeModel, probabilities: np.ndarray, least: float) -> np.ndarray:
    """Whether each class is in the set: … × c. The class that ``predict`` gives always is: none is empty."""
    inside: np.ndarray = probabilities >= least - _ROUNDING
    np.put_along_axis(inside, model.decided(probabilities)[..., None], True, axis=-1)
    return inside


def prediction_sets(model: NodeModel, probabilities: np.ndarray, coverage: float) -> list[list[Any]]:
    """The set of each node, the most probable class first, from calibrated probabilities: m × c.

    Warns where the held-out nodes are too few for the coverage; raises where the model has none.
    """
    calibration = model.calibration
    if calibration is None or not (m := calibration.for_sets):
        raise InputError(
            "this model has no held-out nodes to make sets with: it is of 0.2 or before, had fewer than ten, "
            "was given labels later, or does not learn by gradients. Train it again with validation nodes.",
            "unsupported", setting="coverage",
        )  # fmt: skip
    if not _rank(m, coverage):
        enough = int(np.ceil(coverage / (1 - coverage) - 1e-9))
        warn(
            f"every set has all classes: a coverage of {coverage:g} takes {enough:,} held-out nodes, and "
            f"this model had {m:,}. Ask for less, or train with more validation nodes."
        )
    inside = in_sets(model, probabilities, least_probability(calibration, coverage))
    order = np.argsort(-probabilities, axis=1, kind="stable")
    rows = zip(order, np.take_along_axis(inside, order, axis=1), strict=True)
    return [[model.classes[at] for at in row[kept].tolist()] for row, kept in rows]


def checked_coverage(coverage: Any) -> float:
    """Return the coverage, checked.

    >>> checked_coverage(0.9)
    0.9
    """
    if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise bad_setting("coverage", "a share above 0 and below 1, such as 0.9", coverage)
    return float(coverage)


def sets_report(
    model: NodeModel, by_run: np.ndarray, nodes: np.ndarray, truth: np.ndarray
) -> dict[str, Any] | None:
    """Figures in percent of 90 % sets, from probabilities (r × t × c) of nodes with true classes (q × t).

    Of all replicas together where they share nodes, else of each by itself. ``by_chance_95``: the range of
    the coverage in 19 of 20 draws of as many held-out and test nodes; it is higher where the model is right
    more often than sets must be, as none is empty. None where the model has no sets.
    """
    calibration = model.calibration
    if calibration is None or not calibration.for_sets:
        return None
    found = calibration.together(by_run.mean(axis=0)[None] if len(truth) == 1 else by_run)
    inside = in_sets(model, found, least_probability(calibration, SHOWN))
    c, m = inside.shape[-1], calibration.for_sets
    own = np.take_along_axis(inside, np.minimum(truth, c - 1)[..., None], axis=-1)[..., 0]
    sizes, rank, t = inside.sum(axis=-1), _rank(m, SHOWN), len(np.unique(nodes))
    chance = betabinom.ppf([0.025, 0.975], t, m + 1 - rank, rank) / t if rank else (1.0, 1.0)
    return {
        "coverage": 100 * SHOWN,
        "covered": round(100 * float((own & (truth >= 0) & (truth < c)).mean()), 4),
        "by_chance_95": [round(100 * float(end), 4) for end in chance],
        "mean_size": round(float(sizes.mean()), 4),
        "single": round(100 * float((sizes == 1).mean()), 4),
        "held_out": m,
    }


def sets_line(figures: dict[str, Any]) -> str:
    """The figures of the sets in words."""
    low, high = figures["by_chance_95"]
    return f"cover {figures['covered']:.1f} % (chance: {low:.1f} to {high:.1f} %), " + (
        f"{figures['mean_size']:.2f} classes each"
    )
