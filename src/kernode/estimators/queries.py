"""Answers of a fitted estimator about nodes: similar nodes, explanations, what if, outliers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernode.compute.replicas import whole
from kernode.errors import InputError
from kernode.explain.explain import explain_node, explain_pair
from kernode.explain.explanation import NodeExplanation, PairExplanation
from kernode.explain.similar import outlier_scores, restricted
from kernode.explain.what_if import Smallest, What, WhatIf, as_edit, smallest_change, what_if
from kernode.graph import Graph
from kernode.kernels import NodeKernel
from kernode.tasks.classes.on_graph import NodeModelOnGraph


class NodeQueries:
    """What a fitted model answers about nodes, apart from their classes."""

    @abstractmethod
    def _on(self, graph: Graph | None) -> NodeModelOnGraph:
        """The model on a graph; None is the one that was learned from."""

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) on the graph's nodes: p.s.d., for any kernel machine."""
        return self._on(None).kernel

    def similar(
        self,
        nodes: Any,
        k: int = 10,
        *,
        among: Any = None,
        of_class: Any = None,
        where: Mapping[str, Any] | None = None,
        unlisted: bool = False,
        exact: bool = True,
    ) -> Any:
        """The k nodes most similar to one, with K̄ of each, the mean over replicas: [(node, similarity), …].

        A list of nodes gives one such list for each. Nodes have their names where the graph has names; a node
        is not compared with itself, and of equals the first in the graph comes first. All of these restrict
        the search, together where several are given:

        - ``among``: nodes, as a list or a mask.
        - ``of_class``: a class of ``graph_`` by name or number. It is the known class that counts, never
          the predicted one, so nodes whose class is not known are left out.
        - ``where``: of a graph from tables, columns and the value that each must have, or (low, high) with
          both included: ``{"year": (2000, None), "venue": "ICML"}``. Of a text it is a word that it has.

        Nodes that only edges mention (``graph_.listed``) are left out, unless ``unlisted`` is true or
        ``among`` names them. Where there are such nodes, every listed one is compared, without an index.

        ``exact`` and what ``found.exact`` says: see :meth:`NodeKernel.similar`.
        """
        on = self._on(None)
        some = restricted(on.graph, among, of_class, where, unlisted=unlisted)
        return on.kernel.similar(nodes, k, among=some, exact=exact)

    def explain(
        self,
        node: Any,
        other: Any = None,
        *,
        top: int = 10,
        of_class: Any = None,
        against: Any = None,
        graph: Graph | None = None,
    ) -> NodeExplanation | PairExplanation:
        """Why a node has its class, or why two are similar: exact sums, the ``top`` largest parts shown.

        Of one node: what each neighbour, hop and feature adds to the lead of ``of_class`` over ``against``,
        of the class that is predicted over the next where nothing is said. Of two: which pairs of neighbours
        make K(u, v). What is not shown is one remainder, so that the parts sum to the whole; of several
        replicas it is their mean, with its spread. ``print`` it, or take its fields.

        Exact for maps that are piecewise linear (HopMLP, Diffusion, HopNet, Stages, GCN, MLP), sums of such
        and, of two nodes or with nearest centroids, kernels that are a dot product. Others are refused.
        """
        whole("top", top, 1)
        known = self._on(graph)
        if other is None:
            return explain_node(known, known.find_one(node), top, of_class, against)
        if of_class is not None or against is not None:
            raise InputError(
                "of_class and against are about one node: leave them out for two.",
                "conflict",
                setting="against",
            )
        return explain_pair(known, known.find_one(node), known.find_one(other), top)

    def what_if(
        self,
        node: Any,
        *,
        add: Any = (),
        remove: Any = (),
        features: Any = None,
        columns: Any = None,
        graph: Graph | None = None,
    ) -> WhatIf:
        """The answer about a node if edges or features were others, without training again.

        ``add`` and ``remove`` are nodes that it would have an edge with, or no more, or pairs of nodes for
        edges between any two; ``features`` maps features, by name or number, to numbers as the model sees
        them, and ``columns`` those of the node's table to values as the table has them. Nearest centroids
        stay as they were trained. ``before`` and ``after`` hold the probabilities.
        """
        known = self._on(graph)
        return what_if(known, *as_edit(known.graph, node, add, remove, features, columns))

    def smallest_change(self, node: Any, what: What = "edges", *, graph: Graph | None = None) -> Smallest:
        """The fewest of a node's own "edges", or of its own "features", that decide its class.

        Found on what each adds, and verified by computing the answer without them.
        """
        known = self._on(graph)
        return smallest_change(known, known.find_one(node), what)

    def odd(self, X: Any = None, *, k: int = 5, graph: Graph | None = None) -> np.ndarray:
        """How far nodes (all, where None) are from every training node: 1 − the mean K̄ to the k most similar.

        Near 0 for nodes like those that taught the model; the higher, the less its classes may fit.
        """
        on = self._on(graph)
        whole("k", k, 1)
        if not on.has_training_nodes:
            raise InputError(
                f"the training nodes are in {on.model.dataset!r}: ask about that graph.", "unsupported"
            )
        return outlier_scores(on, np.arange(on.graph.n_nodes) if X is None else on.find(X), k)
