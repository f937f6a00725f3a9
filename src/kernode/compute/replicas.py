"""Settings of a stack of replicas: one number for all of them, or one for each; integers and seeds."""

from __future__ import annotations

import operator
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.errors import InputError, bad_setting

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions

RandomState = int | np.random.RandomState | np.random.Generator | None
PerReplica = float | tuple[float, ...]


def plain_numbers(name: str, value: Any, *, rate: bool = False) -> PerReplica:
    """Return a setting as Python floats, one or one per replica, all ≥ 0; a rate is below 1.

    >>> import numpy as np
    >>> plain_numbers("margin", np.float32(0.5)), plain_numbers("dropout", [0, 0.5], rate=True)
    (0.5, (0.0, 0.5))
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim > 1:
        raise bad_setting(name, "a number, or one per replica", value)
    plain = tuple(array.astype(float).tolist()) if array.ndim else float(array)
    values = np.atleast_1d(plain)
    if not (np.isfinite(values) & (values >= 0)).all() or (rate and (values >= 1).any()):
        bound = "in [0, 1)" if rate else "finite and ≥ 0"
        raise bad_setting(name, bound, plain)
    return plain


def one_each(name: str, value: PerReplica, replicas: int, options: TensorOptions) -> Tensor:
    """Return a setting as a tensor of r numbers, one per replica."""
    values = torch.as_tensor(value, dtype=torch.float64).reshape(-1)
    if len(values) not in (1, replicas):
        raise InputError(
            f"{name} must be one number or one per replica ({replicas}). Got {len(values)}.",
            "shape", setting=name, expected=replicas, found=len(values),
        )  # fmt: skip
    return values.expand(replicas).to(options.dtype).to(options.device)


def whole(name: str, value: Any, lowest: int | None = None, highest: int | None = None) -> int:
    """Return an integer within bounds as Python's own, or raise; a bool is not an integer.

    ``highest`` is where more could only be a mistake: it would hang, or overflow.

    >>> whole("epochs", np.int64(5)), whole("hops", 2, 1, 1000)
    (5, 2)
    """
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = None
    too_large = found is not None and highest is not None and found > highest
    if found is not None and not too_large and (lowest is None or found >= lowest):
        return found
    bound = f" up to {highest:,}" if too_large else "" if found is None else f" ≥ {lowest}"
    raise bad_setting(name, f"an integer{bound}", value)


def seed_from(random_state: Any) -> int:
    """Return the seed of a ``random_state`` as scikit-learn takes it.

    An integer is the seed itself. A generator of numpy's draws one; None takes a fresh one from the system.

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
    """Return the seeds S, S + 1, … of the replicas."""
    first, count = whole("seed", seed, 0, 2**62 - 1), whole("replicas", replicas, 1, 10_000)
    return tuple(range(first, first + count))
