"""No answer rather than an unsure one: the threshold, and what it is worth."""

from __future__ import annotations

from typing import Any

from kernode.errors import InputError, warn
from kernode.node_classification.calibration import FEWEST
from kernode.node_classification.model import Model


def checked_threshold(abstain: Any, name: str = "abstain") -> float:
    """The least probability of an answer, or a sentence where it is none.

    >>> checked_threshold(0.9)
    0.9
    """
    try:
        threshold = float(abstain)
    except (TypeError, ValueError):
        threshold = float("nan")
    if isinstance(abstain, bool) or not 0 < threshold <= 1:
        raise InputError(f"{name} must be a probability above 0 and up to 1, such as 0.9. Got {abstain!r}.")
    return threshold


def warn_of_uncalibrated(model: Model) -> None:
    """Warn where a threshold is not the chance that it seems to be."""
    if model.calibration is not None:
        return
    if not model.method.learns_by_gradient:
        why = f"{model.method.title} is never calibrated. Choose a variant that is trained, such as k3"
    else:
        why = (
            f"the model is of before 0.2, or had fewer than {FEWEST} nodes to be calibrated on. Train it "
            "again, with more validation nodes"
        )
    warn(f"probabilities are as they were trained, so that a threshold on them is no chance: {why}.")
