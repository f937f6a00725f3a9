"""A node classifier on a graph: representations, kernel, probabilities, new nodes and new labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.ranks import Exchange, rows_for_all
from kernode.compute.stack import under_prefix
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph, checked_nodes
from kernode.graph.edits import touched
from kernode.graph.neighbourhoods import ball
from kernode.graph.share import GraphShare
from kernode.kernels import NodeKernel
from kernode.kernels.node_kernel import SimilarNodes
from kernode.losses.nodes_by_class import NodesByClass
from kernode.maps.base import LARGEST_PART
from kernode.models.model import ModelOnGraph
from kernode.tasks.classes.method import Method, references
from kernode.tasks.classes.model import ClassNames, NodeModel


@dataclass(frozen=True)
class NodeModelOnGraph(ModelOnGraph):
    """A model on its own graph, on one that grew from it, or on another with the same columns."""

    model: NodeModel
    has_training_nodes: bool = True  # whether the training nodes are nodes of this graph
    recomputed: np.ndarray | None = field(default=None, compare=False)  # when it last grew; None: all nodes

    @cached_property
    def classes(self) -> ClassNames:
        """Names of the class numbers, and the known class of every node."""
        return ClassNames.of(self.model, self.graph, self.has_training_nodes)

    def gather_rows(self, nodes: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """Return a g with the rows of some nodes, and the nodes' positions in it.

        That is g itself, except where ranks share the graph: then the rows of these nodes are gathered.
        """
        if not isinstance(self.graph, GraphShare):
            return self.g, nodes
        share, own = self.graph, self.g
        exchange = Exchange(share.ranks, share.bounds, nodes, self.options.device)
        return rows_for_all(exchange, own), exchange.at(nodes)

    @torch.no_grad()
    def probabilities(self, nodes: Any = None) -> np.ndarray:
        """Class probabilities before calibration: r × m × c.

        ``nodes``: m, or q × m where replicas differ; None for all nodes.
        """
        nodes = np.arange(self.graph.n_nodes) if nodes is None else nodes
        indices = np.atleast_2d(checked_nodes(nodes, self.graph.n_nodes))
        found = self.model.method.probabilities(self, indices)
        if np.isnan(found.sum()):
            raise KernodeError(
                f"the model has probabilities on {self.graph.name!r} that are NaN: a feature is too large "
                "for it. Scale the features, or train in 64 bits.",
                "not-finite",
            )
        return found

    def calibrated(self, nodes: Any = None) -> np.ndarray:
        """Mean class probabilities of the replicas, calibrated where the model is: m × c."""
        return self.model.calibrated(self.probabilities(nodes).mean(axis=0))

    @torch.no_grad()
    def extended(self, larger: Graph) -> NodeModelOnGraph:
        """The same model after nodes or edges arrived: :func:`kernode.graph.growth.extended` of this graph.

        g is that of the larger graph, but computed only where it can differ: within ``reach`` edges of a
        node whose edges or features changed. Elsewhere it keeps its bits. Parameters stay as they are.
        """
        if not self.model.method.has_kernel:
            return replace(self, graph=larger, prepared=None)
        new, feature_map = touched(self.graph, larger), self.model.method.map
        if feature_map.per_node:
            raise InputError(
                f"{type(feature_map).__name__} has a vector for each node it was trained on, and none for "
                "others. Train again on the larger graph, or use a map of features, such as HopMLP.",
                "unsupported",
            )
        anew = replace(self, graph=larger, known_g=None, recomputed=None, prepared=None)
        if feature_map.reach is None:
            return anew
        # Within reach in the larger graph. Where an edge is gone, the ends of it are touched themselves, and
        # from the last touched node of any old path on, that path is still there.
        around = ball(larger, new, feature_map.reach)
        if len(around) > LARGEST_PART * larger.n_nodes:  # then everything at once is less work
            return anew
        rows = feature_map.rows(under_prefix(self.parameters, "map."), larger, around, self.options)
        r, old, d = self.g.shape
        held = self.g[: len(rows)].transpose(0, 1)  # a map without parameters gives one for all replicas
        grown = held.new_empty(larger.n_nodes, len(rows), d)
        grown[:old] = held
        grown[torch.from_numpy(around).to(held.device)] = rows.transpose(0, 1)
        return replace(anew, known_g=grown.transpose(0, 1).expand(r, -1, -1), recomputed=around)

    def of_replicas(self, replicas: list[int]) -> NodeModelOnGraph:
        """The same with some of the model's replicas."""
        known = self.g[replicas] if self.model.method.has_kernel else None
        return replace(self, model=self.model.of_replicas(replicas), known_g=known, prepared=None)

    @cached_property
    def class_references(self) -> Tensor:
        """Vectors that nearest centroids compare with: from the model, or from the training nodes here."""
        if not self.has_training_nodes and self.model.references is not None:
            return torch.from_numpy(self.model.references).to(self.options.device)
        return references(self.model.method.kernel, self.g, self.training_nodes)

    @cached_property
    def training_nodes(self) -> NodesByClass:
        """The model's training nodes, class by class."""
        model = self.model
        known = model.train, model.train_labels, len(model.classes), self.options.device
        return NodesByClass.of(*known, model.train_weights)


def with_labels(on: NodeModelOnGraph, nodes: np.ndarray, y: np.ndarray) -> NodeModelOnGraph:
    """The same model with more labelled nodes: centroids are means over these, too, and g stays as it is.

    A node that has been labelled before takes its new class. Classes that are new come last.
    Probabilities are not calibrated any more.
    """
    method, model = on.model.method, on.model
    if not isinstance(method, Method) or method.classifier != "centroid":
        raise InputError(
            f"{model.variant or method.title} does not answer by nearest centroids: it learns its classes in "
            "training. Train with the variant k1 or similarity, or with a kernel loss, to add labels later.",
            "unsupported",
        )
    if not on.has_training_nodes:
        raise InputError(
            f"labels are added to {model.dataset!r}, the graph that the model learned from.", "unsupported"
        )
    if len(np.unique(nodes)) < len(nodes):
        raise InputError("a node is given twice. List each node once.", "duplicate")
    known = list(model.classes)
    if known and isinstance(known[0], str) != isinstance(y.tolist()[0], str):
        raise InputError(
            f"classes such as {y.tolist()[0]!r} are not of the kind of the model's, such as {known[0]!r}. "
            "Give them as the model has them.",
            "conflict",
        )
    new: list[Any] = [one for one in dict.fromkeys(y.tolist()) if one not in known]
    classes = (*known, *new)
    numbers = np.array([classes.index(one) for one in y.tolist()])
    kept = ~np.isin(model.train, nodes)  # q × m
    if len(set(kept.sum(axis=1).tolist())) > 1:  # rows must be of one length
        raise InputError(
            "some of these nodes trained some replicas and not others, as each replica had its own split. "
            "Leave them out, or train with one split.",
            "conflict",
        )

    def joined(rows: np.ndarray, more: np.ndarray) -> np.ndarray:
        return np.concatenate([rows[kept].reshape(len(rows), -1), np.tile(more, (len(rows), 1))], axis=1)

    train, labels = joined(model.train, nodes), joined(model.train_labels, numbers)
    weights = None if model.train_weights is None else joined(model.train_weights, np.ones(len(nodes)))
    members = NodesByClass.of(train, labels, len(classes), on.options.device, weights)
    held = references(method.kernel, on.g, members).cpu().numpy()
    extended = replace(
        model, train=train, train_labels=labels, train_weights=weights, classes=classes, references=held,
        calibration=None, threshold=None,  # they were fitted on answers by other centroids
    )  # fmt: skip
    return replace(on, model=extended, known_g=on.g, prepared=None)


def similar_in_shares(
    on: NodeModelOnGraph, queries: np.ndarray, k: int, among: np.ndarray | None = None
) -> list[SimilarNodes]:
    """As :meth:`NodeKernel.similar`, over all ranks: each searches its own nodes, and the best are kept."""
    share, method = on.graph, on.model.method
    assert isinstance(share, GraphShare)
    rows_of_queries, at = on.gather_rows(queries)
    own = share.stop - share.start
    rows = np.arange(own)
    if among is not None:
        rows = rows[np.isin(rows + share.start, among)]
    here: list[list[tuple[int, float]]] = [[] for _ in queries]
    if len(rows):
        # The rank's own nodes, then the queries. k + 1, because a query may be found itself.
        g = torch.cat([on.g, rows_of_queries[:, torch.from_numpy(at).to(on.g.device)]], dim=1)
        kernel = NodeKernel(method.kernel, g, under_prefix(on.parameters, "kernel."))
        found = kernel.similar(own + np.arange(len(queries)), k + 1, among=rows, exact=True)
        here = [[(share.start + node, value) for node, value in one] for one in found]
    names, best = share.node_names, []
    for query, *shares in zip(queries.tolist(), *share.ranks.gather(here), strict=True):
        others = [pair for one in shares for pair in one if pair[0] != query]
        first = sorted(others, key=lambda pair: (-pair[1], pair[0]))[:k]
        best.append(SimilarNodes([(node if names is None else names[node], value) for node, value in first]))
    return best
