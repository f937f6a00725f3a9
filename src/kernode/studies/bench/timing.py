"""Time systems side by side: turn by turn in one process, so that whatever disturbs one disturbs all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

Step = Callable[[], object]

# A turn runs steps until this many seconds are full: as in training, each step then finds its data in the
# cache, and what it costs to start and stop the clock (on a GPU, to wait for it) is shared.
TURN = {"cpu": 0.02, "cuda": 0.05}
WARM_STEPS = 3  # first calls allocate, choose algorithms and, on a GPU, record what is replayed later …
WARM_SECONDS = 2.0  # … but a step this long is hardly changed by that
LEAST_ROUNDS = 3


def interleave(
    steps: Mapping[str, Step],
    rounds: int,
    device: torch.device,
    *,
    seconds: float = math.inf,
    told: Callable[[int], None] = lambda done: None,
) -> dict[str, list[float]]:
    """Milliseconds a step of every system, one value a round: in each round every system has a turn.

    No round begins once ``seconds`` are over, but there are always three.
    """
    lengths = {name: _turn_length(step, device) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    started = time.perf_counter()
    for done in range(rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() - started > seconds:
            break
        for name, step in steps.items():
            times[name].append(1000 * _seconds(step, lengths[name], device) / lengths[name])
        told(done + 1)
    return times


def summary(times: list[float]) -> tuple[float, tuple[float, float]]:
    """The median, and the quartiles around it."""
    low, middle, high = np.percentile(times, (25, 50, 75)).tolist()
    return middle, (low, high)


def _turn_length(step: Step, device: torch.device) -> int:
    for _ in range(WARM_STEPS):
        took = _seconds(step, 1, device)
        if took > WARM_SECONDS:
            break
    return max(1, math.ceil(TURN[device.type] / max(took, 1e-6)))


def _seconds(step: Step, times: int, device: torch.device) -> float:
    wait = torch.cuda.synchronize if device.type == "cuda" else _nothing
    wait()
    started = time.perf_counter()
    for _ in range(times):
        step()
    wait()
    return time.perf_counter() - started


def _nothing() -> None:
    pass
