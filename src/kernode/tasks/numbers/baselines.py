"""Baselines of every regression: numbers from the same known numbers, with the graph and without it.

Features are columns as the model has them: standardised, more than 64 as their main components. Boosting has
scikit-learn's own settings. Where it would take minutes, known numbers are sampled; the figures say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernode.compute.sharing import sharing
from kernode.hops.spectral import normalized_adjacency
from kernode.metrics.significance import paired
from kernode.progress import report_progress
from kernode.tasks.numbers.model import NumbersOnGraph
from kernode.tasks.numbers.posterior import conjugate_gradients

NAMES = {
    "mean": "the mean",
    "ridge": "features alone (ridge regression)",
    "features": "features alone (boosting)",
    "boosting": "features and neighbours' means (boosting)",
    "label propagation": "edges alone (label propagation)",
}
WITHOUT_GRAPH = ("mean", "ridge", "features")
_PENALTIES = np.logspace(-2, 5, 15)
_SHARES = (0.95, 0.5, 0.8, 0.999)  # α: how much of a number comes from the neighbours
_MOST = 5 * 10**6  # entries that boosting learns from: some seconds
_HELD = 0.2  # share of the known numbers that chooses α


def baseline_numbers(on: NumbersOnGraph, nodes: np.ndarray) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Numbers of t nodes by each baseline, and what is to be said of it."""
    train, targets = on.model.train[0], on.model.targets[0]
    makers = {
        "mean": lambda: (np.full(len(nodes), targets.mean()), {}),
        "ridge": lambda: _ridge(_columns(on, False), train, targets, nodes),
        "features": lambda: _boosted(_columns(on, False), train, targets, nodes),
        "boosting": lambda: _boosted(_columns(on, True), train, targets, nodes),
        "label propagation": lambda: _propagated(on, nodes),
    }
    found = {}
    # One thread: these matrices are small, and on busy cores several threads wait for each other.
    with threadpool_limits(1), sharing():
        for done, (name, make) in enumerate(makers.items()):
            report_progress("baselines", done, len(makers))
            found[name] = make()
    return found


def compare(figures: dict[str, Any], squared: dict[str, np.ndarray], ours: np.ndarray, size: float) -> None:
    """Add how far each is ahead of the model in R², with its 95 % interval, paired node by node.

    ``squared``: squared errors of each baseline, t each, and ``ours``; ``size``: the variance of the true
    numbers. ``graph_adds`` is True if the model or a baseline with edges is ahead of the best one without,
    with an interval above 0.
    """
    for name, own in squared.items():
        figures[name]["ahead"], figures[name]["ahead_95"] = _difference(own, ours, size)
    best = max(WITHOUT_GRAPH, key=lambda name: figures[name]["r2"])
    others = [ours, *(own for name, own in squared.items() if name not in WITHOUT_GRAPH)]
    intervals = [_difference(one, squared[best], size)[1] for one in others]
    figures[best]["graph_adds"] = any(one is not None and one[0] > 0 for one in intervals)


def _difference(one: np.ndarray, other: np.ndarray, size: float) -> tuple[float, list[float] | None]:
    """How much R² one has more than another, by their squared errors, and the 95 % interval."""
    found = paired(((other - one) / size).tolist(), 0)
    interval = [round(found.low, 6), round(found.high, 6)]
    return round(found.mean, 6), interval if np.isfinite(found.low) else None


def _columns(on: NumbersOnGraph, edges: bool) -> np.ndarray:
    """Features; with ``edges`` also their means over neighbours at 1 and 2 hops, and the degree: n × k."""
    blocks = [one.numpy() for one in on.inputs.blocks]
    if edges:
        return np.hstack(blocks)
    degree = int((~on.model.parameters["columns.many"][0]).sum())  # its column follows the plain ones
    return np.delete(blocks[0], degree, axis=1)


Answer = tuple[np.ndarray, dict[str, Any]]


def _ridge(x: np.ndarray, train: np.ndarray, targets: np.ndarray, nodes: np.ndarray) -> Answer:
    """Ridge regression, its penalty by leave-one-out."""
    if not x.shape[1]:
        return np.full(len(nodes), targets.mean()), {}
    from sklearn.linear_model import RidgeCV

    fitted = RidgeCV(_PENALTIES).fit(x[train], targets)
    return fitted.predict(x[nodes]), {"setting": f"penalty {fitted.alpha_:.3g}"}


def _boosted(x: np.ndarray, train: np.ndarray, targets: np.ndarray, nodes: np.ndarray) -> Answer:
    """Gradient boosting, with the settings of scikit-learn."""
    if not x.shape[1]:
        return np.full(len(nodes), targets.mean()), {}
    from sklearn.ensemble import HistGradientBoostingRegressor

    most, about = max(1000, _MOST // x.shape[1]), {}
    if len(train) > most:
        some = np.random.default_rng(0).permutation(len(train))[:most]
        train, targets, about = train[some], targets[some], {"training_nodes": most}
    leaf = min(20, max(1, len(train) // 4))
    trees = HistGradientBoostingRegressor(min_samples_leaf=leaf, early_stopping=False, random_state=0)
    return trees.fit(x[train], targets).predict(x[nodes]), about


def _propagated(on: NumbersOnGraph, nodes: np.ndarray) -> Answer:
    """Label propagation, its share α by a fifth of the known numbers."""
    train, targets = on.model.train[0], on.model.targets[0]
    s, degrees = normalized_adjacency(on.graph), on.inputs.degrees
    share, held = _SHARES[0], round(_HELD * len(train))
    if held:
        order = np.random.default_rng(0).permutation(len(train))
        away, kept = order[:held], order[held:]
        errors = {}
        for one in _SHARES:
            answer = propagate(s, degrees, train[kept], targets[kept], one)[train[away]]
            errors[one] = float(np.square(answer - targets[away]).mean())
        share = min(errors, key=errors.__getitem__)
    return propagate(s, degrees, train, targets, share)[nodes], {"setting": f"α = {share:g}"}


def propagate(
    s: sparse.csr_array, degrees: np.ndarray, train: np.ndarray, targets: np.ndarray, share: float
) -> np.ndarray:
    """Let numbers spread along edges (Zhu et al. 2003), with a share α < 1: n.

    A known number stays. Any other is, about the mean of the known ones, α times the mean of its neighbours:
    ``f_u = α P_uu f_u + α P_uk y_k``. A node without edges has the mean.
    """
    center, known = float(targets.mean()), np.zeros(len(degrees), bool)
    known[train] = True
    others, root = np.flatnonzero(~known), np.sqrt(degrees)
    found = np.zeros(len(degrees))
    found[train] = targets - center
    # f = D^-½ h makes the system symmetric: (I − α S_uu) h_u = α S_uk h_k.
    rows = s[others]
    own = rows[:, others]
    right = share * (rows @ (root * found))[:, None]
    solved = conjugate_gradients(lambda x: x - share * (own @ x), right, np.ones(len(others)))[:, 0]
    found[others] = solved / np.where(degrees > 0, root, 1)[others]
    return center + found
