"""Estimate of a run: a lower bound of its memory, and its time from a few measured epochs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from kernode.compute.gpu import WARM_UP
from kernode.compute.machine import free_at, peak_at, readable
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes
from kernode.tasks.classes.evaluation import fit_report
from kernode.tasks.classes.labels import split_labels
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.task import NodeTask
from kernode.training.memory import least_needed, refusal
from kernode.training.run import Run
from kernode.training.settings import Training

# Epochs that are not counted, and those that are: a GPU captures an epoch after its warm-up.
_EPOCHS = {"cpu": (1, 2), "cuda": (WARM_UP + 1, 20)}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a run is expected to take."""

    sizes: GraphSizes
    method: NodeMethod
    training: Training
    run: Run
    least: float  # bytes that are not allocated yet: a lower bound
    free: int  # bytes on the device
    seconds: dict[str, float] | None = None  # of a measured run: preparing, epoch, evaluating, total
    peak: int | None = None  # bytes, of a measured run

    @property
    def operator(self) -> str:
        """How neighbours are summed, and why."""
        feature_map = getattr(self.method.for_classes(max(1, self.sizes.classes)), "map", None)
        if feature_map is None:
            return f"none: {self.method.title} has no map"
        return str(feature_map.operator_reason(self.sizes))

    @property
    def measured_epochs(self) -> int:
        """Number of epochs that the prediction is made from."""
        return _EPOCHS[self.run.options.device.type][1]

    @property
    def fits(self) -> bool | None:
        """True after a measurement, False where the bound exceeds the free memory, else None."""
        if self.seconds is not None:
            return True
        return False if self.least > self.free else None

    def verdict(self) -> str:
        """Return a sentence on whether it fits."""
        if self.fits is False:
            return f"does not fit: {refusal(self.least, self.free, self.method, self.run.options)}"
        free = f"{readable(self.free)} free"
        return f"fits: measured with {free}." if self.fits else f"may fit: {free}."

    def to_json(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        seconds, sizes = self.seconds, self.sizes
        return {
            "dataset": sizes.name,
            "nodes": sizes.nodes,
            "edges": sizes.edges,
            "features": sizes.features,
            "replicas": self.run.replicas,
            "epochs": self.training.epochs,
            "device": self.run.options.device.type,
            "operator": {"kind": self.operator.partition(":")[0], "reason": self.operator},
            "least_memory_mb": _megabytes(self.least),
            "free_mb": _megabytes(self.free),
            "fits": self.fits,
            "seconds": seconds and {name: float(f"{value:.3g}") for name, value in seconds.items()},
            "peak_memory_mb": _megabytes(self.peak),
            "predicted_from": seconds and f"{self.measured_epochs} measured epochs",
        }


def estimate(sizes: GraphSizes, method: NodeMethod, training: Training, run: Run) -> Estimate:
    """Estimate a run; where it trains a map on a graph with labels and may fit, a few epochs are measured."""
    need, free = least_needed(sizes, method, training, run.options), free_at(run.options)
    found = Estimate(sizes=sizes, method=method, training=training, run=run, least=need, free=free)
    graph = sizes.graph
    if graph is None or not (graph.labels >= 0).any() or not training.epochs:
        return found
    if found.fits is False or not method.has_kernel:
        return found
    return replace(found, seconds=measure(graph, method, training, run), peak=peak_at(run.options))


def measure(graph: Graph, method: NodeMethod, training: Training, run: Run) -> dict[str, float]:
    """Train for a few epochs and score; return the seconds of each part, and of a run of all epochs."""
    skipped, counted = _EPOCHS[run.options.device.type]
    short = replace(training, epochs=skipped + counted, patience=None, stopping=None)
    times = [time.perf_counter()]
    splits, _ = split_labels(graph, None, run.seeds)
    task = NodeTask.of_splits(graph, splits, run)
    method = task.method_for(method)
    loop = task.begin(method, short)
    for epoch in (skipped, skipped + counted):
        loop.run(epoch)
        if loop.history:
            loop.latest  # noqa: B018 (waits for a GPU)
        times.append(time.perf_counter())
    fit_report(task.fitted(method, short, loop.trained()), splits, task.nodes)
    started, since, until, ended = *times, time.perf_counter()
    each = (until - since) / counted
    preparing, evaluating = max(0.0, since - started - skipped * each), ended - until
    total = preparing + training.epochs * each + evaluating
    return {"preparing": preparing, "epoch": each, "evaluating": evaluating, "total": total}


def _megabytes(size: float | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)
