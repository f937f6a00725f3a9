"""A trained model in a few words: what was trained on what, how it validated, what its hops weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernode.node_classification.task import ALL_LABELLED
from kernode.training.notebook import runs_in_words

if TYPE_CHECKING:
    from kernode.node_classification.model import Model

_ALIKE = 1.25  # times: weights that differ by less are said to be about alike


def summary(model: Model) -> list[tuple[str, str]]:
    """What there is to say of any model, line by line: a name and words."""
    train = model.train
    split = f", split {model.split}" if model.split else ""
    if model.split == ALL_LABELLED:
        split = ": all that have a class"
    own = " in each run" if len(train) > 1 else ""
    lines = [
        ("method", model.variant or model.method.title),
        ("graph", f"{model.dataset}, {len(model.classes)} classes"),
        ("trained on", f"{train.shape[1]:,} nodes{own}{split}"),
        ("runs", runs_in_words(model.seeds)),
    ]
    if model.chosen_by_validation:
        by = "mAP" if model.training.select_by == "map" else "accuracy"
        others = (f"{name} {figure:.1f} %" for name, figure in model.chosen_by_validation.items())
        lines.append(("chosen among", f"{', '.join(others)} (validation {by})"))
    lines += _validated(model)
    if words := hop_words(model):
        lines.append(("hop weights", words))
    return lines


def _validated(model: Model) -> list[tuple[str, str]]:
    by = model.training.select_by
    if not len(model.history.get(f"validation_{by}", ())):
        return []
    kept, last = float(np.median(model.kept_epochs)), len(model.history[f"validation_{by}"])
    what = "accuracy" if by == "accuracy" else "mAP"
    # Label propagation tries settings in the place of epochs.
    epoch = f", at epoch {kept:g} of {last}" if model.method.learns_by_gradient else ""
    return [("validation", f"{model.validated(by):.2f} % {what}{epoch}; it chose, and so flatters")]


def hop_words(model: Model) -> str:
    """What the hop weights say, in a sentence or two; empty where the map has none."""
    weights = model.hop_weights()
    if weights is None:
        return ""
    by_walks = getattr(getattr(model.method, "map", None), "powers", "each") == "plain"
    mean = weights.mean(axis=0)
    there = np.flatnonzero(~np.isnan(mean))
    said = [f"{mean[hop]:.2f}".replace("-", "−") + f" for {_far(int(hop), by_walks)}" for hop in there]
    sentence = ", ".join(said)
    size = np.abs(mean[there])
    # There are far more long walks than short ones: their weights are not on one scale.
    if len(there) > 1 and size.max() > 0 and not by_walks:
        if size.max() < _ALIKE * size.min():
            sentence += ". They weigh about alike"
        else:
            sentence += f". Most weight is on {_far(int(there[size.argmax()]))}"
    against = [int(hop) for hop in there if mean[hop] < 0]
    if against:
        sentence += f"; what comes from {' and '.join(_far(hop, by_walks) for hop in against)} is subtracted"
    return sentence


def _far(hop: int, by_walks: bool = False) -> str:
    if by_walks and hop:
        return f"walks of {hop} step{'s' * (hop > 1)}"
    return "the node itself" if hop == 0 else f"nodes {hop} hop{'s' * (hop > 1)} away"
