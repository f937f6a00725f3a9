"""Baselines of every accuracy: answers from the same training nodes, with the graph and without it.

Each chooses its one setting by the same validation nodes (without any it takes the first), and answers about
the same nodes. They are to be cheap: those that learn have three of the runs' own splits, and where there is
much to multiply, one split and one setting must do. Where a minute or two would not suffice, training nodes
are sampled, or a baseline is left out; the figures say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from kernode.compute.chunks import chunks
from kernode.compute.sharing import sharing
from kernode.compute.sparse import unit_rows
from kernode.compute.stack import replica
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.maps.smoothed_kernel import base_features
from kernode.metrics.accuracy import accuracy, summary
from kernode.metrics.significance import paired
from kernode.progress import report_progress
from kernode.tasks.classes.kernel_ridge import Instant
from kernode.tasks.classes.method import head_probabilities
from kernode.tasks.classes.propagation import edge_step, known_labels, spread
from kernode.tasks.classes.sum import member_parameters
from kernode.tasks.classes.task import LabelledNodes

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

NAMES = {
    "majority": "majority class",
    "features": "features alone (logistic regression or boosting)",
    "edges": "edges alone (label propagation)",
    "boosting": "features and neighbours' means (boosting)",
    "instant": "untrained kernel (instant)",
}
WITHOUT_GRAPH = ("majority", "features")
_LEFT_OUT = {"boosting": "too many classes", "instant": "too many test nodes × landmarks"}
_SPLITS = 3  # of those that learn: the others would say the same, and take longer
# Entries × classes, or what takes as long: about a second a product, and a minute or two in all.
_MUCH, _MOST = 2 * 10**7, 10**9
_LARGEST = 2 * 10**8  # entries of the untrained kernel: some gigabytes
_FEWEST = 30  # training nodes of a sample
_SHARES = (0.9, 0.99, 0.5)  # α: how much of a node's answer comes from its neighbours
_STEPS = 30
_ROWS = 50_000
_COMPONENTS, _SVD_NODES = 32, 20_000  # of words, or of more than 64 columns; and the nodes that define them
# Half a second on Cora. Of ten choices of bins, leaves and components, by its validation nodes.
_ROUNDS, _BOOSTING = 50, {"learning_rate": 0.2, "max_bins": 64, "early_stopping": False, "random_state": 0}

Settings = Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]  # by name: nodes → class numbers


@dataclass(frozen=True)
class _Questions:
    """What is asked on a graph, and columns that several baselines learn from."""

    graph: Graph
    labelled: LabelledNodes
    tested: np.ndarray  # q × t
    on: NodeModelOnGraph | None  # the model that is compared

    @property
    def sizes(self) -> tuple[int, int]:
        """Training nodes and classes."""
        return self.labelled.train.shape[1], int(self.labelled.train_labels.max()) + 1

    @property
    def wide(self) -> bool:
        """Whether features are words, or too many for trees."""
        return sparse.issparse(self.graph.features) or self.graph.n_features > 2 * _COMPONENTS

    @cached_property
    def columns(self) -> Any:
        """Features for trees, n × k: as they are, or their main components."""
        if not self.wide:
            return self.graph.features
        x = base_features(self.graph)
        some = x[np.random.Generator(np.random.PCG64(0)).permutation(x.shape[0])[:_SVD_NODES]]
        k = min(_COMPONENTS, *(size - 1 for size in some.shape))
        if k < 1:
            return x.toarray() if sparse.issparse(x) else x
        return x @ randomized_svd(some, k, n_iter=2, random_state=0)[2].T

    @cached_property
    def with_neighbours(self) -> np.ndarray:
        """Columns, and their means over neighbours: n × 2 k."""
        a, x = self.graph.adjacency, self.columns
        total = np.asarray(a.sum(axis=1)).reshape(-1, 1)
        return np.hstack([x, a @ x / np.where(total > 0, total, 1)])

    @property
    def most_boosted(self) -> int:
        """How many training nodes boosting may have: each tree has a fixed cost, and one by nodes."""
        width = 2 * (_COMPONENTS if self.wide else self.graph.n_features)
        return int(max(0, 20 * _MOST / (_ROUNDS * self.sizes[1]) - 2e5) / max(1, width))

    def work(self) -> dict[str, tuple[float, float]]:
        """Each baseline's work, and how many training nodes it may have."""
        x: Any = self.graph.features
        (m, c), d, boosted = self.sizes, Instant.landmarks_of(self.sizes[0]), self.most_boosted
        entries = max(1.0, (x.nnz if sparse.issparse(x) else x.size) / self.graph.n_nodes) * c
        return {
            "majority": (0, m),
            "features": (entries * m, _MOST / entries),
            "edges": (self.graph.adjacency.nnz * c, m),
            "boosting": (_MOST * m / max(1, boosted), boosted),
            "instant": (m * d * d / 1000, _LARGEST / d - self.tested.shape[1])
            if self.member is None
            else (0, m),
        }

    @property
    def member(self) -> int | None:
        """Which member of the model is the untrained kernel, fitted already."""
        members = () if self.on is None else getattr(self.on.model.method, "members", ())
        return next((at for at, one in enumerate(members) if one.method == Instant()), None)


def baselines(
    graph: Graph,
    labelled: LabelledNodes,
    tested: np.ndarray,
    truth: np.ndarray,
    right: np.ndarray | None = None,
    on: NodeModelOnGraph | None = None,
) -> dict[str, Any]:
    """Accuracy in percent of each on nodes (q × t) with true class numbers (−1: none of the training's).

    ``runs``: one for each row of the training nodes, or for the first of them. ``right``: the nodes that the
    replicas of a model answer right, r × t; then ``ahead`` is how far a baseline is ahead of the model, and
    ``ahead_95`` its interval. ``on``: the model, of which a fitted member may answer.
    """
    if not tested.shape[1]:
        return {}
    questions, q = _Questions(graph, labelled, tested, on), len(labelled.train)
    makers = {
        "majority": _by_count,
        "features": _by_features,
        "edges": _by_edges,
        "boosting": _by_boosting,
        "instant": _by_kernel,
    }
    if on is not None and isinstance(on.model.method, Instant):
        del makers["instant"]
    figures: dict[str, Any] = {}
    correct: dict[str, np.ndarray] = {}  # rows × t
    # One thread: these matrices are small, and on busy cores several threads wait for each other.
    with threadpool_limits(1), sharing():
        for done, (name, make) in enumerate(makers.items()):
            report_progress("baselines", done, len(makers))
            work, most = questions.work()[name]
            if most < min(_FEWEST, questions.sizes[0]):
                figures[name] = {"skipped": _LEFT_OUT[name]}
                continue
            much, known = work > _MUCH, _sampled(labelled, int(most))
            rows = 1 if much else q if name in ("majority", "edges") else min(q, _SPLITS)
            answers, chosen = [], []
            for row in range(rows):
                settings = make(questions, known.train[row], known.train_labels[row], row)
                found = dict(islice(settings, 1 if much or not labelled.validates else None))
                chosen.append(_chosen(found, labelled, row))
                at = min(row, len(tested) - 1)
                answers.append(found[chosen[-1]](tested[at]) == truth[at])
            correct[name] = np.stack(answers)
            runs = [float(one) for one in 100 * correct[name].mean(axis=1)]
            figures[name] = {
                **summary("accuracy", runs),
                "runs": [round(one, 4) for one in runs],
                "settings": chosen,
                "splits": q,
            }
            if known is not labelled:
                figures[name]["training_nodes"] = known.train.shape[1]
    if right is not None:
        _compare(figures, correct, right.mean(axis=0, keepdims=True) if q == 1 else right)
    return figures


def _compare(figures: dict[str, Any], correct: dict[str, np.ndarray], ours: np.ndarray) -> None:
    """Add how far each is ahead of the model, and whether the graph adds something to the best without it.

    ``graph_adds`` is True if the model or a baseline with edges is ahead, with an interval above 0.
    """
    for name, own in correct.items():
        figures[name]["ahead"], figures[name]["ahead_95"] = _difference(own, ours)
    best = max(WITHOUT_GRAPH, key=lambda name: figures[name]["accuracy_mean"])
    others = [ours, *(own for name, own in correct.items() if name not in WITHOUT_GRAPH)]
    intervals = [_difference(one, correct[best])[1] for one in others]
    figures[best]["graph_adds"] = any(one is not None and one[0] > 0 for one in intervals)


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[float, list[float] | None]:
    """How many points one is ahead of another, each rows × t, and the 95 % interval by test nodes.

    Nodes are paired. Splits overlap, so that more of them do not narrow the interval: it is one split's, the
    mean over the splits that both have.
    """
    pairs = zip(one, other, strict=False)
    found = [paired((100 * (a - b.astype(float))).tolist(), 0) for a, b in pairs]
    mean, low, high = np.mean([(one.mean, one.low, one.high) for one in found], axis=0).round(4).tolist()
    return mean, [low, high] if np.isfinite(low) else None


def _sampled(labelled: LabelledNodes, most: int) -> LabelledNodes:
    """The training nodes, or a seeded sample of them."""
    m = labelled.train.shape[1]
    if m <= most:
        return labelled
    some = np.random.Generator(np.random.PCG64(0)).permutation(m)[:most]
    return replace(labelled, train=labelled.train[:, some], train_labels=labelled.train_labels[:, some])


def _chosen(settings: dict[str, Any], labelled: LabelledNodes, row: int) -> str:
    """The setting that validates best; of equals the first."""
    if len(settings) == 1:
        return next(iter(settings))
    own = min(row, len(labelled.validation) - 1)
    nodes, labels = labelled.validation[own], labelled.validation_labels[own]
    right = {name: accuracy(answer(nodes), labels) for name, answer in settings.items()}
    return max(right, key=lambda name: right[name])


def _by_count(asked: _Questions, train: np.ndarray, labels: np.ndarray, row: int) -> Settings:
    """The commonest class."""
    commonest = np.bincount(labels).argmax()
    yield "", lambda nodes: np.full(len(nodes), commonest)


def _by_features(asked: _Questions, train: np.ndarray, labels: np.ndarray, row: int) -> Settings:
    """Logistic regression, on rows of length 1 or as they are, with a small or a large penalty; or boosting.

    Boosting where features are numbers: of words a linear model has more.
    """
    x = asked.graph.features
    if len(np.unique(labels)) == 1 or not x.shape[1]:
        yield from _by_count(asked, train, labels, row)
        return
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    forms: dict[str, Callable[[Any], Any]] = {"of length 1": unit_rows, "as they are": lambda x: x}
    for (name, form), inverse_penalty in ((form, c) for c in (100.0, 1.0) for form in forms.items()):
        with warnings.catch_warnings():  # near enough for a baseline
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LogisticRegression(C=inverse_penalty).fit(form(x[train]), labels)

        def answer(nodes: np.ndarray, form: Any = form, fitted: Any = fitted) -> np.ndarray:
            blocks = chunks(len(nodes), _ROWS)  # of millions of dense rows a copy would be too large
            return np.concatenate([fitted.predict(form(x[nodes[rows]])) for rows in blocks])

        yield f"rows {name}, C = {inverse_penalty:g}", answer
    if not sparse.issparse(x) and len(train) <= asked.most_boosted:
        yield "boosting", _boosted(asked.columns, train, labels)


def _by_boosting(asked: _Questions, train: np.ndarray, labels: np.ndarray, row: int) -> Settings:
    """Gradient boosting on features beside their means over neighbours."""
    if len(np.unique(labels)) == 1 or not asked.graph.n_features:
        yield from _by_count(asked, train, labels, row)
    else:
        yield f"{_ROUNDS} rounds", _boosted(asked.with_neighbours, train, labels)


def _boosted(x: np.ndarray, train: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    leaf = min(20, max(1, len(train) // 4))
    trees = HistGradientBoostingClassifier(max_iter=_ROUNDS, min_samples_leaf=leaf, **_BOOSTING)
    trees.fit(x[train], labels)
    return lambda nodes: np.asarray(trees.predict(x[nodes]))


def _by_edges(asked: _Questions, train: np.ndarray, labels: np.ndarray, row: int) -> Settings:
    """Label propagation (Zhou et al. 2004) with one share or another."""
    options, classes = TensorOptions.of(32), int(labels.max()) + 1
    known = known_labels(train[None], labels[None], asked.graph.n_nodes, classes, options)
    commonest, step = np.bincount(labels).argmax(), edge_step(asked.graph, options)
    for share in _SHARES:
        found = spread(step, known, share, _STEPS)[:, 0].numpy()
        answers = np.where(found.any(axis=1), found.argmax(axis=1), commonest)  # no label reaches it
        yield f"α = {share:g}", answers.__getitem__


def _by_kernel(asked: _Questions, train: np.ndarray, labels: np.ndarray, row: int) -> Settings:
    """The variant "instant": of a sum its fitted member, where it has one."""
    on, at = asked.on, asked.member
    if on is not None and at is not None:
        block = on.g.split(on.model.method.kernel.widths, dim=-1)[at]
        own = member_parameters(on.parameters, at)

        def of_member(nodes: np.ndarray) -> np.ndarray:
            g = block[row : row + 1, torch.from_numpy(nodes).to(block.device)]
            return head_probabilities(Instant(), replica(own, row), g)[0].argmax(axis=-1)

        yield "member of the sum", of_member
        return
    seed, options = (0, TensorOptions.of(32)) if on is None else (on.model.seeds[row], on.options)
    nodes = np.union1d(train, asked.tested[min(row, len(asked.tested) - 1)])  # no other row is needed
    blocks = [one[nodes] for one in Instant().map.prepare(asked.graph, options)]
    indicators, at_train = np.eye(asked.sizes[1])[labels], np.searchsorted(nodes, train)
    scores = Instant().scores(blocks, at_train, indicators, seed, options.device)
    yield "", lambda some: scores[np.searchsorted(nodes, some)].argmax(axis=1)
