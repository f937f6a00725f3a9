"""Estimate of a run: a lower bound of its memory, and its time from a few measured epochs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from kernode.compute.gpu import WARM_UP
from kernode.compute.machine import free_at, peak_at, readable
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.models.fit import fit_candidates
from kernode.tasks.classes.evaluation import fit_report
from kernode.tasks.classes.labels import split_labels
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.task import NodeTask
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop
from kernode.training.memory import least_needed, refusal
from kernode.training.run import Run
from kernode.training.settings import Training

# Epochs that are not counted, and those that are. A GPU captures an epoch after its warm-up, and reports its
# epochs now and then only, so that more of them are measured.
_FIRST = {"cpu": 1, "cuda": WARM_UP + 1}
_COUNTED = {"cpu": 2, "cuda": 20}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Seconds of a short run, and its peak memory."""

    epochs: int  # measured ones
    preparing: float  # before the first epoch, with what that takes longer than others
    epoch: float
    evaluating: float  # after the last epoch
    peak: int | None  # bytes

    def total(self, epochs: int) -> float:
        """Return the seconds of a run of so many epochs."""
        return self.preparing + epochs * self.epoch + self.evaluating


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run is expected to take."""

    sizes: GraphSizes
    method: NodeMethod
    training: Training
    run: Run
    least: float  # bytes that are not allocated yet: a lower bound
    free: int | None  # bytes on the device
    measured: Measured | None = None

    @property
    def operator(self) -> str:
        """How neighbours are summed, and why."""
        feature_map = getattr(self.method.for_classes(max(1, self.sizes.classes)), "map", None)
        if feature_map is None:
            return f"none: {self.method.title} has no map"
        return str(feature_map.operator_reason(self.sizes))

    @property
    def fits(self) -> bool | None:
        """True after a measurement, False where the bound exceeds the free memory, else None."""
        if self.measured is not None:
            return True
        return False if self.free is not None and self.least > self.free else None

    def verdict(self) -> str:
        """Return a sentence that says whether it fits."""
        if self.fits is False:
            return f"does not fit: {refusal(self.least, self.free or 0, self.method, self.run.place)}"
        if self.free is None:
            known = "it was tried" if self.fits else "unknown"
            return f"whether it fits: {known}; this system does not say how much memory is free."
        free = f"{readable(self.free)} are free"
        return f"fits: it was tried, and {free}." if self.fits else f"may fit: {free}."

    def to_json(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        measured, sizes = self.measured, self.sizes
        seconds = measured and {
            "preparing": measured.preparing,
            "epoch": measured.epoch,
            "evaluating": measured.evaluating,
            "total": measured.total(self.training.epochs),
        }
        return {
            "dataset": sizes.name,
            "nodes": sizes.nodes,
            "edges": sizes.edges,
            "features": sizes.features,
            "replicas": self.run.replicas,
            "epochs": self.training.epochs,
            "device": self.run.place.device.type,
            "operator": {"kind": self.operator.partition(":")[0], "reason": self.operator},
            "least_memory_mb": _megabytes(self.least),
            "free_mb": _megabytes(self.free),
            "fits": self.fits,
            "seconds": seconds and {name: float(f"{value:.3g}") for name, value in seconds.items()},
            "peak_memory_mb": measured and _megabytes(measured.peak),
            "predicted_from": measured and f"{measured.epochs} measured epochs",
        }


def estimate(
    sizes: GraphSizes, method: NodeMethod, training: Training, run: Run, *, measured: bool = True
) -> Estimate:
    """Estimate a run; with ``measured``, a graph with labels that may fit is trained for a few epochs."""
    need, free = least_needed(sizes, method, training, run.place), free_at(run.place)
    found = Estimate(sizes=sizes, method=method, training=training, run=run, least=need, free=free)
    graph = sizes.graph
    if graph is None or not (graph.labels >= 0).any() or not training.epochs:
        return found  # nothing to measure
    may_fit = measured and found.fits is None
    return replace(found, measured=measure(graph, method, training, run)) if may_fit else found


def measure(graph: Graph, method: NodeMethod, training: Training, run: Run) -> Measured:
    """Train for a few epochs and score."""
    device = run.place.device.type
    short = replace(training, epochs=_FIRST[device] + _COUNTED[device], patience=None, stopping=None)
    clock = _Clock()
    started = time.perf_counter()
    splits, _ = split_labels(graph, None, run.seeds)
    task = NodeTask.of_splits(graph, splits, replace(run, callbacks=(*run.callbacks, clock)))
    on: Any = fit_candidates(task, {"": (method, short)})
    fit_report(on, splits, task.nodes)
    ended = time.perf_counter()
    epochs = clock.epochs or [(0, ended)]  # where nothing is learned
    last, until = epochs[-1]
    first, since = next((one for one in epochs[:-1] if one[0] >= _FIRST[device]), epochs[0])
    epoch = (until - since) / max(1, last - first)
    return Measured(
        epochs=_COUNTED[device] if clock.epochs else 0,
        preparing=max(0.0, since - started - first * epoch),
        epoch=epoch,
        evaluating=ended - until,
        peak=peak_at(run.place),
    )


class _Clock(Callback):
    """Record when each epoch ended."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, float]] = []

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Record the epoch and the time."""
        self.epochs.append((loop.epoch, time.perf_counter()))


def _megabytes(size: float | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)
