"""The estimate of a whole run: memory and time by part, what is free, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernode.compute.memory import readable
from kernode.compute.place import Place
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.studies.cost.inputs import Numbers
from kernode.studies.cost.kled import kled_parts
from kernode.studies.cost.parts import Parts, parts_of
from kernode.studies.cost.plans import plan
from kernode.studies.cost.rates import Rates
from kernode.studies.cost.refusal import refusal
from kernode.studies.cost.room import free_at, resident_bytes
from kernode.studies.cost.sizes import Sizes
from kernode.training.settings import Training

FIRST_USE = 95e6  # bytes that MKL and GraphBLAS take for themselves when they are first used
NOT_RETURNED = 1.15  # of what a run needs in main memory: an allocator keeps some of what was freed


@dataclass(frozen=True)
class Operator:
    """How neighbours are summed, and what one product with that takes."""

    kind: str
    reason: str
    multiply_adds: float = 0.0  # per column


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take."""

    sizes: Sizes
    method: Method | KLED
    replicas: int
    place: Place
    parts: Parts
    operator: Operator
    program: float  # bytes that this process holds beside the graph, and that libraries will take
    free: int | None  # bytes at the place of computing
    seconds: dict[str, float]
    rough: bool = False

    @property
    def on_gpu(self) -> bool:
        """Whether memory means the GPU's."""
        return self.place.device.type == "cuda"

    @property
    def peak(self) -> float:
        """Bytes held at most: what ``kernode fit`` reports."""
        if self.on_gpu:
            return self.parts.working
        return self.program + NOT_RETURNED * (self.parts.loaded + self.parts.working)

    @property
    def needed(self) -> float:
        """Bytes that are to be taken yet."""
        if self.on_gpu:
            return self.parts.working
        at_hand = self.parts.graph + self.parts.features if self.sizes.graph is not None else 0.0
        return self.peak - self.program - at_hand

    @property
    def fits(self) -> bool | None:
        """None where nobody knows how much is free."""
        return None if self.free is None else self.needed <= self.free

    @property
    def memory(self) -> dict[str, float]:
        """Bytes by part, and the most of them at one time."""
        parts = self.parts
        held = {
            "program": self.program,
            "graph": parts.graph,
            "features": parts.features + parts.features_at_place,
            "splits": parts.splits,
        }
        on_gpu = {"features": parts.features_at_place}
        return {
            **(on_gpu if self.on_gpu else held),
            "operator": parts.operator,
            "operator_building": parts.building,
            "parameters": parts.parameters,
            "activations": parts.activations,
            "triplets": parts.triplets,
            "evaluation": parts.evaluation,
            "peak": self.peak,
        }

    def verdict(self) -> str:
        """Whether it fits, in a sentence."""
        if self.free is None:
            return "this system does not say how much memory is free."
        if self.fits:
            return f"fits: {readable(self.free)} are free."
        return "does not fit: " + refusal(self.needed, self.free, self.method, self.place, self.replicas)

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values."""
        return {
            "dataset": self.sizes.name,
            "nodes": self.sizes.nodes,
            "edges": self.sizes.edges,
            "features": self.sizes.features,
            "replicas": self.replicas,
            "replicas_together": self.parts.together,
            "epochs": self.parts.epochs,
            "device": self.place.device.type,
            "operator": {
                "kind": self.operator.kind,
                "reason": self.operator.reason,
                "multiply_adds": round(self.operator.multiply_adds),
            },
            "memory_mb": {name: round(size / 1e6, 1) for name, size in self.memory.items()},
            "free_mb": None if self.free is None else round(self.free / 1e6, 1),
            "seconds": {name: float(f"{value:.3g}") for name, value in self.seconds.items()},
            "rough": self.rough,
            "fits": self.fits,
        }


def estimate(
    sizes: Sizes,
    method: Method | KLED,
    training: Training,
    replicas: int,
    place: Place,
    rates: Rates | None = None,
    starting: float = 0.0,
) -> Estimate:
    """Add a run up without computing any of it; rates are measured where none are given.

    ``starting`` are the seconds that a program takes before it does anything.
    """
    resident = resident_bytes() + FIRST_USE
    if isinstance(method, KLED):
        parts, rough = kled_parts(method, sizes, replicas), True
        operator = Operator("none", "none: heat is diffused along the edges, once for every candidate")
    else:
        method = method.for_classes(max(1, sizes.classes))
        planned = plan(method.map, sizes, Numbers.at(place))
        parts, rough = parts_of(planned, method, training, sizes, replicas, place), planned.rough
        operator = Operator(planned.inputs.kind, planned.inputs.reason, planned.inputs.multiply_adds)
    at_hand = parts.graph + parts.features if sizes.graph is not None else 0.0
    rates = rates or Rates.measure(place)
    return Estimate(
        sizes,
        method,
        replicas,
        place,
        parts,
        operator,
        max(0.0, resident - at_hand),
        free_at(place),
        _seconds(parts, rates, starting),
        rough,
    )


def _seconds(parts: Parts, rates: Rates, starting: float) -> dict[str, float]:
    epoch = rates.seconds(parts.epoch)
    seconds = {
        "starting": starting,
        "loading": rates.seconds(parts.loading),
        "preparing": rates.seconds(parts.preparing),
        "epochs": parts.epochs * epoch,
        "evaluating": rates.seconds(parts.evaluating),
    }
    return {**seconds, "epoch": epoch, "total": sum(seconds.values())}
