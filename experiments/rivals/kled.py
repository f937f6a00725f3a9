"""KLED: the Laplacian exponential diffusion kernel, and two ways to classify with it.

Fouss, Yen, Pirotte and Saerens, "An experimental investigation of graph kernels on a collaborative
recommendation task", 2006. The kernel sees the edges and their weights alone, never the features.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from scipy import sparse

from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.tasks.classes.method import NodeMethod, validation_accuracies
from kernode.training.loop import Trained
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel
    from kernode.tasks.classes.on_graph import NodeModelOnGraph
    from kernode.tasks.classes.task import NodeTask

# "svc" needs all eigenvectors: 32 n² bytes while they are sought, and a time that grows as n³.
# On one core Cora (2,708 nodes) takes 5 s; 10,000 would take 4 min and 3.2 GB, Pubmed 30 min and 12 GB.
MOST_NODES_OF_SVC = 10_000
# "sums" takes about scale × largest degree sparse products. Pubmed's at scale 10 is 1,710.
MOST_STEPS_OF_SUMS = 20_000

CLASSIFIERS = ("sums", "svc")


@dataclass(frozen=True)
class KLED(NodeMethod):
    """K = exp(−scale · L) with the Laplacian L = D − A: how much heat passes between two nodes.

    - ``"sums"``: a class's score is the summed similarity of its training nodes, K·Y.
    - ``"svc"``: a support vector machine on K̄(u, v) = K(u, v) / √(K(u, u) K(v, v)), for graphs of at
      most ``MOST_NODES_OF_SVC`` nodes.

    Neither scale nor classifier is stated in the paper: each pair of them is a candidate, and validation
    accuracy chooses. ``penalty`` is the SVC's C.

    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3)], features=np.eye(4))
    >>> kled = KLED(scales=(0.5,), classifiers=("sums",))
    >>> kled.candidates(path)
    [(0.5, 'sums')]
    >>> kled.scores(path, 0.5, "sums", np.array([0, 3]), np.array([0, 1]), classes=2).round(3)
    array([[0.674, 0.01 ],
           [0.258, 0.058],
           [0.058, 0.258],
           [0.01 , 0.674]])
    """

    # 1-2-5 steps. At the low end K is I − scale·L and neighbours vote; at 10 the validation accuracy of
    # both classifiers has passed its best on Cora, Citeseer and Pubmed.
    scales: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    classifiers: tuple[str, ...] = CLASSIFIERS
    penalty: float = 1.0

    def __post_init__(self) -> None:
        if not self.scales or not all(np.isfinite(scale) and scale > 0 for scale in self.scales):
            raise _wrong("scales", "finite numbers above 0", self.scales)
        if not self.classifiers or not set(self.classifiers) <= set(CLASSIFIERS):
            raise _wrong("classifiers", f"some of {CLASSIFIERS}", self.classifiers)
        if not (np.isfinite(self.penalty) and self.penalty > 0):
            raise _wrong("penalty", "a finite number above 0", self.penalty)

    def candidates(self, graph: Graph) -> list[tuple[float, str]]:
        """Pairs of scale and classifier worth trying: those this graph is not too large for."""
        degree = float(_exact(graph)[1].max(initial=0))
        largest = {
            "sums": MOST_STEPS_OF_SUMS / degree if degree else np.inf,
            "svc": np.inf if graph.n_nodes <= MOST_NODES_OF_SVC else 0.0,
        }
        chosen = [
            (scale, kind) for kind in self.classifiers for scale in self.scales if scale <= largest[kind]
        ]
        if not chosen:
            raise InputError(
                f"KLED cannot do {graph.n_nodes:,} nodes of degree up to {degree:,.6g}: 'svc' takes at most "
                f"{MOST_NODES_OF_SVC:,} nodes, 'sums' a scale of at most {largest['sums']:.3g} here. "
                "Change classifiers or scales.",
                "too-large",
            )
        return chosen

    def scores(
        self,
        graph: Graph,
        scale: float,
        classifier: str,
        train: np.ndarray,
        labels: np.ndarray,
        classes: int,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Class scores of all nodes from training nodes, their labels and perhaps weights (m each): n × c.

        The largest in a row is the prediction; rows, and candidates, are not on one scale.
        """
        if classifier == "sums":
            return summed_similarity(graph, scale, train, labels, classes, weights)
        if classifier == "svc":
            return svc_scores(graph, scale, train, labels, classes, self.penalty, weights)
        raise _wrong("classifier", f"one of {CLASSIFIERS}", classifier)

    def train(self, task: NodeTask, training: Training) -> Trained:
        """Try every scale and classifier, like epochs; keep for each replica the best on validation.

        There is no randomness in it: replicas differ only where their nodes do.
        """
        started, nodes = time.perf_counter(), task.nodes
        candidates = self.candidates(task.graph)

        def answers(candidate: tuple[float, str]) -> list[np.ndarray]:
            scale, classifier = candidate
            found = []
            for train, labels, validation in zip(
                nodes.train, nodes.train_labels, nodes.validation, strict=True
            ):
                weights = None if task.weights is None else task.weights[train]
                scores = self.scores(task.graph, scale, classifier, train, labels, len(task.classes), weights)
                found.append(scores[validation].argmax(axis=1))
            return found

        accuracies = validation_accuracies(task, self.title, candidates, answers)
        best = accuracies.argmax(axis=0)
        return Trained(
            parameters={
                "scale": torch.tensor([candidates[i][0] for i in best], dtype=torch.float64),
                "classifier": torch.tensor([CLASSIFIERS.index(candidates[i][1]) for i in best]),
            },
            epochs=best + 1,
            history={"validation_accuracy": accuracies},
            seconds=time.perf_counter() - started,
        )

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Of all nodes at once, since the kernel diffuses over all of them."""
        if "probabilities" not in on.cache:
            on.cache["probabilities"] = self._all_probabilities(on)
        return np.take_along_axis(on.cache["probabilities"], nodes[..., None], axis=1)

    def _all_probabilities(self, on: NodeModelOnGraph) -> np.ndarray:
        """r × n × c: shares for sums, a softmax of the SVC's decisions."""
        model, found = on.model, []
        chosen = zip(model.parameters["scale"].tolist(), model.parameters["classifier"].tolist(), strict=True)
        for i, (scale, number) in enumerate(chosen):
            row, classifier = min(i, len(model.train) - 1), CLASSIFIERS[number]
            known = model.train[row], model.train_labels[row], len(model.classes)
            weights = None if model.train_weights is None else model.train_weights[row]
            scores = self.scores(on.graph, scale, classifier, *known, weights)
            if classifier == "svc":
                scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            found.append(scores / scores.sum(axis=1, keepdims=True))
            if len(model.train) == 1:  # all replicas are equal
                return np.repeat(found[0][None], len(model.seeds), axis=0)
        return np.stack(found)

    def chosen(self, model: NodeModel, graph: Graph) -> KLED:
        """The one scale and classifier that were best in the mean over the replicas of a model."""
        best = int(model.history["validation_accuracy"].mean(axis=1).argmax())
        scale, classifier = self.candidates(graph)[best]
        return replace(self, scales=(scale,), classifiers=(classifier,))

    @property
    def ignored_settings(self) -> frozenset[str]:
        """All: nothing is trained."""
        return frozenset(one.name for one in fields(Training))

    def least_bytes(self, sizes: GraphSizes, training: Training, options: TensorOptions) -> float:
        """All eigenvectors where an SVC is tried: they and what finds them."""
        decomposes = "svc" in self.classifiers and sizes.nodes <= MOST_NODES_OF_SVC
        return 32.0 * sizes.nodes**2 if decomposes else 0.0


def _wrong(setting: str, expected: str, value: object) -> InputError:
    return InputError(
        f"{setting} must be {expected}. Got {value!r}.", "setting", setting=setting, value=value
    )


def summed_similarity(
    graph: Graph,
    scale: float,
    train: np.ndarray,
    labels: np.ndarray,
    classes: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """K·Y: each class's training nodes, summed by their similarity to a node, times their weights: n × c.

    A node that no training node reaches gets the classes' shares of the training nodes.
    """
    weights = np.ones(len(train)) if weights is None else weights
    members = np.zeros((graph.n_nodes, classes))  # Y
    members[train, labels] = weights
    scores = diffuse(graph, scale, members)
    scores[~scores.any(axis=1)] = np.bincount(labels, weights, minlength=classes) / weights.sum()
    return scores


def diffuse(graph: Graph, scale: float, values: np.ndarray) -> np.ndarray:
    """K·values, without K: n × c → n × c.

    K = Σ_k Poisson(k; a) Pᵏ, where P = I − L/q is a random walk, q the largest degree and a = scale·q.
    For values ≥ 0 no term is negative, so the least similarities, which alone decide for nodes far from
    all training nodes, keep their relative accuracy. scipy's ``expm_multiply`` rounds them to zero, takes
    three times as long on Pubmed, and draws from numpy's global random state.
    """
    adjacency, degree = _exact(graph)
    largest = degree.max()
    if largest == 0:
        return values.copy()
    walk = sparse.csr_array(adjacency / largest + sparse.diags_array(1 - degree / largest))
    weights = _poisson(scale * largest)
    term, total = values, weights[0] * values
    for weight in weights[1:]:
        term = walk @ term
        total += weight * term
    return total


def normalized_columns(graph: Graph, scale: float, train: np.ndarray) -> np.ndarray:
    """K̄ of all nodes with the training nodes: n × m, entries within −1 … 1 up to rounding."""
    values, vectors = spectrum(graph)
    # Rounding makes of an eigenvalue 0 some n·ε of the largest: of huge weights a lot, and exp of it nothing.
    values = np.where(values > len(values) * np.finfo(values.dtype).eps * values.max(), values, 0)
    root = vectors * np.exp(-0.5 * scale * values)  # K = root · rootᵀ, so p.s.d. as computed
    # K(v, v) ≥ 1/n, for L has the constant vector in its kernel: never a division by zero.
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return root @ root[train].T


def svc_scores(
    graph: Graph,
    scale: float,
    train: np.ndarray,
    labels: np.ndarray,
    classes: int,
    penalty: float = 1.0,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """One-versus-rest decisions of an SVC on K̄: n × c; a class without training nodes is below all others."""
    present = np.unique(labels)
    if len(present) == 1:  # nothing to separate
        decisions = np.zeros((graph.n_nodes, 1))
    else:
        from sklearn.svm import SVC  # here: it takes a second, and is for those alone who ask for it

        columns = normalized_columns(graph, scale, train)
        # random_state: unused by the solver, but None would draw from numpy's global state.
        machine = SVC(kernel="precomputed", C=penalty, decision_function_shape="ovr", random_state=0)
        if weights is not None:
            weights = weights / weights.mean()  # C is per node
        decisions = machine.fit(columns[train], labels, sample_weight=weights).decision_function(columns)
        if len(present) == 2:  # scikit-learn then gives the second class's decision alone
            decisions = np.stack([-decisions, decisions], axis=1)
    scores = np.full((graph.n_nodes, classes), decisions.min() - 1)
    scores[:, present] = decisions
    return scores


_spectra: WeakKeyDictionary[Graph, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def spectrum(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n) and eigenvectors (n × n) of L, found once for a graph and kept as long as it lives.

    All scales and all splits share them; they are nine tenths of what an SVC candidate costs.
    """
    if graph.n_nodes > MOST_NODES_OF_SVC:
        raise InputError(
            f"'svc' takes at most {MOST_NODES_OF_SVC:,} nodes. Got {graph.n_nodes:,}: use 'sums'.",
            "too-large",
        )
    if graph not in _spectra:
        adjacency, degree = _exact(graph)
        values, vectors = np.linalg.eigh(np.diag(degree) - adjacency.toarray())
        values = values.clip(min=0)  # clip: rounding makes the zeros slightly negative
        for array in (values, vectors):
            array.setflags(write=False)
        _spectra[graph] = values, vectors
    return _spectra[graph]


def _exact(graph: Graph) -> tuple[sparse.csr_array, np.ndarray]:
    """A and its degrees in float64; degrees summed in float32 would let heat leak away."""
    adjacency = graph.adjacency.astype(np.float64)
    return adjacency, adjacency.sum(axis=1)


def _poisson(mean: float, log_tail: float = 69.0) -> np.ndarray:
    """Poisson weights 0 … k, what is left out being below e^−69 = 1e-30 (Bernstein's bound)."""
    from scipy.special import gammaln, xlogy

    beyond = log_tail / 3 + np.sqrt(log_tail**2 / 9 + 2 * mean * log_tail)
    counts = np.arange(int(np.ceil(mean + beyond)) + 1)
    return np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1))
