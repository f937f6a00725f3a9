"""A row's flat values as a method and its training. Every value is named: no default is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kernode.config import Config
from kernode.errors import InputError
from kernode.kernels import RBF, BaseKernel, Linear, Normalized
from kernode.losses import Joint, KernelLoss, Softmax
from kernode.losses.kernel_loss import kernel_losses
from kernode.maps import FeatureMap
from kernode.tasks.classes.method import Method, NodeMethod
from kernode.tasks.links.method import LinkMethod
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
            raise InputError(
                f"{self.where}: {name!r} is missing. Every value must be named; add it.",
                "missing",
                setting=name,
            )
        value = self.left.pop(name)
        if isinstance(value, list):
            return tuple(value)
        return None if value in _ABSENT else value

    def fields_of(self, kind: type, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
        """A value for each field of a dataclass."""
        # What a released kind did not have may be left out: it is then what it always was.
        return {
            field.name: self.take(field.name)
            for field in fields(kind)
            if field.name not in leave_out and (field.name in self.left or not field.metadata.get("later"))
        }

    def with_own(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names, and those of what the paper does not have, where the row has it."""
        return (*names, *(name for name in _NOT_IN_THE_PAPER if name in self.left))

    def wrong(self, setting: str, expected: str, value: object) -> InputError:
        """Return the error for a value that is not as expected."""
        return InputError(
            f"{self.where}: {setting} must be {expected}. Got {value!r}.",
            "setting",
            setting=setting,
            value=value,
        )

    def finish(self) -> None:
        """Raise if something is left."""
        if self.left:
            name = next(iter(self.left))
            raise InputError(
                f"{self.where}: {name!r} does nothing here. Remove it.", "no-effect", setting=name
            )


def node_method(values: Mapping[str, Any], where: str) -> tuple[NodeMethod, Training]:
    """A method for classes, and how it is trained."""
    row = Values(values, where)
    name = row.take("map")
    kind = Config.kinds.get(name)
    if kind is not None and issubclass(kind, NodeMethod):  # a method without a map, such as KLED
        method: NodeMethod = kind(**row.fields_of(kind))
        row.finish()
        return method, Training(epochs=0)
    feature_map, objective = _map(name, row), row.take("objective")
    if objective == "softmax":  # L_Y alone has no kernel, and nothing of L_K changes its figures
        method = Method(feature_map, Normalized(Linear()), _softmax(row))
    else:
        kernel, loss = _kernel(row), _kernel_loss(row)
        joint = objective == "joint"
        method = Method(
            feature_map, kernel, Joint(loss, _softmax(row), row.take("kernel_weight")) if joint else loss
        )
    training = Training(**{name: row.take(name) for name in row.with_own(_ALWAYS)})
    row.finish()
    return method, training


def _softmax(row: Values) -> Softmax:
    return Softmax(row.take("class_weights"))


def _kernel_loss(row: Values) -> KernelLoss:
    name, known = row.take("kernel_loss"), kernel_losses()
    if name not in known:
        raise row.wrong("kernel_loss", f"one of {sorted(known)}", name)
    # A row names α whatever the loss: a loss without one leaves it.
    settings = {setting: row.take(setting) for setting in ("margin", "triplets")}
    own = {one.name for one in fields(known[name])}
    return known[name](**{setting: value for setting, value in settings.items() if setting in own})


def link_method(values: Mapping[str, Any], where: str) -> tuple[LinkMethod, Training]:
    """A method for links, and how it is trained."""
    row = Values(values, where)
    feature_map = _map(row.take("map"), row)
    method = LinkMethod(feature_map, _kernel(row), **row.fields_of(LinkMethod, ("map", "kernel", "loss")))
    training = Training(**{name: row.take(name) for name in row.with_own(_ALWAYS)})
    row.finish()
    return method, training


def _map(name: str, row: Values) -> FeatureMap:
    kind = Config.kinds.get(name)
    if kind is None or not issubclass(kind, FeatureMap):
        raise row.wrong("map", "a class of kernode.maps, such as HopMLP", name)
    return kind(**row.fields_of(kind))


def _kernel(row: Values) -> BaseKernel:
    name = row.take("kernel")
    if name not in ("Linear", "RBF"):
        raise row.wrong("kernel", "'Linear' or 'RBF'", name)
    rbf = name == "RBF"
    kernel: BaseKernel = RBF(row.take("gamma"), row.take("gamma_learned")) if rbf else Linear()
    return Normalized(kernel) if row.take("normalized") else kernel
