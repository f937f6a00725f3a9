"""The command that trains a model again, checked against the model's own settings."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.tables.columns import Encoding
from kernode.node_classification.experiment import known_name, settings_key
from kernode.node_classification.method import Method
from kernode.node_classification.model import Model
from kernode.node_classification.variants import candidates
from kernode.show.evidence import Evidence

_OF_LOSS = ("kernel_weight", "margin", "triplets", "class_weights")


def rerun_command(evidence: Evidence, data: list[str]) -> str | None:
    """What to type to train it again; None where no options give just these settings.

    ``data``: words for the graph, as a command takes them.
    """
    model, graph = evidence.model, evidence.graph
    if not model.split or evidence.parts.test is None:
        return None  # trained from Python, or again on all labels
    if graph.fingerprint != model.fingerprint:
        return None  # the words for this graph are not those for the one that was trained on
    changes = _changes(model, graph)
    if changes is None:
        return None
    words = ["kernode", "fit", *data, "--variant", model.variant]
    default = "fastgcn" if known_name(graph) else "jk"
    if model.split != default:
        words += ["--split", model.split]
    words += ["--replicas", str(len(model.seeds)), "--seed", str(model.seeds[0])]
    words += ["--precision", str(model.precision)] if model.precision != 32 else []
    for name, value in changes.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def table_options(encoding: Encoding) -> dict[str, str]:
    """Options that name what was taken of tables: roles of columns, features with kinds, unknown labels.

    How a file itself was read (its header, its encoding, its decimal sign) is not among them: whoever shows
    them reads the tables so, and sees whether the same graph comes out.
    """
    roles = {name: getattr(encoding, name) for name in ("label", "id", "source", "target", "weight")}
    said: dict[str, str | None] = {
        **roles,
        "features": ",".join(f"{column.name}:{column.kind}" for column in encoding.columns) or None,
        "positions": str(encoding.structure.positions) if encoding.columns and encoding.structure else None,
    }
    if encoding.unknown is not None and encoding.unknown.exact:
        said["unknown"] = ",".join(encoding.unknown.texts)
    return {name: value for name, value in said.items() if value is not None}


def _changes(model: Model, graph: Graph) -> dict[str, Any] | None:
    """Options that a variant needs to become this model's method; None where they do not suffice."""
    if model.seeds != tuple(range(model.seeds[0], model.seeds[0] + len(model.seeds))):
        return None
    changes: dict[str, Any] = {}
    for _ in range(2):
        found = _configured(model, graph, changes)
        if found is None:
            return None
        method, training = found
        if repr((method, training)) == repr((model.method, model.training)):
            return changes
        changes = _differences(model, method, training)
    return None


def _configured(model: Model, graph: Graph, changes: dict[str, Any]) -> Any:
    # As `kernode fit` has it: settings of a search are for the split that is its default.
    tuned = model.split == ("fastgcn" if known_name(graph) else "jk")
    try:
        found = candidates(model.variant, settings_key(graph), tuned=tuned, **changes)
    except InputError:
        return None
    ((method, training),) = found.values()
    return method.for_classes(len(model.classes)), training


def _differences(model: Model, method: Any, training: Any) -> dict[str, Any]:
    changes = {
        one.name: getattr(model.training, one.name)
        for one in fields(training)
        if getattr(model.training, one.name) != getattr(training, one.name)
    }
    if isinstance(model.method, Method) and isinstance(method, Method):
        for part in ("map", "kernel"):
            if repr(getattr(model.method, part)) != repr(getattr(method, part)):
                changes[part] = getattr(model.method, part)
        own, other = model.method.loss, method.loss
        if own.objective != other.objective:
            changes["objective"] = own.objective
        for name in _OF_LOSS:
            value = _setting(own, name)
            if value is not None and value != _setting(other, name):
                changes[name] = value
    return changes


def _setting(loss: Any, name: str) -> Any:
    for part in (loss, getattr(loss, "kernel", None), getattr(loss, "softmax", None)):
        if hasattr(part, name):
            return getattr(part, name)
    return None
