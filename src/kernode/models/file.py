"""Model files: tensors with metadata. Files of earlier versions are read, too."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.stack import under_prefix
from kernode.graph import Graph
from kernode.io.npz import graph_from_tensors, graph_to_tensors
from kernode.maps.former import current_parameters
from kernode.models.model import Model
from kernode.storage import complete, read_tensors, require_known, write_tensors
from kernode.version import __version__


def write_model(model: Model, path: str | Path, graph: Graph | None = None) -> Path:
    """Write one .safetensors file, with a graph in it if one is given; the same training, the same bytes."""
    values = {one: getattr(model, one.name) for one in fields(model)}
    arrays: dict[str, Any] = {f"history.{name}": value for name, value in model.history.items()}
    arrays |= {one.name: value for one, value in values.items() if "array" in one.metadata}
    # Copies of arrays: splits are read-only.
    tensors = {
        name: torch.from_numpy(np.array(value, order="C"))
        for name, value in arrays.items()
        if value is not None
    }
    tensors |= {f"parameters.{name}": value for name, value in model.parameters.items()}
    facts = {
        one.metadata["fact"] or one.name: _plain(value)
        for one, value in values.items()
        if "fact" in one.metadata and not (value is None or value is False or value == ())
    }
    if graph is not None:
        tensors |= {f"graph.{name}": tensor for name, tensor in graph_to_tensors(graph).items()}
        facts["graph"] = graph.fingerprint
    return write_tensors(path, model.kind, tensors, facts | {"kernode": __version__})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value


def read_model(path: str | Path, kind: type[Model] = Model) -> Model:
    """Read a model of a kind, or of any whose task is imported (``kernode.tasks``)."""
    kinds = [name for name, one in Model.kinds.items() if issubclass(one, kind)]
    tensors, facts = read_tensors(path, *kinds)
    found = Model.kinds[facts["kind"]]
    with complete(Path(path)):
        facts = found.upgraded(facts)
        known = {one.metadata["fact"] or one.name for one in fields(found) if "fact" in one.metadata}
        require_known(facts, frozenset(known | {"graph"}))
        model = _model(found, tensors, facts, Path(path))
        model.check()
        return model


def _model(kind: type[Model], tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> Model:
    values: dict[str, Any] = {}
    for one in fields(kind):
        if "array" in one.metadata and (one.name in tensors or one.default is MISSING):
            values[one.name] = tensors[one.name].numpy()
        if "fact" in one.metadata:
            key, read = one.metadata["fact"] or one.name, one.metadata.get("read")
            value = facts[key] if one.default is MISSING else facts.get(key)
            if value is not None:
                values[one.name] = read(value) if read else value
    graph = under_prefix(tensors, "graph.")
    return kind(
        **values,
        parameters=current_parameters(facts["method"], under_prefix(tensors, "parameters.")),
        history={name: value.numpy() for name, value in under_prefix(tensors, "history.").items()},
        graph=graph_from_tensors(graph, path, facts["graph"]) if "graph" in facts else None,
    )


def require_nodes(name: str, nodes: np.ndarray, replicas: int) -> None:
    """Raise unless nodes are positions, the same for all replicas or for each its own: q × m."""
    if nodes.ndim != 2 or nodes.dtype.kind != "i" or len(nodes) not in (1, replicas) or (nodes < 0).any():
        raise ValueError(f"{name} are not lists of nodes")
