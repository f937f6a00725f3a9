"""What a run will take: a lower bound of its memory, and its time where the graph is at hand to try."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kernode.compute.machine import free_at, readable
from kernode.compute.place import Place
from kernode.io.sizes import GraphSizes
from kernode.studies.cost.measure import Measured, measure
from kernode.tasks.classes.method import NodeMethod
from kernode.training.memory import least_needed, refusal
from kernode.training.run import Run
from kernode.training.settings import Training


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run is expected to take."""

    sizes: GraphSizes
    method: NodeMethod
    epochs: int
    replicas: int
    place: Place
    operator: str  # how neighbours are summed, and why
    least: float  # bytes that are to be taken yet: a lower bound
    free: int | None  # bytes at the place of computing
    measured: Measured | None = None
    patience: int | None = None  # after which training may end before its last epoch

    @property
    def fits(self) -> bool | None:
        """True where it was tried, False where not even the bound fits, None where nobody knows."""
        if self.measured is not None:
            return True
        return False if self.free is not None and self.least > self.free else None

    @property
    def seconds(self) -> float | None:
        """Of the whole run."""
        return None if self.measured is None else self.measured.total(self.epochs)

    def verdict(self) -> str:
        """Whether it fits, in a sentence."""
        if self.free is None:
            known = "it was tried" if self.fits else "nobody knows"
            return f"whether it fits: {known}; this system does not say how much memory is free."
        if self.fits is False:
            return f"does not fit: {refusal(self.least, self.free, self.method, self.place)}"
        free = f"{readable(self.free)} are free"
        return f"fits: it was tried, and {free}." if self.fits else f"may fit: {free}."

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values."""
        kind, _, _ = self.operator.partition(":")
        tried = self.measured
        return {
            "dataset": self.sizes.name,
            "nodes": self.sizes.nodes,
            "edges": self.sizes.edges,
            "features": self.sizes.features,
            "replicas": self.replicas,
            "epochs": self.epochs,
            "device": self.place.device.type,
            "operator": {"kind": kind, "reason": self.operator},
            "least_memory_mb": _megabytes(self.least),
            "free_mb": _megabytes(self.free),
            "fits": self.fits,
            "seconds": tried and {
                "preparing": _three_digits(tried.preparing),
                "epoch": _three_digits(tried.epoch),
                "evaluating": _three_digits(tried.evaluating),
                "total": _three_digits(tried.total(self.epochs)),
            },
            "peak_memory_mb": tried and _megabytes(tried.peak),
            "predicted_from": tried and f"{tried.epochs} measured epochs",
        }  # fmt: skip


def estimate(
    sizes: GraphSizes, method: NodeMethod, training: Training, run: Run, *, try_it: bool = True
) -> Estimate:
    """Say what is known beforehand; where the graph is at hand and may fit, ``try_it`` for some epochs."""
    feature_map = getattr(method.for_classes(max(1, sizes.classes)), "map", None)
    known = Estimate(
        sizes=sizes,
        method=method,
        epochs=training.epochs,
        replicas=run.replicas,
        place=run.place,
        operator=feature_map.operator_reason(sizes) if feature_map else f"none: {method.title} has no map",
        least=least_needed(sizes, method, training, run.place),
        free=free_at(run.place),
        patience=training.patience,
    )
    if not (try_it and known.fits is None and can_be_tried(sizes, training)):
        return known
    assert sizes.graph is not None
    return replace(known, measured=measure(sizes.graph, method, training, run))


def can_be_tried(sizes: GraphSizes, training: Training) -> bool:
    """Whether there is a graph with classes to learn, and an epoch to measure."""
    return sizes.graph is not None and bool((sizes.graph.labels >= 0).any()) and training.epochs > 0


def _megabytes(size: float | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)


def _three_digits(seconds: float) -> float:
    return float(f"{seconds:.3g}")
