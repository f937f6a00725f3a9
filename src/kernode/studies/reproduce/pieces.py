"""A row's flat values as a method and its training. Every value is named: nothing falls back on a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kernode.errors import InputError
from kernode.kernels import RBF, BaseKernel, Linear, Normalized
from kernode.link_prediction.method import LinkMethod
from kernode.maps import FeatureMap
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.recipe import Recipe
from kernode.training.settings import Training

_ABSENT = ("none", "classes")  # TOML has no null: no such thing, or as many as there are classes
_ALWAYS = ("epochs", "learning_rate", "weight_decay", "dropout", "selection", "patience")
_NOT_IN_THE_PAPER = ("input_dropout", "select_by")  # off unless a row names them


class Values:
    """Flat values that are taken out one by one; what is missing or left over is an error."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.left, self.where = dict(values), where

    def take(self, name: str) -> Any:
        """One value."""
        if name not in self.left:
            raise InputError(f"{self.where}: {name!r} is missing. Every value must be named; add it.")
        value = self.left.pop(name)
        if isinstance(value, list):
            return tuple(value)
        return None if value in _ABSENT else value

    def fields_of(self, kind: type, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
        """A value for each field of a dataclass."""
        return {field.name: self.take(field.name) for field in fields(kind) if field.name not in leave_out}

    def with_own(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names, and those of what the paper does not have, where the row has it."""
        return (*names, *(name for name in _NOT_IN_THE_PAPER if name in self.left))

    def finish(self) -> None:
        """Raise if something is left."""
        if self.left:
            raise InputError(f"{self.where}: {next(iter(self.left))!r} does nothing here. Remove it.")


def node_method(values: Mapping[str, Any], where: str) -> tuple[Method | KLED, Training]:
    """A method for classes, and how it is trained."""
    row = Values(values, where)
    kind = row.take("map")
    if kind == "KLED":
        method: Method | KLED = KLED(**row.fields_of(KLED))
        row.finish()
        return method, Training(epochs=0)
    feature_map, objective = _map(kind, row), row.take("objective")
    names: tuple[str, ...] = _ALWAYS
    if objective == "softmax":  # L_Y alone has no kernel, and nothing of L_K changes its figures
        method = Method(feature_map, Normalized(Linear()), objective)
    else:
        method = Method(feature_map, _kernel(row), objective, row.take("kernel_loss"))
        names += ("margin", "triplets")
    if objective != "kernel":
        names += ("class_weights",)
    if objective == "joint":
        names += ("kernel_weight",)
    training = Training(**{name: row.take(name) for name in row.with_own(names)})
    row.finish()
    return method, training


def link_method(values: Mapping[str, Any], where: str) -> tuple[LinkMethod, Training]:
    """A method for links, and how it is trained."""
    row = Values(values, where)
    feature_map = _map(row.take("map"), row)
    method = LinkMethod(feature_map, _kernel(row), **row.fields_of(LinkMethod, ("map", "kernel")))
    training = Training(**{name: row.take(name) for name in row.with_own(_ALWAYS)})
    row.finish()
    return method, training


def _map(name: str, row: Values) -> FeatureMap:
    kind = Recipe.kinds.get(name)
    if kind is None or not issubclass(kind, FeatureMap):
        raise InputError(f"{row.where}: {name!r} is not a map. Name a class of kernode.maps, such as HopMLP.")
    return kind(**row.fields_of(kind))


def _kernel(row: Values) -> BaseKernel:
    name = row.take("kernel")
    if name not in ("Linear", "RBF"):
        raise InputError(f"{row.where}: kernel must be 'Linear' or 'RBF'. Got {name!r}.")
    rbf = name == "RBF"
    kernel: BaseKernel = RBF(row.take("gamma"), row.take("gamma_learned")) if rbf else Linear()
    return Normalized(kernel) if row.take("normalized") else kernel
