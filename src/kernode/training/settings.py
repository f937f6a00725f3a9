"""How a method is trained."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.recipe import Recipe

PerReplica = float | tuple[float, ...]  # one number for all replicas, or one for each
_RATES = ("dropout", "input_dropout")
PER_REPLICA = ("learning_rate", "weight_decay", *_RATES, "kernel_weight", "margin")


def whole(name: str, value: Any) -> int:
    """An integer as Python's own, or a sentence."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer. Got {value!r}.") from None


def seeds_from(seed: Any, replicas: Any) -> list[int]:
    """The seeds S, S + 1, … of some replicas."""
    seed, replicas = whole("the seed", seed), whole("replicas", replicas)
    if not 1 <= replicas <= 10_000:
        raise InputError(f"replicas must be an integer from 1 to 10,000. Got {replicas}.")
    if not 0 <= seed < 2**62:
        raise InputError(f"the seed must be an integer from 0 to 2⁶² − 1. Got {seed}.")
    return list(range(seed, seed + replicas))


@dataclass(frozen=True)
class Training(Recipe):
    """How a method is trained. Values that the paper does not state are marked."""

    epochs: int = 200
    learning_rate: PerReplica = 0.01
    weight_decay: PerReplica = 5e-4  # not stated
    dropout: PerReplica = 0.5  # after hidden layers; not stated
    kernel_weight: PerReplica = 0.1  # λ, the weight of L_K in the joint loss; not stated
    margin: PerReplica = 0.1  # α, Eq. 10
    triplets: int = 10_000  # drawn afresh each epoch, the same number for each class (the latter not stated)
    selection: Literal["best", "last"] = (
        "best"  # the paper keeps the best validation epoch, its code the last
    )
    patience: int | None = None  # stop a replica after so many epochs without a better one
    class_weights: Literal["balanced"] | None = None
    input_dropout: PerReplica = 0.0  # on the entries of X; not in the paper
    select_by: Literal["accuracy", "map"] = "accuracy"  # what of validation is best; "map" not in the paper

    def __post_init__(self) -> None:
        for name in PER_REPLICA:  # plain numbers, so that settings can be compared and stored
            value = np.asarray(getattr(self, name))
            if value.dtype.kind not in "fiu" or value.ndim > 1:
                raise InputError(f"{name} must be a number, or one per replica. Got {getattr(self, name)!r}.")
            plain = tuple(value.astype(float).tolist()) if value.ndim else float(value)
            object.__setattr__(self, name, plain)
        for name in ("epochs", "triplets", "patience"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name)))
        for name, lowest in (("epochs", 0), ("triplets", 1)):
            if getattr(self, name) < lowest:
                raise InputError(f"{name} must be an integer ≥ {lowest}. Got {getattr(self, name)}.")
        for name in PER_REPLICA:
            values = np.atleast_1d(getattr(self, name))
            if not (np.isfinite(values) & (values >= 0)).all() or (name in _RATES and (values >= 1).any()):
                bound = "in [0, 1)" if name in _RATES else "finite and ≥ 0"
                raise InputError(f"{name} must be {bound}. Got {getattr(self, name)}.")
        if self.selection not in ("best", "last"):
            raise InputError(f"selection must be 'best' or 'last'. Got {self.selection!r}.")
        if self.select_by not in ("accuracy", "map"):
            raise InputError(f"select_by must be 'accuracy' or 'map'. Got {self.select_by!r}.")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"patience must be an integer ≥ 1. Got {self.patience}.")
        if self.patience is not None and self.selection == "last":
            raise InputError("patience belongs to selection='best'. Leave it out with selection='last'.")
        if self.class_weights not in (None, "balanced"):
            raise InputError(f"class_weights must be 'balanced' or None. Got {self.class_weights!r}.")

    def by_replica(self, replicas: int, place: Place) -> dict[str, Tensor]:
        """Return the settings that may differ between replicas, as one number for each."""
        return {name: self._one_each(name, replicas).to(place.dtype).to(place.device) for name in PER_REPLICA}

    def _one_each(self, name: str, replicas: int) -> Tensor:
        values = torch.as_tensor(getattr(self, name), dtype=torch.float64).reshape(-1)
        if len(values) not in (1, replicas):
            raise InputError(f"{name} must be one number or one per replica ({replicas}). Got {len(values)}.")
        return values.expand(replicas)
