"""Back from a file: every model that kernode writes, as the estimator that answers with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import load_graph
from kernode.io.exchange import require_graph
from kernode.io.registry import is_registered
from kernode.link_prediction import model_file as link_file
from kernode.link_prediction.estimator import LinkPredictor
from kernode.link_prediction.model import LinkModel
from kernode.link_prediction.transformer import LinkKernelTransformer
from kernode.node_classification import model_file as node_file
from kernode.node_classification.classifier import NodeKernelClassifier
from kernode.node_classification.model import Model
from kernode.storage import read_tensors

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


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
    graph = None if graph is None else require_graph(graph)
    tensors, facts = read_tensors(path, node_file.KIND, link_file.KIND)
    if facts["kind"] == link_file.KIND:
        return _of_links(link_file.as_link_model(tensors, facts, Path(path)), path, graph, device)
    return _classifier(node_file.as_model(tensors, facts, Path(path)), graph, device)


def _classifier(model: Model, graph: Graph | None, device: str) -> NodeKernelClassifier:
    graph = own_graph(model) if graph is None else graph
    estimator = NodeKernelClassifier(model.variant or "k3", **_settings(model, NodeKernelClassifier, device))
    device = str(Place.of(model.precision, device).device)
    classes = np.array(model.classes)
    if graph is None:
        return estimator._become(model, classes, device)
    return estimator._take(model.on(graph, device), classes)


def _of_links(
    model: LinkModel, path: str | Path, graph: Graph | None, device: str
) -> LinkPredictor | LinkKernelTransformer:
    own_split = model.split_seed is None and not model.all_edges
    if graph is None:  # of an own split nobody else has the graph
        graph = model.graph if own_split else own_graph(model)
    if graph is None:
        what = (
            "graph=, the graph it was fitted on"
            if not own_split
            else "graph=split.graph, the graph of the edges it was trained on"
        )
        raise InputError(
            f"{path} was trained on {model.dataset!r}. Pass {what}; save(…, with_graph=True) keeps it "
            "in the file."
        )
    split = model.split_of(graph)
    if model.all_edges:
        settings = _settings(model, LinkKernelTransformer, device)
        return LinkKernelTransformer(model.variant or "embedding", **settings)._take(model.on(split, device))
    estimator = LinkPredictor(model.variant or "kernel", **_settings(model, LinkPredictor, device))
    return estimator._take(model.on(split, device), split, graph)


def own_graph(model: Model | LinkModel) -> Graph | None:
    """The graph that a model holds, or the built-in one that it was trained on; None: it must be given.

    A file of somebody's own may be called cora, too: what has another fingerprint is not its graph.
    """
    if model.graph is not None or not is_registered(model.dataset):
        return model.graph
    found = load_graph(model.dataset)
    return found if found.fingerprint == model.fingerprint else None


def _settings(model: Model | LinkModel, kind: type[BaseEstimator], device: str) -> dict[str, Any]:
    """An estimator's settings, as far as a model says what they were."""
    method: Any = model.method
    loss = getattr(method, "loss", None)
    parts = (model.training, loss, getattr(loss, "kernel", None), getattr(loss, "softmax", None), method)
    known = {name: value for part in parts if part is not None for name, value in vars(part).items()}
    known["kernel_loss"] = getattr(loss, "kernel", loss) if "triplets" in known else None
    known["objective"] = getattr(loss, "objective", None)
    ignored = method.ignored_settings | model.training.ignored_settings
    return {
        **{name: known[name] for name in kind._get_param_names() if name in known and name not in ignored},
        "replicas": len(model.seeds),
        "random_state": model.seeds[0],
        "precision": model.precision,
        "device": device,
    }
