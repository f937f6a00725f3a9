"""Base of the estimators of node classes, with answers about nodes, and the transformer among them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kernode.compute.replicas import whole
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError, warn
from kernode.estimators.base import KernelEstimator, VectorsMixin, settings_of
from kernode.explain.explain import explain_node, explain_pair
from kernode.explain.explanation import NodeExplanation, PairExplanation
from kernode.explain.similar import outlier_scores, restricted
from kernode.explain.what_if import Smallest, What, WhatIf, as_edit, smallest_change, what_if
from kernode.graph import Graph, positions
from kernode.graph.lookup import as_nodes, require_aligned
from kernode.io import Split
from kernode.io.exchange import require_graph
from kernode.io.tables import extend
from kernode.io.tables.columns import with_target
from kernode.metrics.scoring import require_scoring
from kernode.models.fit import Candidates, fit_candidates
from kernode.models.overrides import by_part, combined
from kernode.tasks.classes.labels import (
    as_weights,
    by_node,
    fit_all_labels,
    fit_in_folds,
    labelled,
    nodes_and_classes,
    require_classes,
    require_no_numbers,
    require_several_classes,
    split_labels,
    warn_of_single_nodes,
)
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph, with_labels
from kernode.tasks.classes.sum import fit_sum
from kernode.tasks.classes.task import ALL_LABELLED, LabelledNodes, NodeTask
from kernode.tasks.classes.threshold import choosing_threshold
from kernode.tasks.classes.variants import BEST, candidates, is_sum, settings_key
from kernode.training.run import Run
from kernode.training.settings import advise_more_epochs


class NodeKernelEstimator(KernelEstimator):
    """Learns a kernel on the nodes of a graph from the classes of some."""

    _on_other: tuple[Any, NodeModelOnGraph] | None = None  # another graph, the last that was given

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        graph: Graph | None = None,
        split: str | Split | list[Split] | None = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from nodes X and their classes y, from a column of the graph, or from its own classes.

        X: names, indices (:func:`kernode.positions` where names are integers, too), or a mask of all nodes.

        ``validation``: nodes that choose epochs and, for "auto", members and weights, with the graph's own
        labels, or a pair (nodes, classes). Without them X chooses, fold by fold, and then all of it trains.

        Without X the graph's own classes are split into training, validation and test nodes by ``split``: as
        :func:`kernode.load` takes it, a file, a :class:`~kernode.Split`, or a list with one for each replica.
        :meth:`NodeKernelClassifier.report` then has the figures of the test nodes.

        ``fit("topic", graph=graph)`` does so with the classes in a column of the graph's tables, which is
        then no feature; ``graph_`` is the graph without it.

        ``sample_weight``: how much each node of X counts, m numbers ≥ 0 of which only the ratios matter. One
        with weight 0 is as if it were not in X; with weight 2, as if it were there twice: it counts twice in
        L_Y and in a class's mean, and is drawn twice as often into the triplets of L_K, in which classes
        have equal shares still. ``class_weights`` multiply. Nodes that choose, in folds or as
        ``validation``, count once each.
        """
        if isinstance(X, str) and y is None:
            graph, X = with_target(require_graph(graph), X), None
        if X is not None:
            self._require_targets(X, y, split, validation, sample_weight)
        graph, run = require_graph(graph), self._run()
        if X is None:
            require_no_numbers(graph)
            methods = self.methods(graph, tuned=split in (None, "fastgcn"))
            require_several_classes(graph, methods)
            splits, name = split_labels(graph, split, run.seeds)
            task = NodeTask.of_splits(graph, splits, run)
        else:
            methods, splits, name = self.methods(graph, tuned=False), None, ""
            task = self._task(X, y, graph, validation, sample_weight, run)
        warn_of_single_nodes(task)
        sums = is_sum(self.variant) and len(methods) > 1
        fit: Any = partial(fit_sum, thorough=str(self.variant).lower() == BEST) if sums else fit_candidates
        if self.threshold is not None:
            fit = choosing_threshold(fit, self.threshold, len(task.classes))
        if name == ALL_LABELLED or (X is not None and validation is None):
            on = fit_in_folds(task, methods, fit).with_metadata(split=name)
        else:
            on = (fit if task.validates else fit_candidates)(task, methods, split=name)
        if sums:
            on = on.with_metadata(variant=str(self.variant).lower())
        advise_more_epochs(on.model, on.model.training.select_by)
        if self.threshold is not None and on.model.threshold is None:
            warn("no threshold was chosen, since no validation node is of the positive class: give some.")
        if splits is not None:
            tested = [one.test for one in splits]
            shared = all(one is tested[0] for one in tested)
            on = on.with_metadata(tested=np.stack(tested[:1] if shared else tested))
        return self._become(on.model, str(on.options.device), on, task.nodes, splits)

    def methods(self, graph: Graph | None = None, *, tuned: bool = True) -> Candidates:
        """The methods that the parameters stand for, with their training settings, by the variant's name.

        On some graphs variants have settings of their own; ``tuned``: also those that a search found there.
        """
        if self.scoring is not None:
            require_scoring("scoring", self.scoring)
        changes = combined(self._changes, by_part(select_by=self.scoring))
        key = "" if graph is None else settings_key(graph)
        return candidates(self.variant, key, changes, tuned=tuned)

    @property
    def has_unused_labels(self) -> bool:
        """Whether some nodes that have a class did not train."""
        return self.model_.train.shape[1] < int((self.graph_.labels >= 0).sum())

    def _require_targets(self, X: Any, y: Any, split: Any, validation: Any, sample_weight: Any) -> None:
        """Raise where X comes without classes, with a split, or in another order than what belongs to it."""
        require_aligned(X, y=y, sample_weight=sample_weight)
        if isinstance(validation, tuple) and len(validation) == 2:
            require_aligned(validation[0], y=validation[1])
        as_nodes(X)
        if y is None:
            who = type(self).__name__
            raise InputError(
                f"{who} requires y to be passed, but the target y is None: pass the classes.",
                "missing", setting="y",
            )  # fmt: skip
        if split is not None:
            raise InputError(
                "a split is of the graph's own classes: leave out X and y.", "conflict", setting="split"
            )

    def _task(self, X: Any, y: Any, graph: Graph, validation: Any, sample_weight: Any, run: Run) -> NodeTask:
        nodes, y = nodes_and_classes(graph, X, y)
        weights = as_weights(sample_weight, as_nodes(X), len(nodes))
        if weights is not None:
            counts = weights > 0
            nodes, y, weights = positions(nodes[counts]), y[counts], weights[counts]
        classes, given = labelled(nodes, y, graph, validation)
        return NodeTask(graph, given, tuple(classes.tolist()), run, by_node(weights, nodes, graph.n_nodes))

    @classmethod
    def of_model(cls, model: NodeModel, graph: Graph | None, device: str, path: str | Path) -> Self:
        """The estimator that answers with a model from a file; its graph need not be at hand."""
        graph = model.own_graph() if graph is None else graph
        estimator = cls(model.variant or "k3", **settings_of(model, device))
        device = str(TensorOptions.of(model.precision, device).device)
        return estimator._become(model, device, None if graph is None else model.on(graph, device))

    def _become(
        self,
        model: NodeModel,
        device: str,
        on: NodeModelOnGraph | None = None,
        labelled_nodes: LabelledNodes | None = None,
        splits: list[Split] | None = None,
    ) -> Self:
        """Become the estimator of a model, whose graph need not be at hand."""
        self._set_fitted(model, on)
        self.classes_ = np.array(model.classes)
        self.n_features_in_ = 1  # X is one column: the node
        none = np.empty((1, 0), np.int64)
        self._labelled = labelled_nodes or LabelledNodes(model.train, model.train_labels, none, none)
        self._splits, self._device, self._on_other = splits, device, None
        return self

    def refit(self) -> Self:
        """Train what was chosen again on every node of the graph that has a class: to be used, not scored.

        This estimator, with the figures of its test nodes, stays as it is.
        """
        on = fit_all_labels(self.graph_, self.model_, self._run())
        return copy(self)._become(on.model, str(on.options.device), on)

    def add_labels(self, X: Any, y: Any) -> Self:
        """The same model with more labelled nodes, of known classes or new ones, without training.

        For models that answer by nearest centroids (k1, k2, similarity, a kernel loss alone): a class is the
        mean of its labelled nodes, so that a few of a new class make one. This estimator stays as it is.
        """
        known = self._on()
        nodes, classes = nodes_and_classes(known.graph, X, y)
        require_classes(nodes, classes, known.graph, "labelled", self.classes_)
        on = with_labels(known, nodes, classes)
        return copy(self)._become(on.model, str(on.options.device), on)

    def extend(
        self, graph: Graph | None, nodes: Any, edges: Any, *, names: Any = None, encoding: str | None = None
    ) -> Self:
        """The same model after nodes and edges arrived, as :func:`kernode.extend` takes them.

        Answers equal those computed on the whole larger graph, degrees of old neighbours included; computed
        anew is only what can differ (``recomputed_``: those nodes). ``graph`` is the one that grows, None for
        the one that was learned from; ``graph_`` of what comes back is the larger one. Nearest centroids are
        means of the training nodes as they are in the larger graph; ``predict(…, graph=larger)`` has them as
        they were trained. This estimator stays as it is.
        """
        known = self._on(graph)
        larger = extend(known.graph, nodes, edges, names=names, encoding=encoding)
        grown = copy(self)
        grown._on_own_graph, grown._on_other = known.extended(larger), None
        return grown

    @property
    def recomputed_(self) -> np.ndarray:
        """Nodes whose vectors were computed when the graph last grew; all of them where it did not."""
        anew = self._on().recomputed
        return np.arange(self.graph_.n_nodes) if anew is None else anew

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

        ``exact`` and ``found.exact``: see :meth:`NodeKernel.similar`.
        """
        on = self._on()
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
        by default of the predicted class over the next. Of two: which pairs of neighbours
        make K(u, v). What is not shown is one remainder, so that the parts sum to the whole; of several
        replicas it is their mean, with its spread. ``print`` it, or take its fields.

        Exact for maps that are piecewise linear (HopMLP, Diffusion, HopNet, Stages, GCN, MLP), sums of such
        and, of two nodes or with nearest centroids, kernels that are a dot product. Others are refused. What
        "instant" adds is a sum over training nodes: the weight of each one's label times K.
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

        Near 0 for nodes like the training nodes; the higher, the less the predicted classes may fit.
        """
        on = self._on(graph)
        whole("k", k, 1)
        if not on.has_training_nodes:
            raise InputError(
                f"the training nodes are in {on.model.dataset!r}: give that graph.", "unsupported"
            )
        return outlier_scores(on, np.arange(on.graph.n_nodes) if X is None else on.find(X), k)

    def _on(self, graph: Graph | None = None) -> NodeModelOnGraph:
        """The model on a graph; None is the one that was learned from."""
        own = super()._on()
        if graph is None and own is None:
            raise InputError(
                f"the model was read without {self.model_.dataset!r}, the graph it learned from. Give the "
                "graph, or save the model with it.",
                "missing", setting="graph",
            )  # fmt: skip
        if own is not None and (graph is None or graph is own.graph):
            return own
        if self._on_other is None or self._on_other[0] is not graph:
            # Where it computes now: a pickle may have come from a machine with another device.
            device = self._device if own is None else str(own.options.device)
            self._on_other = graph, self.model_.on(require_graph(graph), device)
        return self._on_other[1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is known of another graph out of a pickle: it can be computed again."""
        return dict(super().__getstate__()) | {"_on_other": None}

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, from 0 on, and the class of each."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class NodeKernelTransformer(VectorsMixin, NodeKernelEstimator):
    """Learns a kernel on the nodes of a graph, and gives the vectors that it compares.

    Parameters and ``fit`` are those of :class:`NodeKernelClassifier`: it learns from classes y, so that in a
    Pipeline the nodes that are tested must not be among those it is fitted on. Vectors of replicas stand
    side by side, divided by √replicas. Where the base kernel is a dot product (the default), the vectors'
    dot products are K itself; for any other they are what it compares.

    >>> import kernode as kn
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> graph, split = kn.load("cora", split="fastgcn")
    >>> pipeline = make_pipeline(kn.NodeKernelTransformer("n1", epochs=30), SVC())
    >>> y = graph.labels
    >>> pipeline = pipeline.fit(split.train, y[split.train], nodekerneltransformer__graph=graph)
    >>> bool(pipeline.score(split.test, y[split.test]) > 0.7)
    True
    """

    __metadata_request__transform: ClassVar = {"graph": True}

    def transform(self, X: Any, graph: Graph | None = None) -> np.ndarray:
        """Vectors of nodes: m × replicas·d, in the model's precision."""
        known = self._on(graph)
        return known.kernel.vectors(known.find(X))

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> np.ndarray:
        """Learn, then give the vectors of the nodes learned from."""
        # scikit-learn's own would not know that `transform` may do without the graph.
        given = {"graph": graph, "validation": validation, "sample_weight": sample_weight}
        return self.fit(X, y, **given).transform(X)
