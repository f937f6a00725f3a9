"""What needs no kernel: the commonest class, features alone, edges alone. Beside every accuracy.

Each learns from the same training nodes, chooses its one setting by the same validation nodes (without any it
takes the first), and answers about the same nodes. All three are cheap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernode.graph import Graph
from kernode.metrics.accuracy import mean_and_std
from kernode.node_classification.task import LabelledNodes
from kernode.progress import tell

NAMES = {
    "majority": "majority class",
    "features": "features alone (logistic regression)",
    "edges": "edges alone (label propagation)",
}
_FEATURE_SPLITS = 3  # of the runs' own splits: the others would say the same, and take longer
_MOST_ROWS = 5000  # training nodes of the logistic regression; of more, a seeded sample
_SHARES = (0.9, 0.99, 0.5)  # α: how much of a node's answer comes from its neighbours
_STEPS = 30

Answers = Callable[[int, np.ndarray], np.ndarray]  # row of training nodes, nodes → class numbers


def baselines(graph: Graph, given: LabelledNodes, tested: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Accuracy in percent of each, on nodes (q × t) with true class numbers (−1: none of the training's).

    ``runs``: row by row of the training nodes; of the features at most three.
    """
    if not tested.shape[1]:
        return {}
    c = int(given.train_labels.max()) + 1
    made: dict[str, tuple[int, dict[Any, Answers]]] = {
        "majority": (len(given.train), {None: _majority(given, c)}),
        "features": (min(len(given.train), _FEATURE_SPLITS), _by_features(graph, given)),
        "edges": (len(given.train), _by_edges(graph, given, c)),
    }
    # One thread: these matrices are small, and on busy cores several threads wait for each other.
    with threadpool_limits(1):
        figures = {}
        for done, (name, one) in enumerate(made.items()):
            tell("baselines", done, len(made))
            figures[name] = _figures(*one, given, tested, truth)
    return figures


def _figures(
    rows: int, candidates: dict[Any, Answers], given: LabelledNodes, tested: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    """Accuracy of the candidate that validates best, row by row of the training nodes."""
    runs, settings = [], []
    for row in range(rows):
        best = next(iter(candidates))
        if len(candidates) > 1 and given.validates:
            own = min(row, len(given.validation) - 1)
            nodes, labels = given.validation[own], given.validation_labels[own]
            right = {name: (answer(row, nodes) == labels).mean() for name, answer in candidates.items()}
            best = max(right, key=lambda name: right[name])
        at = min(row, len(tested) - 1)
        runs.append(100 * float((candidates[best](row, tested[at]) == truth[at]).mean()))
        settings.append(best)
    mean, std = mean_and_std(runs)
    return {
        "accuracy_mean": round(mean, 4),
        "accuracy_std": round(std, 4),
        "runs": [round(run, 4) for run in runs],
        "settings": settings if len(candidates) > 1 else None,
    }


def _majority(given: LabelledNodes, c: int) -> Answers:
    commonest = [np.bincount(labels, minlength=c).argmax() for labels in given.train_labels]
    return lambda row, nodes: np.full(len(nodes), commonest[row])


def _by_features(graph: Graph, given: LabelledNodes) -> dict[str, Answers]:
    """Logistic regression, on rows of length 1 or as they are, with a small or a large penalty."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    def answers(rows_of: Callable[[Any], Any], inverse_penalty: float) -> Answers:
        fitted: dict[int, Any] = {}

        def answer(row: int, nodes: np.ndarray) -> np.ndarray:
            if row not in fitted:
                train, labels = _some(given.train[row], given.train_labels[row], row)
                if len(np.unique(labels)) == 1:
                    return np.full(len(nodes), labels[0])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # near enough for a baseline
                    model = LogisticRegression(C=inverse_penalty, max_iter=100)
                    fitted[row] = model.fit(rows_of(graph.features[train]), labels)
            return np.asarray(fitted[row].predict(rows_of(graph.features[nodes])))

        return answer

    forms: dict[str, Callable[[Any], Any]] = {"of length 1": normalize, "as they are": lambda x: x}
    return {
        f"rows {name}, C = {inverse_penalty:g}": answers(form, inverse_penalty)
        for inverse_penalty in (100.0, 1.0)
        for name, form in forms.items()
    }


def _some(train: np.ndarray, labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if len(train) <= _MOST_ROWS:
        return train, labels
    some = np.random.Generator(np.random.PCG64(seed)).permutation(len(train))[:_MOST_ROWS]
    return train[some], labels[some]


def _by_edges(graph: Graph, given: LabelledNodes, c: int) -> dict[float, Answers]:
    """Label propagation (Zhou et al. 2004), F ← α S F + (1 − α) Y with S = D^−½ A D^−½; α by validation."""
    q, n = len(given.train), graph.n_nodes
    degrees = np.maximum(np.asarray(graph.adjacency.sum(axis=1), float).ravel(), 1e-12)
    scale = sparse.diags_array((1 / np.sqrt(degrees)).astype(np.float32))
    spread = (scale @ graph.adjacency @ scale).astype(np.float32)
    known = np.zeros((n, q, c), np.float32)
    known[given.train, np.arange(q)[:, None], given.train_labels] = 1
    shares = known.mean(axis=0, keepdims=True)  # whom nothing reaches gets the commonest class
    start = known.reshape(n, q * c)
    kept: dict[float, np.ndarray] = {}

    def answers(share: float) -> Answers:
        def answer(row: int, nodes: np.ndarray) -> np.ndarray:
            if share not in kept:
                found = start
                for _ in range(_STEPS):
                    found = share * (spread @ found) + (1 - share) * start
                kept[share] = (found.reshape(n, q, c) + 1e-12 * shares).argmax(axis=2)
            return kept[share][nodes, row]

        return answer

    return {share: answers(share) for share in _SHARES}
