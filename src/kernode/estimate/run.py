"""The estimate of a whole run: memory and time by part, what is free, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from kernode.baselines.kled import KLED
from kernode.estimate.kled import kled_parts
from kernode.estimate.parts import Parts, parts_of
from kernode.estimate.plans import plan
from kernode.estimate.rates import Rates
from kernode.estimate.sizes import Sizes
from kernode.memory import free_bytes
from kernode.method import Method
from kernode.settings import Training
from kernode.sparse import Place

_FIRST_USE = 95e6  # bytes that MKL and GraphBLAS take for themselves when they are first used


@dataclass(frozen=True)
class Operator:
    """How neighbours are summed, and what one product with it takes."""

    kind: str
    reason: str
    multiply_adds: float  # per column


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take; see :meth:`Parts.working` for what is held at one time."""

    sizes: Sizes
    device: str
    replicas: int
    parts: Parts
    operator: Operator
    program: float  # bytes that this process holds already, and that libraries will take
    free: int | None  # bytes at the place of computing
    seconds: dict[str, float]
    rough: bool

    @property
    def needed(self) -> float:
        """Bytes beyond what this process holds, at the place of computing."""
        loaded = self.parts.loaded if self.device == "cpu" else 0.0
        at_hand = self.parts.graph + self.parts.features if self.sizes.graph is not None else 0.0
        return self.parts.working + max(0.0, loaded - at_hand)

    @property
    def peak(self) -> float:
        """Bytes held at most: what `kernode fit` reports as its peak."""
        return self.parts.working + (self.program + self.parts.loaded if self.device == "cpu" else 0.0)

    @property
    def fits(self) -> bool | None:
        """None where nobody knows how much is free."""
        return None if self.free is None else self.needed <= self.free


def estimate(
    sizes: Sizes,
    method: Method | KLED,
    training: Training,
    replicas: int,
    place: Place,
    rates: Rates | None = None,
) -> Estimate:
    """Add a run up, without computing any of it; rates are measured where none are given."""
    program = resident_bytes() + _FIRST_USE
    if isinstance(method, KLED):
        parts, operator, rough = kled_parts(method, sizes, replicas), Operator("none", "", 0.0), True
    else:
        method = method.for_classes(max(1, sizes.classes))
        planned = plan(method.map, sizes, place.dtype.itemsize, on_host=place.device.type == "cpu")
        parts = parts_of(planned, method, training, sizes, replicas, place)
        inputs, rough = planned.inputs, planned.rough
        operator = Operator(inputs.kind, inputs.reason, inputs.multiply_adds)
    return Estimate(
        sizes,
        place.device.type,
        replicas,
        parts,
        operator,
        program,
        free_at(place),
        _seconds(parts, rates or Rates.measure(place)),
        rough,
    )


def free_at(place: Place) -> int | None:
    """Bytes that may still be taken where a place is."""
    if place.device.type == "cpu":
        return free_bytes()
    free, _ = torch.cuda.mem_get_info(place.device)
    return int(free + torch.cuda.memory_reserved(place.device) - torch.cuda.memory_allocated(place.device))


def resident_bytes() -> float:
    """What this process holds in main memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * 4096.0


def _seconds(parts: Parts, rates: Rates) -> dict[str, float]:
    epoch = rates.seconds(parts.epoch)
    seconds = {
        "loading": rates.seconds(parts.loading),
        "preparing": rates.seconds(parts.preparing),
        "epochs": parts.epochs * epoch,
        "evaluating": rates.seconds(parts.evaluating),
    }
    return {**seconds, "epoch": epoch, "total": sum(seconds.values())}
