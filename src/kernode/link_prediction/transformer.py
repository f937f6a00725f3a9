"""LinkKernelTransformer: the scikit-learn transformer that gives vectors of nodes without any label."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernode.compute.place import Place
from kernode.compute.replicas import PerReplica, RandomState, seed_from, seeds_from
from kernode.data.exchange import is_foreign_graph, require_graph
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.lookup import as_nodes
from kernode.kernels import BaseKernel, NodeKernel
from kernode.link_prediction.experiment import embed_links
from kernode.link_prediction.model_on_graph import LinkModelOnGraph
from kernode.maps import FeatureMap
from kernode.training.checkpoint import Checkpoint
from kernode.training.life_signs import life_signs, with_life_signs
from kernode.training.notebook import ShownInNotebooks
from kernode.training.part_parameters import PartParameters
from kernode.training.run import Run


class LinkKernelTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShownInNotebooks, PartParameters
):
    """Learns a kernel from the links of a graph alone, and gives the vectors that it compares.

    No class is ever read: ``y`` is for scikit-learn, and the graph's own labels change nothing. Every edge
    trains, and all epochs are run. Nodes that are tested later may be there, for their classes are not.

    ``variant``: one of :data:`LINK_VARIANTS`; "embedding" is made for this. The other settings are those of
    :class:`LinkPredictor`. Vectors of replicas stand side by side, divided by √replicas. Where the base
    kernel is a dot product (the default), the vectors' dot products are K itself.

    >>> import kernode as kn
    >>> from sklearn.linear_model import LogisticRegression
    >>> graph, split = kn.load("cora", split="public")  # 20 labels per class
    >>> vectors = kn.LinkKernelTransformer(epochs=10).fit_transform(graph)  # 50, if nothing is said
    >>> vectors.shape
    (2708, 512)
    >>> few = LogisticRegression(C=10).fit(vectors[split.train], graph.labels[split.train])
    >>> bool(few.score(vectors[split.validation], graph.labels[split.validation]) > 0.75)
    True
    """

    # With metadata routing, the graph goes to fit without a set_fit_request.
    __metadata_request__fit = {"graph": True}  # noqa: RUF012 (scikit-learn reads it from the class)

    def __init__(
        self,
        variant: str = "embedding",
        *,
        map: FeatureMap | None = None,
        kernel: BaseKernel | None = None,
        epochs: int | None = None,
        learning_rate: PerReplica | None = None,
        weight_decay: PerReplica | None = None,
        dropout: PerReplica | None = None,
        input_dropout: PerReplica | None = None,
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
    def fit(self, X: Any = None, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Learn from all links of a graph, whatever the nodes X; ``fit(graph)`` and ``fit(graph=graph)`` do.

        X (m names or indices, as a Pipeline passes them on) must be nodes of the graph. y is not looked at.
        """
        if isinstance(X, Graph) or (graph is None and is_foreign_graph(X)):
            if graph is not None:
                raise InputError("the graph is given twice, as X and as graph=. Leave one of them out.")
            X, graph = None, X
        graph = require_graph(graph)
        if X is not None:
            graph.find(as_nodes(X))
        seeds = seeds_from(seed_from(self.random_state), self.replicas)
        place = Place.of(self.precision, self.device)
        run = Run(seeds, place, life_signs(self.verbose), self.checkpoint, threads=self.threads)
        changes = {name: getattr(self, name) for name in self._get_param_names() if name not in self._OWN}
        return self._take(embed_links(graph, self.variant, run, changes=changes).on)

    def _take(self, on: LinkModelOnGraph) -> Self:
        """Become the transformer of a model on the graph whose links it learned."""
        self.model_, self.history_ = on.model, on.model.history
        # random_state=seeds_[0] and threads=threads_ repeat the run; a file does not say its threads.
        self.seeds_, self.threads_ = on.model.seeds, on.model.threads
        self.n_features_in_ = 1  # X is one column: the node
        self._on_graph = on
        self._n_features_out = self.kernel_.vectors(positions([0])).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Vectors of nodes X, or with None of all in the graph's order: m × replicas·d."""
        on = self._fitted()
        return on.kernel.vectors(None if X is None else on.graph.find(as_nodes(X)))

    def fit_transform(self, X: Any, y: Any = None, *, graph: Graph | None = None) -> np.ndarray:
        """Learn, then give the vectors of nodes X; ``fit_transform(graph)`` gives those of all."""
        fitted = self.fit(X, y, graph=graph)
        return fitted.transform(None if graph is None else X)

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) of the learned map on the whole graph: its ``gram`` suits any kernel machine."""
        return self._fitted().kernel

    @property
    def graph_(self) -> Graph:
        """The graph that was learned from."""
        return self._fitted().graph

    def similar(self, nodes: Any, k: int = 10, *, among: Any = None, exact: bool | None = None) -> Any:
        """The k nodes most alike to one: [(node, similarity), …]; of a list of nodes, one such list each.

        ``among``, ``exact``: as :meth:`NodeKernel.similar <kernode.NodeKernel.similar>` takes them.
        """
        return self.kernel_.similar(nodes, k, among=among, exact=exact)

    def save(self, path: str | Path, *, with_graph: bool = False) -> Path:
        """Write the model to one .safetensors file, which :func:`kernode.load_model` reads with its graph.

        ``with_graph``: also the graph, so that whoever reads the file needs no other.
        """
        check_is_fitted(self, "model_")
        return self.model_.save(path, self.graph_ if with_graph else None)

    def _fitted(self) -> LinkModelOnGraph:
        check_is_fitted(self, "model_")
        return self._on_graph

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, from 0 on; the numbers have the model's precision."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        given = tags.input_tags
        given.one_d_array = given.two_d_array = given.string = given.categorical = given.positive_only = True
        return tags
