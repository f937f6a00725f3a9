"""What a model's file holds: tensors, and facts about them. Earlier files are read, too."""

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
from kernode.io.tables.table import Repair
from kernode.node_classification.calibration import Calibration
from kernode.node_classification.method import NodeMethod
from kernode.node_classification.model import Model
from kernode.storage import complete, read_tensors, require_known, write_tensors
from kernode.training.file_checks import require_nodes, require_runs
from kernode.training.settings import Training
from kernode.version import __version__

KIND = "model"
_FACTS = frozenset(
    {
        *("method", "training", "classes", "seeds", "precision", "dataset", "fingerprint", "features"),
        *("variant", "split", "chosen_by_validation", "epochs_tried"),
        *("calibration", "encoding", "repairs", "graph"),
    }
)
_OPTIONAL = ("train_weights", "validation", "tested")  # arrays that not every model has


def write_model(model: Model, path: str | Path, graph: Graph | None = None) -> Path:
    """Write one .safetensors file, with a graph in it if one is given; the same training, the same bytes."""
    arrays = {
        "train": model.train,
        "train_labels": model.train_labels,
        "kept_epochs": model.kept_epochs,
        **{f"history.{name}": value for name, value in model.history.items()},
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}
    tensors |= {f"parameters.{name}": value for name, value in model.parameters.items()}
    for name in _OPTIONAL:
        if (value := getattr(model, name)) is not None:
            tensors[name] = torch.from_numpy(np.array(value))  # a copy: splits are read-only
    if model.references is not None:
        tensors["references"] = model.references
    facts = {
        "kernode": __version__,
        "method": model.method.to_json(),
        "training": model.training.to_json(),
        "classes": model.classes,
        "seeds": model.seeds,
        "precision": model.precision,
        "dataset": model.dataset,
        "fingerprint": model.fingerprint,
        "features": model.n_features,
        "variant": model.variant,
        "split": model.split,
        **model.choice,
    }
    if model.calibration is not None:
        facts["calibration"] = model.calibration.to_json()
    if model.encoding is not None:
        facts["encoding"] = model.encoding.to_json()
        facts["repairs"] = [repair.to_json() for repair in model.repairs]
    if graph is not None:
        tensors |= {f"graph.{name}": tensor for name, tensor in graph_to_tensors(graph).items()}
        facts["graph"] = graph.fingerprint
    return write_tensors(path, KIND, tensors, facts)


def read_model(path: str | Path) -> Model:
    """Read what :func:`write_model` wrote."""
    return as_model(*read_tensors(path, KIND), Path(path))


def as_model(tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> Model:
    """The model that a file holds."""
    from kernode.node_classification import variants  # noqa: F401 (methods of every kind are known then)

    with complete(path):
        facts = _as_today(facts)
        require_known(facts, _FACTS)
        return _checked(_model(tensors, facts, path))


def _checked(model: Model) -> Model:
    """Raise unless the parts of a model fit each other; a negative node would be another one, unsaid."""
    runs, shape = require_runs(model), model.train.shape
    require_nodes("train", model.train, runs)
    for name in ("validation", "tested"):
        if getattr(model, name) is not None:
            require_nodes(name, getattr(model, name), runs)
    labels, weights = model.train_labels, model.train_weights
    if labels.shape != shape or (labels < 0).any() or (labels >= len(model.classes)).any():
        raise ValueError("train_labels are not a class for each of train")
    if weights is not None and weights.shape != shape:
        raise ValueError("train_weights are not one for each of train")
    return model


def _model(tensors: dict[str, Tensor], facts: dict[str, Any], path: Path) -> Model:
    optional: dict[str, Any] = {name: tensors[name].numpy() for name in _OPTIONAL if name in tensors}
    held = graph_from_tensors(part(tensors, "graph."), path, facts["graph"]) if "graph" in facts else None
    return Model(
        method=NodeMethod.from_json(facts["method"]),
        training=Training.from_json(facts["training"]),
        parameters=part(tensors, "parameters."),
        train=tensors["train"].numpy(),
        train_labels=tensors["train_labels"].numpy(),
        **optional,
        classes=tuple(facts["classes"]),
        seeds=tuple(facts["seeds"]),
        precision=facts["precision"],
        dataset=facts["dataset"],
        fingerprint=facts["fingerprint"],
        kept_epochs=tensors["kept_epochs"].numpy(),
        history={name: value.numpy() for name, value in part(tensors, "history.").items()},
        variant=facts["variant"],
        split=facts["split"],
        chosen_by_validation=facts["chosen_by_validation"],
        epochs_tried=facts.get("epochs_tried"),
        calibration=Calibration.from_json(facts["calibration"]) if "calibration" in facts else None,
        n_features=facts.get("features"),
        references=tensors.get("references"),
        encoding=Encoding.from_json(facts["encoding"]) if "encoding" in facts else None,
        repairs=tuple(Repair.from_json(repair) for repair in facts.get("repairs", ())),
        graph=held,
    )


def _as_today(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of a file of any version in today's form.

    Until 0.1.0 a loss was a word in the method, and its settings stood among those of training.
    """
    if "variant" in facts:
        return facts
    facts = dict(facts)
    about = facts.pop("labels_of_choice")
    training, method = dict(facts["training"]), dict(facts["method"])
    losses = {name: training.pop(name) for name in ("kernel_weight", "margin", "triplets", "class_weights")}
    if "objective" in method:
        method["loss"] = _loss(method.pop("objective"), method.pop("kernel_loss"), losses)
    return {
        **facts,
        "method": method,
        "training": training,
        "variant": about.get("variant", "k3"),
        "split": about.get("split", ""),
        "chosen_by_validation": about.get("chosen_by_validation"),
    }


def _loss(objective: str, kernel_loss: str, settings: dict[str, Any]) -> dict[str, Any]:
    kernel = {"kind": kernel_loss.capitalize(), "triplets": settings["triplets"]}
    if kernel_loss == "hinge":
        kernel["margin"] = settings["margin"]
    softmax = {"kind": "Softmax", "class_weights": settings["class_weights"]}
    weight = settings["kernel_weight"]
    joint = {"kind": "Joint", "kernel": kernel, "softmax": softmax, "kernel_weight": weight}
    return {"kernel": kernel, "softmax": softmax, "joint": joint}[objective]
