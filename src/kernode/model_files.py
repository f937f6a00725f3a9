"""Back from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernode.compute.place import Place
from kernode.data import load_graph
from kernode.data.registry import is_registered
from kernode.graph import Graph
from kernode.node_classification.classifier import NodeKernelClassifier
from kernode.node_classification.model import Model


def load_model(path: str | Path, graph: Graph | None = None, device: str = "cpu") -> NodeKernelClassifier:
    """Read a model that an estimator's ``save`` or ``kernode fit`` wrote.

    The graph of a built-in data set is found by its name. Without ``graph`` a model of any other knows none:
    ask about one with ``predict(nodes, graph=…)``. A model of tables reads others by
    ``read_table(edges, nodes, like=load_model(path))``.
    """
    model = Model.load(path)
    if graph is None and is_registered(model.dataset):
        graph = load_graph(model.dataset)
    settings = {
        name: value
        for piece in (model.method, model.training)
        for name, value in vars(piece).items()
        if name in NodeKernelClassifier._get_param_names()
    }
    estimator = NodeKernelClassifier(
        model.labels_of_choice.get("variant", "k3"),
        **settings,
        replicas=len(model.seeds),
        random_state=model.seeds[0],
        precision=model.precision,
        device=device,
    )
    place = Place.of(model.precision, device)
    return estimator._take(model, np.array(model.classes), graph, place.device.type)
