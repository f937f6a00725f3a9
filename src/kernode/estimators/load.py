"""Read a model from a file, as the estimator that answers with it."""

from __future__ import annotations

from pathlib import Path

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.estimators.base import settings_of
from kernode.estimators.classifier import NodeKernelClassifier
from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
from kernode.graph import Graph
from kernode.io import load_graph
from kernode.io.exchange import require_graph
from kernode.io.registry import is_registered
from kernode.models.file import read_model
from kernode.models.model import Model
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.links.model import LinkModel


def load_model(
    path: str | Path, graph: Graph | None = None, device: str = "cpu"
) -> NodeKernelClassifier | LinkPredictor | LinkKernelTransformer:
    """Read a model that an estimator's ``save``, ``kernode fit`` or ``kernode links`` wrote.

    Without ``graph`` it is the one in the file, where it was saved ``with_graph``, or a built-in data set,
    which is found by its name. A classifier of any other then knows none: ask about one with
    ``predict(nodes, graph=…)``; a model of links needs the graph it was fitted on. One of all links is a
    :class:`LinkKernelTransformer`.

    A model of tables reads others by ``read_table(edges, nodes, like=load_model(path))``.
    """
    graph, model = None if graph is None else require_graph(graph), read_model(path)
    return as_estimator(model, graph, device, path)


def as_estimator(
    model: Model, graph: Graph | None = None, device: str = "cpu", path: str | Path = "the model"
) -> NodeKernelClassifier | LinkPredictor | LinkKernelTransformer:
    """The estimator that answers with a model, on a graph or on its own."""
    if isinstance(model, LinkModel):
        return _of_links(model, path, graph, device)
    assert isinstance(model, NodeModel)
    graph = own_graph(model) if graph is None else graph
    estimator = NodeKernelClassifier(model.variant or "k3", **settings_of(model, device))
    device = str(Place.of(model.precision, device).device)
    return estimator._become(model, device, None if graph is None else model.on(graph, device))


def _of_links(
    model: LinkModel, path: str | Path, graph: Graph | None, device: str
) -> LinkPredictor | LinkKernelTransformer:
    own_split = model.split_seed is None and not model.all_edges
    if graph is None:  # of an own split nothing else has the graph
        graph = model.graph if own_split else own_graph(model)
    if graph is None:
        what = "split.graph, the graph of the edges it was trained on" if own_split else "that graph"
        raise InputError(
            f"{path} was trained on {model.dataset!r}. Give {what}, or save the model with its graph.",
            "missing", setting="graph", path=path,
        )  # fmt: skip
    split = model.split_of(graph)
    kind = LinkKernelTransformer if model.all_edges else LinkPredictor
    estimator = kind(model.variant or "kernel", **settings_of(model, device))
    return estimator._take(model.on(split, device), split, graph)


def own_graph(model: Model) -> Graph | None:
    """The graph that a model holds, or the built-in one that it was trained on; None: it must be given.

    A graph of one's own may be called cora, too: what has another fingerprint is not its graph.
    """
    if model.graph is not None or not is_registered(model.dataset):
        return model.graph
    found = load_graph(model.dataset)
    return found if found.fingerprint == model.fingerprint else None
