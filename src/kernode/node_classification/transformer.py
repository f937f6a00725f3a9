"""NodeKernelTransformer: the scikit-learn transformer that gives the learned vectors of nodes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kernode.graph import Graph, positions
from kernode.node_classification.estimator import NodeKernelEstimator


class NodeKernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NodeKernelEstimator):
    """Learns a kernel on the nodes of a graph, and gives the vectors that it compares.

    Settings and ``fit`` are those of :class:`NodeKernelClassifier`: it learns from classes y, so that in a
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

    __metadata_request__transform = {"graph": True}  # noqa: RUF012

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: Graph | None = None,
        validation: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from nodes X (m names or indices of the graph) and their classes y.

        ``validation``, ``sample_weight``: as :class:`NodeKernelClassifier` takes them.
        """
        super().fit(X, y, graph=graph, validation=validation, sample_weight=sample_weight)
        self._n_features_out = self.kernel_.vectors(positions([0])).shape[1]
        return self

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

    def __sklearn_tags__(self) -> Any:
        """The numbers have the model's precision, whatever the indices have."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
