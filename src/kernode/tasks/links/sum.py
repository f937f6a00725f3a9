"""The default: a sum of kernels K = Σ_m w_m K_m of links, with weights by the validation edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from kernode.compute.sharing import sharing
from kernode.compute.stack import under_prefix
from kernode.errors import warn
from kernode.graph import positions
from kernode.kernels.weighted_sum import WeightedSum
from kernode.maps.concat import Members
from kernode.models.fit import Candidates, check_checkpoints, fit_candidates, within_memory
from kernode.models.greedy import greedy_counts
from kernode.progress import log_event
from kernode.tasks.links.method import LinkMethod
from kernode.training.loop import DivergedError

if TYPE_CHECKING:
    from kernode.io.edge_split import EdgeSplit
    from kernode.tasks.links.model import LinkModelOnGraph
    from kernode.tasks.links.task import LinkTask


_PENALTY = 1e4  # inverse; hardly any, but a and b stay finite where K separates all pairs
_LEAST = 1e-6


def fit_link_sum(task: LinkTask, candidates: Candidates, **about: Any) -> LinkModelOnGraph:
    """Train candidates one after the other, those that learn nothing first, and sum their kernels.

    Each member is calibrated on the validation pairs, P_m = σ(a_m K_m + b_m) (Platt 1999). With shares w_m of
    the log-odds the sum is σ(a K + b) of one kernel, K = Σ_m w_m a_m K_m / Σ_m w_m a_m.
    """
    candidates, run = within_memory(task, candidates), task.run
    if len(candidates) == 1:
        return fit_candidates(task, candidates, **about)
    check_checkpoints(run, ["", *candidates])
    fitted: dict[str, LinkModelOnGraph] = {}
    late: list[str] = []
    with sharing():
        for name, one in sorted(candidates.items(), key=lambda item: item[1][0].map.learns):
            if run.is_over and fitted:
                late.append(name)
                continue
            own = task.with_run(run.part(name).called(name))
            try:
                fitted[name] = fit_candidates(own, {name: one})
            except DivergedError as error:
                if not fitted and name == [*candidates][-1]:
                    raise
                log_event("diverged", f"{name} is left out: {error}")
    if late:
        warn(f"the time limit ended before {', '.join(late)} began: the sum is without them.")
    return summed(task, fitted, **about)


def summed(task: LinkTask, fitted: Mapping[str, LinkModelOnGraph], **about: Any) -> LinkModelOnGraph:
    """Return trained members as one model: a method like any other, with their maps side by side."""
    split, on = task.split, list(fitted.values())
    pairs = positions(np.concatenate([split.validation, split.validation_negatives]))
    linked = np.arange(len(pairs)) < len(split.validation)
    kernels = np.stack([one.kernel.pairs(*pairs.T) for one in on]).astype(np.float64)  # M × v
    shares, scales = shares_of(kernels, linked)
    kept = [at for at in np.argsort(-shares, kind="stable").tolist() if shares[at]]
    weights = shares * scales / (shares @ scales)

    tried = {name: _validated(one, split) for name, one in fitted.items()}
    names = list(fitted)
    members = tuple(
        {"name": names[at], "weight": round(float(shares[at]), 4), "validation": tried[names[at]]}
        for at in kept
    )
    said = ", ".join(f"{one['weight']:.2f} {one['name']} ({one['validation']:.2f} %)" for one in members)
    log_event("weights", f"chose weights by validation loss: {said} by validation AUC", members=members)

    chosen = [on[at] for at in kept]
    model, replicas = chosen[0].model, task.run.replicas
    scale, offset = platt(weights @ kernels, linked)
    parameters = {
        f"{kind}.{at}.{name}": value
        for at, one in enumerate(chosen)
        for kind in ("map", "kernel")
        for name, value in under_prefix(one.model.parameters, f"{kind}.").items()
    }
    for name, number in (("log_scale", np.log(max(scale, _LEAST))), ("offset", offset)):
        parameters[name] = torch.full((replicas,), float(number), dtype=task.run.options.dtype)
    maps, bases = zip(*((one.model.method.map, one.model.method.kernel) for one in chosen), strict=True)
    widths = tuple(int(one.g.shape[-1]) for one in chosen)
    weighted = WeightedSum(bases, widths, tuple(float(weights[at]) for at in kept))
    model = replace(
        model,
        method=LinkMethod(Members(maps), weighted, scaled=True),
        parameters=parameters,
        members=members,
        chosen_by_validation=tried,
        epochs_tried={name: len(next(iter(one.model.history.values()))) for name, one in fitted.items()},
        seconds=sum(one.model.seconds for one in on),
        **about,
    )
    g = torch.cat([one.g for one in chosen], dim=-1)
    return replace(chosen[0], model=model, known_g=g, prepared=None)


def shares_of(kernels: np.ndarray, linked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the members' shares w_m, which sum to 1, and a_m: M each, from K_m of m pairs (M × m).

    Half of a share is what greedy selection finds, half is the same for all: validation edges are few, and
    log-odds of a poor member are small anyway. A member whose K is lower on edges has none.
    """
    scales, offsets = np.array([platt(one, linked) for one in kernels]).T
    usable = scales > 0
    if not usable.any():
        return np.eye(len(kernels))[0], np.ones(len(kernels))
    p = expit(scales[usable, None] * kernels[usable] + offsets[usable, None])
    counts = greedy_counts(np.stack([1 - p, p], axis=-1)[:, None], linked[None].astype(int))
    shares = np.zeros(len(kernels))
    shares[usable] = (counts / counts.sum() + 1 / usable.sum()) / 2
    return shares, scales


def platt(values: np.ndarray, linked: np.ndarray) -> tuple[float, float]:
    """Return a and b of ``P(link) = σ(a K + b)``, fitted on pairs that are known to be linked or not: m each.

    >>> a, b = platt(np.array([0.1, 0.3, 0.2, 0.6]), np.array([False, False, True, True]))
    >>> a > 0, b < 0
    (True, True)
    """
    fitted = LogisticRegression(C=_PENALTY).fit(values[:, None], linked)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def _validated(on: LinkModelOnGraph, split: EdgeSplit) -> float:
    """Validation AUC in percent, the mean of the replicas."""
    runs = on.evaluate(split.validation, split.validation_negatives)
    return round(float(np.mean([run["auc"] for run in runs])), 4)
