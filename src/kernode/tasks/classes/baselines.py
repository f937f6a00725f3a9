"""Baselines of every accuracy: the commonest class, features alone, edges alone.

Each learns from the same training nodes, chooses its one setting by the same validation nodes (without any it
takes the first), and answers about the same nodes. They are to be cheap: features have three of the runs' own
splits, and where there is much to multiply, one split and one setting must do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernode.compute.chunks import chunks
from kernode.compute.sparse import unit_rows
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.metrics.accuracy import accuracy, summary
from kernode.progress import report_progress
from kernode.tasks.classes.propagation import edge_step, known_labels, spread
from kernode.tasks.classes.task import LabelledNodes

NAMES = {
    "majority": "majority class",
    "features": "features alone (logistic regression)",
    "edges": "edges alone (label propagation)",
}
_FEATURE_SPLITS = 3  # the others would say the same, and take longer
_MUCH = 2 * 10**7  # entries × classes, of the training nodes' features or of all edges: a second a product
_MOST_ROWS = 5000  # training nodes of the logistic regression; of more, a seeded sample
_SHARES = (0.9, 0.99, 0.5)  # α: how much of a node's answer comes from its neighbours
_STEPS = 30
_ROWS = 50_000

Settings = Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]  # by name: nodes → class numbers


def baselines(graph: Graph, labelled: LabelledNodes, tested: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Accuracy in percent of each on nodes (q × t) with true class numbers (−1: none of the training's).

    ``runs``: one for each row of the training nodes, or for the first of them.
    """
    if not tested.shape[1]:
        return {}
    q, c = len(labelled.train), int(labelled.train_labels.max()) + 1
    x: Any = graph.features
    entries = {
        "majority": 0,
        "features": (x.nnz if sparse.issparse(x) else x.size) * len(labelled.train[0]) // graph.n_nodes,
        "edges": graph.adjacency.nnz,
    }
    makers = {"majority": _by_count, "features": _by_features, "edges": _by_edges}
    figures = {}
    # One thread: these matrices are small, and on busy cores several threads wait for each other.
    with threadpool_limits(1):
        for done, (name, make) in enumerate(makers.items()):
            report_progress("baselines", done, len(makers))
            much = entries[name] * c > _MUCH
            rows = 1 if much else min(q, _FEATURE_SPLITS) if name == "features" else q
            runs = []
            for row in range(rows):
                settings = make(graph, labelled.train[row], labelled.train_labels[row])
                found = dict(islice(settings, 1 if much or not labelled.validates else None))
                chosen = _chosen(found, labelled, row)
                at = min(row, len(tested) - 1)
                runs.append((float(accuracy(found[chosen](tested[at]), truth[at])), chosen))
            figures[name] = {
                **summary("accuracy", [one for one, _ in runs]),
                "runs": [round(one, 4) for one, _ in runs],
                "settings": [setting for _, setting in runs],
                "splits": q,
            }
            if name == "features" and len(labelled.train[0]) > _MOST_ROWS:
                figures[name]["training_nodes"] = _MOST_ROWS
    return figures


def _chosen(settings: dict[str, Any], labelled: LabelledNodes, row: int) -> str:
    """The setting that validates best; of equals the first."""
    if len(settings) == 1:
        return next(iter(settings))
    own = min(row, len(labelled.validation) - 1)
    nodes, labels = labelled.validation[own], labelled.validation_labels[own]
    right = {name: accuracy(answer(nodes), labels) for name, answer in settings.items()}
    return max(right, key=lambda name: right[name])


def _by_count(graph: Graph, train: np.ndarray, labels: np.ndarray) -> Settings:
    """The commonest class."""
    commonest = np.bincount(labels).argmax()
    yield "", lambda nodes: np.full(len(nodes), commonest)


def _by_features(graph: Graph, train: np.ndarray, labels: np.ndarray) -> Settings:
    """Logistic regression, on rows of length 1 or as they are, with a small or a large penalty."""
    if len(train) > _MOST_ROWS:
        some = np.random.Generator(np.random.PCG64(0)).permutation(len(train))[:_MOST_ROWS]
        train, labels = train[some], labels[some]
    if len(np.unique(labels)) == 1:
        yield from _by_count(graph, train, labels)
        return
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    forms: dict[str, Callable[[Any], Any]] = {"of length 1": unit_rows, "as they are": lambda x: x}
    for (name, form), inverse_penalty in ((form, c) for c in (100.0, 1.0) for form in forms.items()):
        with warnings.catch_warnings():  # near enough for a baseline
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LogisticRegression(C=inverse_penalty).fit(form(graph.features[train]), labels)

        def answer(nodes: np.ndarray, form: Any = form, fitted: Any = fitted) -> np.ndarray:
            blocks = chunks(len(nodes), _ROWS)  # of millions of dense rows a copy would be too large
            return np.concatenate([fitted.predict(form(graph.features[nodes[rows]])) for rows in blocks])

        yield f"rows {name}, C = {inverse_penalty:g}", answer


def _by_edges(graph: Graph, train: np.ndarray, labels: np.ndarray) -> Settings:
    """Label propagation (Zhou et al. 2004) with one share or another."""
    options, classes = TensorOptions.of(32), int(labels.max()) + 1
    known = known_labels(train[None], labels[None], graph.n_nodes, classes, options)
    commonest, step = np.bincount(labels).argmax(), edge_step(graph, options)
    for share in _SHARES:
        found = spread(step, known, share, _STEPS)[:, 0].numpy()
        answers = np.where(found.any(axis=1), found.argmax(axis=1), commonest)  # no label reaches it
        yield f"α = {share:g}", answers.__getitem__
