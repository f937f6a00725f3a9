"""Settings that may differ between the replicas of a stack: one number for all, or one for each."""

from __future__ import annotations

import operator
import secrets
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.errors import InputError

RandomState = int | np.random.RandomState | np.random.Generator | None
PerReplica = float | tuple[float, ...]


def plain_numbers(name: str, value: Any, *, rate: bool = False) -> PerReplica:
    """A setting as plain numbers, so that it can be compared and stored; a rate is below 1.

    >>> import numpy as np
    >>> plain_numbers("margin", np.float32(0.5)), plain_numbers("dropout", [0, 0.5], rate=True)
    (0.5, (0.0, 0.5))
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim > 1:
        raise InputError(f"{name} must be a number, or one per replica. Got {value!r}.")
    plain = tuple(array.astype(float).tolist()) if array.ndim else float(array)
    values = np.atleast_1d(plain)
    if not (np.isfinite(values) & (values >= 0)).all() or (rate and (values >= 1).any()):
        bound = "in [0, 1)" if rate else "finite and ≥ 0"
        raise InputError(f"{name} must be {bound}. Got {plain}.")
    return plain


def one_each(name: str, value: PerReplica, replicas: int, place: Place) -> Tensor:
    """A setting as a tensor with one number for each of r replicas."""
    values = torch.as_tensor(value, dtype=torch.float64).reshape(-1)
    if len(values) not in (1, replicas):
        raise InputError(f"{name} must be one number or one per replica ({replicas}). Got {len(values)}.")
    return values.expand(replicas).to(place.dtype).to(place.device)


def whole(name: str, value: Any, lowest: int | None = None, highest: int | None = None) -> int:
    """An integer as Python's own, within bounds where there are some, or a sentence; True is none.

    A ``highest`` is where more could only be a slip of the hand: it would hang, or overflow.

    >>> whole("epochs", np.int64(5)), whole("hops", 2, 1, 1000)
    (5, 2)
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise InputError(f"{name} must be an integer. Got {value!r}.")
    if lowest is not None and found < lowest:
        raise InputError(f"{name} must be an integer ≥ {lowest}. Got {found}.")
    if highest is not None and found > highest:
        raise InputError(f"{name} must be an integer up to {highest:,}. Got {found}.")
    return found


def seed_from(random_state: Any) -> int:
    """The seed that a ``random_state`` stands for, as scikit-learn has it.

    An integer is the seed itself. A generator of numpy's gives one, and moves on; None takes a fresh one
    from the system, a different one each time.

    >>> seed_from(7), seed_from(np.random.RandomState(0)), seed_from(np.random.default_rng(0))
    (7, 209652396, 1826701615)
    """
    if random_state is None:
        return secrets.randbelow(2**31)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return int(random_state.randint(2**31 - 1))
    return whole("random_state", random_state)


def seeds_from(seed: Any, replicas: Any) -> tuple[int, ...]:
    """The seeds S, S + 1, … of some replicas."""
    seed, replicas = whole("the seed", seed), whole("replicas", replicas)
    if not 1 <= replicas <= 10_000:
        raise InputError(f"replicas must be an integer from 1 to 10,000. Got {replicas}.")
    if not 0 <= seed < 2**62:
        raise InputError(f"the seed must be an integer from 0 to 2⁶² − 1. Got {seed}.")
    return tuple(range(seed, seed + replicas))
