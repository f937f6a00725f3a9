"""A model's index of a graph's nodes, in a file beside the model's.

It belongs to one model and one graph, and says which: by digests of what was learned and of edges and
features, not of the vectors, whose last bits depend on threads and devices.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kernode.kernels.index import NodeIndex
from kernode.maps.former import former_json
from kernode.node_classification.model_on_graph import ModelOnGraph


def index_path(model: str | Path) -> Path:
    """Where the index of a model's file is.

    >>> index_path("models/cora.safetensors").as_posix()
    'models/cora.index'
    """
    return Path(model).with_suffix(".index")


def save_index(on: ModelOnGraph, path: str | Path) -> Path:
    """Write the index of a model on a graph, made where there is none yet."""
    return on.kernel.directions.index.save(path, owner(on))


def load_index(on: ModelOnGraph, path: str | Path) -> None:
    """Have a model on a graph use its index; one of another model or graph is refused."""
    kernel = on.kernel.directions
    kernel.keep_index(NodeIndex.read(path, kernel, owner(on)))


def owner(on: ModelOnGraph) -> dict[str, str]:
    """Which model and which graph something was made of: digests of both."""
    model = on.model
    digest = hashlib.sha256(json.dumps(former_json(model.method.to_json()), sort_keys=True).encode())
    for name, value in sorted(model.parameters.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return {"model": digest.hexdigest(), "graph": on.graph.fingerprint}
