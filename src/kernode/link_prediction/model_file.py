"""What a link predictor's file holds: tensors, and facts about them. Earlier files are read, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.stack import part
from kernode.graph import Graph
from kernode.io.npz import graph_from_tensors, graph_to_tensors
from kernode.io.tables.columns import Encoding
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.model import LinkModel
from kernode.storage import complete, read_tensors, require_known, write_tensors
from kernode.training.file_checks import require_nodes, require_runs
from kernode.training.settings import Training
from kernode.version import __version__

KIND = "link predictor"
_FACTS = frozenset(
    {
        *("method", "training", "seeds", "precision", "dataset", "fingerprint", "split_seed", "variant"),
        *("all_edges", "encoding", "graph"),
    }
)


def write_link_model(model: LinkModel, path: str | Path, graph: Graph | None = None) -> Path:
    """Write one .safetensors file, with a graph in it if one is given; the same training, the same bytes."""
    arrays = {f"history.{name}": value for name, value in model.history.items()}
    if model.kept_epochs is not None:
        arrays["kept_epochs"] = model.kept_epochs
    if model.held_out is not None:
        arrays["held_out"] = model.held_out
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}
    tensors |= {f"parameters.{name}": value for name, value in model.parameters.items()}
    facts = {
        "kernode": __version__,
        "method": model.method.to_json(),
        "training": model.training.to_json(),
        "seeds": model.seeds,
        "precision": model.precision,
        "dataset": model.dataset,
        "fingerprint": model.fingerprint,
        "split_seed": model.split_seed,
        "variant": model.variant,
    }
    if model.all_edges:
        facts["all_edges"] = True
    if model.encoding is not None:
        facts["encoding"] = model.encoding.to_json()
    if graph is not None:
        tensors |= {f"graph.{name}": tensor for name, tensor in graph_to_tensors(graph).items()}
        facts["graph"] = graph.fingerprint
    return write_tensors(path, KIND, tensors, facts)


def read_link_model(path: str | Path) -> LinkModel:
    """Read what :func:`write_link_model` wrote."""
    return as_link_model(*read_tensors(path, KIND), Path(path))


def as_link_model(tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> LinkModel:
    """The model that a file holds."""
    with complete(path):
        facts = _as_today(facts)
        require_known(facts, _FACTS)
        model = _model(tensors, facts, path)
        require_runs(model)
        if model.held_out is not None:
            require_nodes("held_out", model.held_out.reshape(-1, 2).T, 2)
        return model


def _model(tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> LinkModel:
    held = graph_from_tensors(part(tensors, "graph."), path, facts["graph"]) if "graph" in facts else None
    return LinkModel(
        method=LinkMethod.from_json(facts["method"]),
        training=Training.from_json(facts["training"]),
        parameters=part(tensors, "parameters."),
        seeds=tuple(facts["seeds"]),
        precision=facts["precision"],
        dataset=facts["dataset"],
        fingerprint=facts["fingerprint"],
        split_seed=facts["split_seed"],
        all_edges=facts.get("all_edges", False),
        held_out=tensors["held_out"].numpy() if "held_out" in tensors else None,
        kept_epochs=tensors["kept_epochs"].numpy() if "kept_epochs" in tensors else None,
        history={name: value.numpy() for name, value in part(tensors, "history.").items()},
        variant=facts["variant"],
        encoding=Encoding.from_json(facts["encoding"]) if "encoding" in facts else None,
        graph=held,
    )


def _as_today(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of a file of any version in today's form.

    Until 0.1.0 training had the settings of losses that links do not have.
    """
    if "facts" not in facts:
        return facts
    facts = dict(facts)
    training, about = dict(facts["training"]), dict(facts.pop("facts"))
    for name in ("kernel_weight", "margin", "triplets", "class_weights"):
        training.pop(name)
    variant = about.pop("name", "")
    return {**facts, **about, "training": training, "variant": variant}
