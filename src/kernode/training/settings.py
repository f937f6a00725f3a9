"""How anything is trained: epochs, Adam, dropout, and which epoch is kept. What is minimised is a loss's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.replicas import PerReplica, one_each, plain_numbers, whole
from kernode.errors import InputError
from kernode.recipe import LATER, Recipe

MOST_EPOCHS = 10_000_000
_RATES = ("dropout", "input_dropout")
PER_REPLICA = ("learning_rate", "weight_decay", *_RATES)
# What has no effect where nothing is learned.
OF_LEARNING = frozenset(
    {"epochs", "learning_rate", "weight_decay", "selection", "select_by", "patience", "averaging"}
)


def require_effect(given: Mapping[str, Any], ignored: frozenset[str], what: str) -> None:
    """Raise where a setting that was given has no effect; no dropout asks for nothing, and may be said."""
    for name, value in given.items():
        if name in ignored and not (name in _RATES and not np.any(value)):
            raise InputError(f"{name} has no effect on {what}: leave it out.")


@dataclass(frozen=True)
class Training(Recipe):
    """How a method is trained. Values that the paper does not state are marked."""

    epochs: int = 200
    learning_rate: PerReplica = 0.01
    weight_decay: PerReplica = 5e-4  # not stated
    dropout: PerReplica = 0.5  # after hidden layers; not stated
    selection: Literal["best", "last"] = (
        "best"  # the paper keeps the best validation epoch, its code the last
    )
    patience: int | None = None  # stop a replica after so many epochs without a better one
    input_dropout: PerReplica = 0.0  # on the entries of X; not in the paper
    select_by: Literal["accuracy", "map"] = "accuracy"  # what of validation is best; "map" not in the paper
    averaging: float = field(default=0.0, metadata=LATER)  # β of a moving average of the parameters; 0: none

    def __post_init__(self) -> None:
        for name in PER_REPLICA:
            plain = plain_numbers(name, getattr(self, name), rate=name in _RATES)
            object.__setattr__(self, name, plain)
        for name, lowest in (("epochs", 0), ("patience", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), lowest, MOST_EPOCHS))
        if self.selection not in ("best", "last"):
            raise InputError(f"selection must be 'best' or 'last'. Got {self.selection!r}.")
        if self.select_by not in ("accuracy", "map"):
            raise InputError(f"select_by must be 'accuracy' or 'map'. Got {self.select_by!r}.")
        if not (isinstance(self.averaging, Real) and 0 <= self.averaging < 1):
            raise InputError(f"averaging must be a number in [0, 1). Got {self.averaging!r}.")
        if self.patience is not None and self.selection == "last":
            raise InputError(
                "patience belongs to the selection best. Leave it out with the selection last.",
                "no-effect",
                setting="patience",
            )

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Settings that have no effect beside the others."""
        unused = {"select_by"} if self.selection == "last" else set()
        if self.epochs == 0:
            unused |= {
                "learning_rate",
                "weight_decay",
                "dropout",
                "input_dropout",
                "patience",
                "select_by",
                "averaging",
            }
        return frozenset(unused)

    def to_the_last(self) -> Training:
        """The same without a choice of the epoch; where patience would end it, for the usual number."""
        epochs = self.epochs if self.patience is None else min(self.epochs, Training.epochs)
        return replace(self, selection="last", patience=None, epochs=epochs)

    def by_replica(self, replicas: int, place: Place) -> dict[str, Tensor]:
        """Return the settings that may differ between replicas, as one number for each."""
        return {name: one_each(name, getattr(self, name), replicas, place) for name in PER_REPLICA}
