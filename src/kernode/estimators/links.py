"""LinkPredictor, and LinkKernelTransformer, which gives vectors of nodes without any label."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kernode.errors import InputError, bad_setting
from kernode.estimators.base import KernelEstimator, VectorsMixin, settings_of
from kernode.graph import Graph
from kernode.graph.lookup import as_nodes, as_pairs, require_aligned
from kernode.io.edge_split import EdgeSplit
from kernode.io.exchange import is_foreign_graph, require_graph
from kernode.models.fit import Candidates, fit_candidates
from kernode.models.model import Report
from kernode.models.variants import known_name
from kernode.tasks.links.evaluation import link_report
from kernode.tasks.links.model import LinkModel, LinkModelOnGraph
from kernode.tasks.links.sum import fit_link_sum
from kernode.tasks.links.task import LinkTask, as_links, require_unambiguous, split_pairs
from kernode.tasks.links.variants import AUTO, link_candidates
from kernode.training.settings import advise_more_epochs


class _LinkEstimator(KernelEstimator):
    """Base of both link estimators: a model on the graph of its training edges."""

    model_kind: ClassVar = LinkModel
    auto: ClassVar = AUTO  # what the variant "auto" is

    def _take(self, on: LinkModelOnGraph, split: EdgeSplit, whole: Graph) -> Self:
        """Become the estimator of a model on its training edges, which are all or some of a graph's."""
        self._set_fitted(on.model, on)
        self.split_, self._whole = split, whole
        self.n_features_in_ = 2 if isinstance(self, LinkPredictor) else 1  # the nodes of a pair, or the node
        return self

    @classmethod
    def of_model(cls, model: LinkModel, graph: Graph | None, device: str, path: str | Path) -> _LinkEstimator:
        """The estimator that answers with a model from a file; one of all edges gives vectors."""
        own_split = model.split_seed is None and not model.all_edges
        if graph is None:  # of an own split nothing else has the graph
            graph = model.graph if own_split else model.own_graph()
        if graph is None:
            what = "split.graph, the graph of the edges it was trained on" if own_split else "that graph"
            raise InputError(
                f"{path} was trained on {model.dataset!r}. Give {what}, or save the model with its graph.",
                "missing", setting="graph", path=path,
            )  # fmt: skip
        split = model.split_of(graph)
        kind = LinkKernelTransformer if model.all_edges else LinkPredictor
        settings = settings_of(model, device)
        if model.members:  # the variant has them
            settings |= dict.fromkeys(("map", "kernel", "loss"))
            settings["training"] = {"precision": model.precision}
        estimator = kind(model.variant or "kernel", **settings)
        return estimator._take(model.on(split, device), split, graph)

    def methods(self, dataset: str = "") -> Candidates:
        """The method that the parameters stand for, with its training settings, by the variant's name."""
        if self.scoring not in (None, "roc_auc"):
            raise InputError(
                f"links are chosen by validation AUC: leave out scoring. Got {self.scoring!r}.",
                "setting", setting="scoring", value=self.scoring,
            )  # fmt: skip
        if self.threshold is not None:
            raise InputError(
                "a threshold is for classes of nodes: leave it out.", "no-effect", setting="threshold"
            )
        variant = self.auto if str(self.variant).lower() == AUTO else self.variant
        return link_candidates(variant, dataset, self._changes)

    @property
    def graph_(self) -> Graph:
        """The graph that was learned from, held-out edges included."""
        self._on()
        return self._whole

    def report(self) -> Report:
        """The report of the fit: figures of the test edges, where there are any, and baselines, in percent.

        The baselines are edges alone (Adamic-Adar) and features alone (cosine), which know the training
        edges and learn nothing.
        """
        return link_report(self._on(), self.split_)


class LinkPredictor(ClassifierMixin, _LinkEstimator):
    """Learns which pairs of nodes are linked.

    ``variant``: "auto", a sum of kernels with weights by the validation edges; "fast", one learned kernel,
    trained while validation rises; "kernel", the same for all of its epochs; a member of the sum; or a
    baseline, "gae" or "vgae" (Kipf & Welling 2016). ``map`` and ``kernel`` take the place of its parts, and a
    map without a width gets the variant's; with a map, "auto" is "fast". The other parameters are those of
    :class:`NodeKernelClassifier`; None leaves one as the variant has it.

    ``fit(graph)`` holds out 5 % of the edges to choose the epoch and 10 % to test; an
    :class:`~kernode.io.edge_split.EdgeSplit` of your own does in its place. Held-out edges never reach
    the operator.

    ``fit(pairs, y, graph=graph)`` is scikit-learn's form, for cross_val_score and GridSearchCV: the pairs
    with y = 1 are all the edges that are seen, whatever others the graph has.

    >>> import kernode as kn
    >>> graph, _ = kn.load("cora")
    >>> links = kn.LinkPredictor(epochs=20).fit(graph)
    >>> links.evaluate()["auc"] > 85
    True
    >>> len(links.missing_links("35", k=3)), links.score_pairs([("35", "40"), ("35", "114")]).shape
    (3, (2,))
    >>> links.predict_proba([("35", "40")]).shape, links.kernel_.gram(["35", "40"]).shape
    ((1, 2), (2, 2))
    """

    def fit(self, X: Any, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Learn from a graph or an EdgeSplit X; or from pairs X (m × 2 names or indices) of a graph.

        ``y`` is 1 where a pair is linked and 0 where not; without it all pairs are linked. The graph gives
        nodes, features and the weights of linked pairs. A seeded 5 % of these choose the epoch.
        """
        dataset = ""
        if isinstance(X, Graph | EdgeSplit):
            if y is not None or graph is not None:
                raise InputError(
                    "y and graph belong to pairs. Leave them out with a graph.", "conflict", setting="y"
                )
            run = self._run()
            task = LinkTask(X.graph, X, run) if isinstance(X, EdgeSplit) else LinkTask.of_graph(X, run)
            if isinstance(X, Graph) and run.seeds[0] == 0:  # the search has seen other splits' test edges
                dataset = known_name(X)
        else:
            task = self._pairs_task(X, y, graph)
        methods = self.methods(dataset)
        if len(methods) > 1:
            on = fit_link_sum(task, methods).with_metadata(variant=AUTO)
        else:
            on = fit_candidates(task, methods)
        advise_more_epochs(on.model, "auc")
        return self._take(on, task.split, task.whole)

    def _pairs_task(self, X: Any, y: Any, graph: Graph | None) -> LinkTask:
        if isinstance(X, str):
            raise bad_setting("X", "a kernode.Graph or an EdgeSplit, or pairs", X)
        if graph is None and is_foreign_graph(X):
            require_graph(X)
        require_aligned(X, y=y)
        linked = None if y is None else as_links(y)
        pairs, graph, run = as_pairs(X), require_graph(graph), self._run()
        require_unambiguous(graph, pairs, linked)
        split, others = split_pairs(graph, graph.find(pairs), linked, run.seeds[0])
        return LinkTask(split.graph, split, run, others, known_graph=graph)

    def _take(self, on: LinkModelOnGraph, split: EdgeSplit, whole: Graph) -> Self:
        self.classes_ = np.array([0, 1])
        return super()._take(on, split, whole)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of no link and of a link, the mean over replicas: m × 2 for pairs (m × 2)."""
        linked = self.score_pairs(X)
        return np.stack([1 - linked, linked], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """log-odds of a link, log p / (1 − p): m numbers, above 0 where :meth:`predict` gives 1."""
        return self._on().log_odds(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for each pair whose link is likelier than not, else 0."""
        likelier = self.decision_function(X) > 0
        return self.classes_[likelier.astype(int)]

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link between the two nodes of each pair (m × 2), the mean over replicas."""
        return self._on().score_pairs(pairs)

    def missing_links(self, node: Any = None, k: int = 10) -> list[tuple[Any, ...]]:
        """The k likeliest node pairs without an edge: [(other, probability), …] of a node.

        Without a node, of the whole graph: [(node, other, probability), …], each pair once. No edge is ever
        among them, whether it trained or was held out. Exact: every pair is scored, in blocks of rows. Of
        equally likely ones those with the smaller indices come first. Nodes have their names where the graph
        has names.
        """
        return self._on().missing_links(node, k)

    def evaluate(self, edges: Any = None, negatives: Any = None) -> dict[str, float]:
        """AUC, AP, Hits@k and MRR in percent, the mean over replicas; by default on the test edges."""
        model = self._on()
        if not len(self.split_.test) and (edges is None or negatives is None):
            raise InputError(
                "no test edges were held out. Pass edges and negatives to evaluate.",
                "missing",
                setting="edges",
            )
        edges = self.split_.test if edges is None else edges
        negatives = self.split_.test_negatives if negatives is None else negatives
        runs = model.evaluate(edges, negatives)
        return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}

    def __sklearn_tags__(self) -> Any:
        """Two columns of names or indices, from 0 on; two classes, and y may be missing."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.input_tags.one_d_array = False
        tags.classifier_tags.multi_class = False
        return tags


class LinkKernelTransformer(VectorsMixin, _LinkEstimator):
    """Learns a kernel from the links of a graph alone, and gives the vectors that it compares.

    No class is ever read: ``y`` is for scikit-learn, and the graph's own labels change nothing. Every edge
    trains, and all epochs are run. Nodes that are tested later may be there, for their classes are not.

    ``variant``: one of :data:`LINK_VARIANTS`; "auto" is "embedding" here. The other parameters are those of
    :class:`LinkPredictor`. Vectors of replicas stand side by side, divided by √replicas. Where the base
    kernel is a dot product (the default), the vectors' dot products are K itself.

    >>> import kernode as kn
    >>> from sklearn.linear_model import LogisticRegression
    >>> graph, split = kn.load("cora", split="public")  # 20 labels per class
    >>> vectors = kn.LinkKernelTransformer(epochs=10).fit_transform(graph)  # 50 by default
    >>> vectors.shape
    (2708, 512)
    >>> few = LogisticRegression(C=10).fit(vectors[split.train], graph.labels[split.train])
    >>> bool(few.score(vectors[split.validation], graph.labels[split.validation]) > 0.75)
    True
    """

    auto: ClassVar = "embedding"

    def fit(self, X: Any = None, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Learn from all links of a graph, whatever the nodes X; ``fit(graph)`` and ``fit(graph=graph)`` do.

        X (m names or indices, as a Pipeline passes them on) must be nodes of the graph. y is not used.
        """
        if isinstance(X, Graph) or (graph is None and is_foreign_graph(X)):
            if graph is not None:
                raise InputError(
                    "the graph is given twice, as X and as graph. Leave one of them out.",
                    "duplicate",
                    setting="graph",
                )
            X, graph = None, X
        graph = require_graph(graph)
        if X is not None:
            graph.find(as_nodes(X))
        task = LinkTask.of_all_edges(graph, self._run())
        on = fit_candidates(task, self.methods())
        return self._take(on, task.split, graph)

    def methods(self, dataset: str = "") -> Candidates:
        """The method of the parameters, trained to its last epoch: no edge is left to choose by."""
        training = self._changes.get("training", {})
        for name in ("selection", "patience", "stopping") if isinstance(training, Mapping) else ():
            if training.get(name) not in (None, "last"):
                raise InputError(
                    f"{name} has no effect where all edges train: none is left to choose an epoch by.",
                    "no-effect", setting=name,
                )  # fmt: skip
        found = super().methods().items()
        return {name: (method, training.without_selection()) for name, (method, training) in found}

    def transform(self, X: Any) -> np.ndarray:
        """Vectors of nodes X, or with None of all in the graph's order: m × replicas·d."""
        on = self._on()
        return on.kernel.vectors(None if X is None else on.graph.find(as_nodes(X)))

    def fit_transform(self, X: Any, y: Any = None, *, graph: Graph | None = None) -> np.ndarray:
        """Learn, then give the vectors of nodes X; ``fit_transform(graph)`` gives those of all."""
        return self.fit(X, y, graph=graph).transform(None if graph is None else X)

    def similar(self, nodes: Any, k: int = 10, *, among: Any = None, exact: bool = True) -> Any:
        """The k nodes most similar to one: [(node, similarity), …]; of a list of nodes, one such list each.

        ``among``, ``exact``: as :meth:`NodeKernel.similar <kernode.NodeKernel.similar>` takes them.
        """
        return self.kernel_.similar(nodes, k, among=among, exact=exact)
