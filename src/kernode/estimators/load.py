"""Read a model from a file, as the estimator that answers with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernode.estimators.base import KernelEstimator
from kernode.estimators.classifier import NodeKernelClassifier
from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
from kernode.estimators.regressor import NodeKernelRegressor
from kernode.graph import Graph
from kernode.io.exchange import require_graph
from kernode.models.file import read_model
from kernode.models.model import Model


def load_model(
    path: str | Path, graph: Graph | None = None, device: str = "cpu"
) -> NodeKernelClassifier | NodeKernelRegressor | LinkPredictor | LinkKernelTransformer:
    """Read a model that an estimator's ``save``, ``kernode fit`` or ``kernode links`` wrote.

    Without ``graph`` it is the one in the file, where it was saved ``with_graph``, or a built-in data set,
    which is found by its name. A classifier of any other then has no graph: give one to
    ``predict(nodes, graph=…)``; a model of links needs the graph it was fitted on. One of all links is a
    :class:`LinkKernelTransformer`.

    A model of tables reads others by ``read_table(edges, nodes, like=load_model(path))``.
    """
    graph, model = None if graph is None else require_graph(graph), read_model(path)
    return as_estimator(model, graph, device, path)


def as_estimator(
    model: Model, graph: Graph | None = None, device: str = "cpu", path: str | Path = "the model"
) -> NodeKernelClassifier | NodeKernelRegressor | LinkPredictor | LinkKernelTransformer:
    """The estimator that answers with a model, on a graph or on its own."""
    found: Any = KernelEstimator.by_model[type(model)].of_model(model, graph, device, path)
    return found
