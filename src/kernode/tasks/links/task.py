"""The task of learning links: training and validation pairs, and a training step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.sharing import shared
from kernode.compute.stack import Parameters
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.adjacency import from_upper
from kernode.graph.edits import with_edges
from kernode.graph.lookup import Positions, as_classes
from kernode.io.edge_split import EdgeSplit, draw_non_edges, is_edge, split_edges
from kernode.losses.link_cross_entropy import EdgePairs
from kernode.maps.hop_mlp import HopSum
from kernode.metrics.ranking import auc
from kernode.models.task import KernelLearner, Task
from kernode.training.loop import Trained
from kernode.training.run import Run
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.links.method import LinkMethod
    from kernode.tasks.links.model import LinkModelOnGraph

_SHARE = 0.05  # of the linked pairs choose the epoch, as in VGAE's split


class LinkLearner(KernelLearner):
    """A stack of replicas that learn the links of a graph."""

    score = "validation_auc"

    def __init__(
        self, task: LinkTask, method: LinkMethod, training: Training, prepared: Any, replicas: slice
    ) -> None:
        super().__init__(task, method, training, prepared, replicas)
        device, split = task.run.options.device, task.split
        self.pairs: EdgePairs = method.loss.prepare(split.graph, device, task.others)
        self.folds = [(prepared, self.pairs)]  # of which each epoch learns one: the map's inputs, and edges
        count = min(method.edge_folds, split.graph.n_edges)
        if count > 1:
            parts = shared(split.graph, ("edge folds", count), lambda: edge_folds(split.graph, count))
            self.folds = [
                (method.map.prepare(rest, task.run.options), replace(self.pairs, edges=edges.to(device)))
                for rest, edges in parts
            ]
        self.validation = torch.tensor(split.validation, device=device)[None]
        self.validation_negatives = torch.tensor(split.validation_negatives, device=device)[None]
        self._reuses_evaluation = (
            _embeds_alike_in_training(method, self.dropout)
            and _can_be_held(self.parameters, task)
            and not self.capturable
            and self.average is None
            and len(self.folds) == 1
        )
        self._evaluated: tuple[Tensor, int] | None = None  # g with its gradient, at which parameters' version

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """Not with several folds, since epochs differ."""
        return super().capturable and self.method.edge_folds == 1

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Cross-entropy (Eq. 15) on edges and as many non-edges, and a variational method's divergence."""
        draws, divergence = self.draws.at(epoch), None
        evaluated, self._evaluated = self._evaluated, None
        # Where an epoch is a tensor, of a captured step, there is one fold.
        prepared, pairs = self.folds[int(epoch) % len(self.folds) if len(self.folds) > 1 else 0]
        if evaluated is not None and evaluated[1] == self.optimiser.flat._version:
            embedded = evaluated[0]  # no parameter has changed since: half of the forward passes
        else:
            embedded, divergence = self.method.embed(self.parameters, prepared, self.dropout.at(draws))
        loss = self.method.loss(
            pairs, lambda some: self.method.logits(self.parameters, embedded, some), draws
        )
        return {"loss": loss if divergence is None else loss + divergence}

    def evaluate(self) -> dict[str, Tensor]:
        """AUC and cross-entropy on the validation edges and non-edges, where there are any."""
        if not self.validation.shape[1]:
            return {}
        with torch.set_grad_enabled(self._reuses_evaluation):
            embedded, _ = self.method.embed(self.current, self.prepared)
        if self._reuses_evaluation:
            self._evaluated = embedded, self.optimiser.flat._version
        with torch.no_grad():
            linked = self.method.logits(self.current, embedded, self.validation)
            others = self.method.logits(self.current, embedded, self.validation_negatives)
            return {
                "validation_auc": auc(linked, others),
                "validation_loss": self.method.loss.on(linked, others),
            }


def edge_folds(graph: Graph, count: int) -> list[tuple[Graph, Tensor]]:
    """The graph without each of so many parts of its edges, and the edges of that part: m × 2."""
    upper = sparse.triu(graph.adjacency, format="coo")
    edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
    # The same for every replica, so that each gives what it gives alone.
    fold = np.random.Generator(np.random.PCG64(0)).permutation(len(edges)) % count
    found = []
    for number in range(count):
        kept = fold != number
        rest = sparse.csr_array((upper.data[kept], tuple(edges[kept].T)), shape=upper.shape)
        found.append((with_edges(graph, from_upper(rest)), torch.from_numpy(edges[~kept])))
    return found


@dataclass(frozen=True)
class LinkTask(Task["LinkModelOnGraph"]):
    """The links of a graph, learned from its training edges."""

    learner: ClassVar = LinkLearner

    whole: Graph  # what the model's file names
    split: EdgeSplit  # training edges, and those held out
    run: Run
    others: np.ndarray | None = None  # p × 2 known non-edges, in addition to those drawn in every epoch
    split_seed: int | None = None  # None: an own split cannot be made again from a seed
    known_graph: Graph | None = None  # with more edges than the split's: neither trained nor suggested
    all_edges: bool = False  # of the whole graph train, and none is held out

    @classmethod
    def of_graph(cls, graph: Graph, run: Run) -> LinkTask:
        """VGAE's split of a graph, by the first replica's seed."""
        return cls(graph, split_edges(graph, run.seeds[0]), run, split_seed=run.seeds[0])

    @classmethod
    def of_all_edges(cls, graph: Graph, run: Run) -> LinkTask:
        """Every edge of a graph, for vectors of its nodes: nothing is left to choose an epoch or to test."""
        if not graph.n_edges:
            raise InputError(
                f"{graph.name!r} has no edges, and nothing else is learned from. Give some.", "too-few"
            )
        none = np.empty((0, 2), np.int64)
        return cls(graph, EdgeSplit(graph, none, none, none, none), run, all_edges=True)

    @property
    def held_out(self) -> np.ndarray:
        """Edges that are there and do not train: m × 2, (u, v) with u < v, each once, in order."""
        known = [self.split.validation, self.split.test]
        if self.known_graph is not None:
            upper = sparse.triu(self.known_graph.adjacency, format="coo")
            edges = np.column_stack([upper.row, upper.col]).astype(np.int64)
            known.append(edges[~is_edge(self.split.graph.adjacency, edges)])
        return np.unique(np.concatenate(known), axis=0)

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        """The training edges, which the map sees."""
        return self.split.graph

    @property
    def data(self) -> Iterable[np.ndarray]:
        """Validation pairs, and known non-edges."""
        known = [] if self.others is None else [self.others]
        return [self.split.validation, self.split.validation_negatives, *known]

    @property
    def sizes(self) -> dict[str, int]:
        """Training edges."""
        return {"edges": self.graph.n_edges}

    @property
    def validates(self) -> bool:
        """Whether there are validation edges and non-edges."""
        return bool(len(self.split.validation) and len(self.split.validation_negatives))

    def fitted(
        self, method: LinkMethod, training: Training, trained: Trained, **about: Any
    ) -> LinkModelOnGraph:
        """Return the trained model on its training edges."""
        from kernode.tasks.links.model import LinkModel, LinkModelOnGraph  # here: a model knows its task

        model = LinkModel(
            **LinkModel.learned(trained, self.whole, self.run),
            method=method,
            training=training,
            split_seed=self.split_seed,
            all_edges=self.all_edges,
            held_out=self.held_out if self.split_seed is None else None,
            **about,
        )
        return LinkModelOnGraph(
            model, self.graph, self.run.options, prepared=trained.prepared, held_out=self.held_out
        )


_HELD = 2**27  # numbers that all replicas together may hold from an evaluation to the next step: 0.5 GB


def _embeds_alike_in_training(method: LinkMethod, dropout: Dropout) -> bool:
    """Return whether g is the same in training and outside: Eq. 7 where nothing is dropped or drawn."""
    drops = dropout.input_rates is not None or (
        "dropout" not in method.map.ignored_settings and bool(dropout.rates.any())
    )
    return isinstance(method.map, HopSum) and not drops and not method.variational


def _can_be_held(parameters: Parameters, task: LinkTask) -> bool:
    """Return whether what the gradient needs of every layer, of all replicas, may stay in memory."""
    widths = sum(p.shape[-1] for p in parameters.values() if p.dim() == 3)
    return 2 * widths * task.split.graph.n_nodes * task.run.replicas <= _HELD


def as_links(y: Any) -> np.ndarray:
    """Whether each pair is linked: m booleans.

    >>> as_links([1, 0, 1])
    array([ True, False,  True])
    """
    y = as_classes(y)
    neither = y[~np.isin(y, (0, 1))]
    if neither.size:
        raise InputError(
            "Only binary classification is supported. y must be 1 where a pair is linked and 0 where not. "
            f"Got {'a continuous ' * (neither.dtype.kind == 'f')}{neither.tolist()[0]!r}.",
            "setting", setting="y",
        )  # fmt: skip
    return y.astype(bool)


def require_unambiguous(graph: Graph, given: np.ndarray, linked: np.ndarray | None) -> None:
    """Raise where integers are taken as names, but only as positions are the linked pairs edges.

    ``given``: pairs as they came, m × 2.
    """
    plain = given.dtype.kind in "iu" and not isinstance(given, Positions)
    if not plain or not graph.lookup.has_integer_names or (linked is not None and len(linked) != len(given)):
        return
    pairs = given if linked is None else given[linked]
    if not len(pairs) or pairs.max() >= graph.n_nodes or not is_edge(graph.adjacency, pairs).all():
        return
    if is_edge(graph.adjacency, graph.lookup.find(pairs, sure=True)).mean() < 0.5:
        raise InputError(
            f"most linked pairs are not edges of {graph.name!r} by name, and as positions they all are: "
            "write kn.positions(pairs), or give the names as text where names are meant.",
            "ambiguous",
        )


def split_pairs(
    graph: Graph, pairs: np.ndarray, linked: np.ndarray | None, seed: int
) -> tuple[EdgeSplit, np.ndarray]:
    """A split whose training edges are linked pairs, and the other pairs that train (p × 2).

    Of the graph only nodes, features, names and the weights of linked pairs are looked at; an edge that is
    not among the pairs is never seen. A seeded 5 % of the linked pairs (at least one) choose the epoch,
    against as many of the others where those suffice, else against pairs drawn among all that are not given.
    With ``linked`` None all pairs are linked.
    """
    linked = np.ones(len(pairs), dtype=bool) if linked is None else linked
    if linked.shape != (len(pairs),):
        raise InputError(
            f"y must hold one number per pair ({len(pairs)}). Got shape {linked.shape}.", "shape", setting="y"
        )
    edges, others = (_distinct(graph, pairs[rows]) for rows in (linked, ~linked))
    known, counts = np.unique(np.concatenate([edges, others]), axis=0, return_counts=True)
    if (counts > 1).any():
        which = _named(graph, known[counts > 1][0])
        raise InputError(
            f"the pair {which} is given both as linked and as not. Drop one of the rows.", "conflict"
        )
    if len(edges) < 2:
        raise InputError(
            f"{len(edges)} linked pairs are too few: one must train and one choose the epoch. Give more.",
            "too-few",
        )
    random = np.random.Generator(np.random.PCG64(seed))
    held_out = max(1, int(_SHARE * len(edges)))
    edges = random.permutation(edges)
    if len(others) >= held_out:
        others = random.permutation(others)
        negatives, others = others[:held_out], others[held_out:]
    else:
        if graph.n_nodes * (graph.n_nodes - 1) // 2 - len(known) < held_out:
            raise InputError(
                f"the pairs leave fewer than {held_out} others to compare with. Give some with y = 0.",
                "too-few",
            )
        negatives = draw_non_edges(graph, known, held_out, random)
    training = with_edges(graph, _adjacency(graph, edges[held_out:]))
    return EdgeSplit(training, edges[:held_out], negatives, np.empty((0, 2)), np.empty((0, 2))), others


def _distinct(graph: Graph, pairs: np.ndarray) -> np.ndarray:
    """Each pair once, (u, v) with u < v, in order."""
    loops = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(loops):
        raise InputError(
            f"the pair {_named(graph, loops[0])} joins a node with itself. Drop it.", "setting", setting="X"
        )
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _named(graph: Graph, pair: np.ndarray) -> str:
    return f"({', '.join(str(graph.lookup.name(int(node))) for node in pair)})"


def _adjacency(graph: Graph, edges: np.ndarray) -> sparse.csr_array:
    """Edges with the graph's weights; a pair without an edge weighs 1."""
    u, v = np.unique(edges, axis=0).T
    weights = np.asarray(sparse.csr_array(graph.adjacency)[u, v]).ravel()
    n = graph.n_nodes
    return from_upper(sparse.csr_array((np.where(weights > 0, weights, 1), (u, v)), shape=(n, n)))
