"""LinkPredictor: the scikit-learn estimator that predicts links."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernode.compute.place import Place
from kernode.compute.replicas import PerReplica, RandomState, seed_from, seeds_from
from kernode.data.edge_split import EdgeSplit
from kernode.data.exchange import is_foreign_graph, require_graph
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.lookup import as_pairs, require_aligned
from kernode.kernels import BaseKernel, NodeKernel
from kernode.link_prediction.baselines import link_baselines
from kernode.link_prediction.experiment import advise_longer_training, tuned_name
from kernode.link_prediction.fitting import fit_links
from kernode.link_prediction.model_on_graph import LinkModelOnGraph
from kernode.link_prediction.task import LinkTask, as_links, require_one_reading, split_pairs
from kernode.link_prediction.variants import configure_links
from kernode.maps import FeatureMap
from kernode.training.checkpoint import Checkpoint
from kernode.training.life_signs import life_signs, with_life_signs
from kernode.training.notebook import ShownInNotebooks
from kernode.training.part_parameters import PartParameters
from kernode.training.run import Run
from kernode.version import versions


class LinkPredictor(ClassifierMixin, ShownInNotebooks, PartParameters):
    """Learns which pairs of nodes are linked.

    ``variant``: "auto", the learned kernel, trained while validation rises; "kernel", the same for all of its
    epochs; or a baseline, "gae" or "vgae" (Kipf & Welling 2016). ``map`` and ``kernel`` take the place of its
    parts, and a map without a width gets the variant's. The other settings are those of
    :class:`NodeKernelClassifier`; None leaves one as the variant has it.

    ``fit(graph)`` holds out 5 % of the edges to choose the epoch and 10 % to test; an
    :class:`~kernode.data.edge_split.EdgeSplit` of your own does in its place. Held-out edges never reach
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

    # With metadata routing, the graph goes to fit without a set_fit_request.
    __metadata_request__fit = {"graph": True}  # noqa: RUF012 (scikit-learn reads it from the class)

    def __init__(
        self,
        variant: str = "auto",
        *,
        map: FeatureMap | None = None,
        kernel: BaseKernel | None = None,
        epochs: int | None = None,
        learning_rate: PerReplica | None = None,
        weight_decay: PerReplica | None = None,
        dropout: PerReplica | None = None,
        input_dropout: PerReplica | None = None,
        selection: Literal["best", "last"] | None = None,
        patience: int | None = None,
        averaging: float | None = None,
        replicas: int = 1,
        random_state: RandomState = 0,
        precision: int = 32,
        device: str = "auto",
        checkpoint: Checkpoint | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.variant = variant
        self.map = map
        self.kernel = kernel
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.selection = selection
        self.patience = patience
        self.averaging = averaging
        self.replicas = replicas
        self.random_state = random_state
        self.precision = precision
        self.device = device
        self.checkpoint = checkpoint
        self.threads = threads
        self.verbose = verbose

    _PARTS = {"map": FeatureMap, "kernel": BaseKernel}  # noqa: RUF012
    _OWN = ("variant", "replicas", "random_state", "precision", "device", "checkpoint", "threads", "verbose")

    @with_life_signs
    def fit(self, X: Any, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Learn from a graph or an EdgeSplit X; or from pairs X (m × 2 names or indices) of a graph.

        ``y`` is 1 where a pair is linked and 0 where not; without it all pairs are linked. The graph gives
        nodes, features and the weights of linked pairs. A seeded 5 % of these choose the epoch.
        """
        if isinstance(X, Graph | EdgeSplit):
            if y is not None or graph is not None:
                raise InputError("y and graph= belong to pairs. Leave them out beside a graph.")
            run = self._run()
            if isinstance(X, EdgeSplit):
                return self._fit(LinkTask(X.graph, X, run))
            return self._fit(LinkTask.of_graph(X, run), tuned_name(X, run.seeds[0]))
        if isinstance(X, str):
            raise InputError(f"graph must be a kernode.Graph or an EdgeSplit, or pairs. Got {X!r}.")
        if graph is None and is_foreign_graph(X):
            require_graph(X)
        require_aligned(X, y=y)
        linked = None if y is None else as_links(y)
        pairs = as_pairs(X)
        graph = require_graph(graph)
        run = self._run()
        require_one_reading(graph, pairs, linked)
        split, others = split_pairs(graph, graph.find(pairs), linked, run.seeds[0])
        return self._fit(LinkTask(split.graph, split, run, others, beside=graph))

    def _run(self) -> Run:
        seeds = seeds_from(seed_from(self.random_state), self.replicas)
        place = Place.of(self.precision, self.device)
        return Run(seeds, place, life_signs(self.verbose), self.checkpoint, threads=self.threads)

    def _fit(self, task: LinkTask, dataset: str = "") -> Self:
        changes = {name: getattr(self, name) for name in self._get_param_names() if name not in self._OWN}
        method, training = configure_links(self.variant, dataset, **changes)
        on = fit_links(task, method, training, self.variant.lower())
        advise_longer_training(on.model)
        return self._take(on, task.split, task.whole)

    def _take(self, on: LinkModelOnGraph, split: EdgeSplit, whole: Graph) -> Self:
        """Become the estimator of a model on its training edges, which are all or some of a graph's."""
        self.model_, self.split_, self.history_ = on.model, split, on.model.history
        # random_state=seeds_[0] and threads=threads_ repeat the run; a file does not say its threads.
        self.seeds_, self.threads_ = on.model.seeds, on.model.threads
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 2  # X is two columns: the nodes of a pair
        self._on_graph, self._whole = on, whole
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of no link and of a link, the mean over runs: m × 2 for pairs (m × 2)."""
        linked = self.score_pairs(X)
        return np.stack([1 - linked, linked], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """log-odds of a link, log p / (1 − p): m numbers, above 0 where :meth:`predict` says 1."""
        return self._fitted().log_odds(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for each pair whose link is likelier than not, else 0."""
        likelier = self.decision_function(X) > 0
        return self.classes_[likelier.astype(int)]

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link between the two nodes of each pair (m × 2), the mean over runs."""
        return self._fitted().score_pairs(pairs)

    def missing_links(self, node: Any = None, k: int = 10) -> list[tuple[Any, ...]]:
        """The k likeliest pairs that are no edges: [(other, probability), …] of a node.

        Without a node, of the whole graph: [(node, other, probability), …], each pair once. No edge is ever
        among them, whether it trained or was held out. Exact: every pair is looked at, in blocks of rows. Of
        equally likely ones those with the smaller indices come first. Nodes have their names where the graph
        has names.
        """
        return self._fitted().missing_links(node, k)

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) of the learned map on the training edges: its ``gram`` and ``vectors`` suit any machine."""
        return self._fitted().kernel

    def evaluate(self, edges: Any = None, negatives: Any = None) -> dict[str, float]:
        """AUC, AP, Hits@k and MRR in percent, the mean over runs; by default on the held-out test edges."""
        model = self._fitted()
        if not len(self.split_.test) and (edges is None or negatives is None):
            raise InputError("no test edges were held out. Pass edges and negatives to evaluate.")
        edges = self.split_.test if edges is None else edges
        negatives = self.split_.test_negatives if negatives is None else negatives
        runs = model.evaluate(edges, negatives)
        return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}

    def report(self) -> dict[str, Any]:
        """All that judges the answers: "test" (:meth:`evaluate`), "baselines" on the same edges, "versions".

        The baselines are edges alone (Adamic-Adar) and features alone (cosine), which know the training
        edges and learn nothing.
        """
        return {"test": self.evaluate(), "baselines": link_baselines(self.split_), "versions": versions()}

    def save(self, path: str | Path, *, with_graph: bool = False) -> Path:
        """Write the model to one .safetensors file, which :func:`kernode.load_model` reads with its graph.

        ``with_graph``: also the graph, so that whoever reads the file needs no other.
        """
        check_is_fitted(self, "model_")
        return self.model_.save(path, self._whole if with_graph else None)

    def _fitted(self) -> LinkModelOnGraph:
        check_is_fitted(self, "model_")
        return self._on_graph

    def __sklearn_tags__(self) -> Any:
        """Two columns of names or indices, from 0 on; two classes, and y may be missing."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.classifier_tags.multi_class = False
        given = tags.input_tags
        given.string = given.categorical = given.positive_only = True
        return tags
