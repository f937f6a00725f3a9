"""The file of a model: tensors, and facts about them. Files of earlier versions are read, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.stack import part
from kernode.config import Config
from kernode.graph import Graph
from kernode.io.npz import graph_from_tensors, graph_to_tensors
from kernode.io.tables.encoding import Encoding
from kernode.maps.former import current_parameters
from kernode.models.model import Model
from kernode.storage import complete, read_tensors, require_known, write_tensors
from kernode.training.settings import Training
from kernode.version import __version__

_FACTS = ("seeds", "precision", "dataset", "fingerprint", "variant")  # plain fields of every model
_OTHERS = ("method", "training", "encoding", "graph")


def write_model(model: Model, path: str | Path, graph: Graph | None = None) -> Path:
    """Write one .safetensors file, with a graph in it if one is given; the same training, the same bytes."""
    arrays: dict[str, Any] = {f"history.{name}": value for name, value in model.history.items()}
    arrays |= {"kept_epochs": model.kept_epochs, **model.own_arrays()}
    # Copies of arrays: splits are read-only.
    tensors = {
        name: value if isinstance(value, Tensor) else torch.from_numpy(np.array(value, order="C"))
        for name, value in arrays.items()
        if value is not None
    }
    tensors |= {f"parameters.{name}": value for name, value in model.parameters.items()}
    facts = {
        "kernode": __version__,
        "method": model.method.to_json(),
        "training": model.training.to_json(),
        **{name: getattr(model, name) for name in _FACTS},
        **model.own_facts(),
    }
    if model.encoding is not None:
        facts["encoding"] = model.encoding.to_json()
    if graph is not None:
        tensors |= {f"graph.{name}": tensor for name, tensor in graph_to_tensors(graph).items()}
        facts["graph"] = graph.fingerprint
    return write_tensors(path, model.kind, tensors, facts)


def read_model(path: str | Path, kind: type[Model] = Model) -> Model:
    """Read a model of a kind, or of any whose task is imported (``kernode.tasks``)."""
    kinds = [name for name, one in Model.kinds.items() if issubclass(one, kind)]
    tensors, facts = read_tensors(path, *kinds)
    found = Model.kinds[facts["kind"]]
    with complete(Path(path)):
        facts = found.upgraded(facts)
        model = _model(found, tensors, facts, Path(path))
        require_known(facts, frozenset((*_FACTS, *_OTHERS, *model.own_facts(), *found.optional_facts)))
        _check(model)
        return model


def _model(kind: type[Model], tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> Model:
    held = graph_from_tensors(part(tensors, "graph."), path, facts["graph"]) if "graph" in facts else None
    common = {name: facts[name] for name in _FACTS}
    return kind(
        **common | {"seeds": tuple(facts["seeds"])},
        method=Config.from_json(facts["method"]),
        training=Training.from_json(facts["training"]),
        parameters=current_parameters(facts["method"], part(tensors, "parameters.")),
        kept_epochs=tensors["kept_epochs"].numpy() if "kept_epochs" in tensors else None,
        history={name: value.numpy() for name, value in part(tensors, "history.").items()},
        encoding=Encoding.from_json(facts["encoding"]) if "encoding" in facts else None,
        graph=held,
        **kind.own_fields(tensors, facts),
    )


def _check(model: Model) -> None:
    """Raise unless seeds, parameters and kept epochs are of equally many replicas."""
    r = len(model.seeds)
    if not r or not all(type(seed) is int for seed in model.seeds):
        raise ValueError("seeds are not a list of integers")
    if model.precision not in (32, 64):
        raise ValueError(f"precision is {model.precision!r}")
    for name in ("dataset", "fingerprint", "variant"):
        if not isinstance(getattr(model, name), str):
            raise ValueError(f"{name} is not text")
    for name, value in model.parameters.items():
        if not value.dim() or len(value) != r:
            raise ValueError(f"{name} has not a part for each of {r} replicas")
        if value.isnan().any():  # a module's buffer may well be infinite
            raise ValueError(f"{name} has NaN values")
    if model.kept_epochs is not None and model.kept_epochs.shape != (r,):
        raise ValueError("kept_epochs are not one for each replica")
    model.check()


def require_nodes(name: str, nodes: np.ndarray, replicas: int) -> None:
    """Raise unless nodes are positions, the same for all replicas or for each its own: q × m."""
    if nodes.ndim != 2 or nodes.dtype.kind != "i" or len(nodes) not in (1, replicas) or (nodes < 0).any():
        raise ValueError(f"{name} are not lists of nodes")
