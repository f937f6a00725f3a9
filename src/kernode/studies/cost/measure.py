"""How long a run takes, predicted from a few epochs of the training itself on the graph itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from kernode.compute.gpu import WARM_UP
from kernode.compute.machine import peak_at
from kernode.graph import Graph
from kernode.models.fit import fit_candidates
from kernode.tasks.classes.evaluation import fit_report
from kernode.tasks.classes.labels import split_labels
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.task import NodeTask
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop
from kernode.training.run import Run
from kernode.training.settings import Training

# Epochs that are not counted, and those that are. A GPU captures an epoch after its warm-up, and a run there
# is told of an epoch now and then only, so that more of them are measured.
_FIRST = {"cpu": 1, "cuda": WARM_UP + 1}
_COUNTED = {"cpu": 2, "cuda": 20}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Seconds of a short run, and the most memory that was held until it ended."""

    epochs: int  # that were measured
    preparing: float  # all before the first epoch, and what that takes longer than others
    epoch: float
    evaluating: float  # all after the last one
    peak: int | None  # bytes

    def total(self, epochs: int) -> float:
        """Seconds of a run of so many epochs."""
        return self.preparing + epochs * self.epoch + self.evaluating


def measure(graph: Graph, method: NodeMethod, training: Training, run: Run) -> Measured:
    """Train for a few epochs, score and forget."""
    device = run.place.device.type
    counted = _COUNTED[device]
    short = replace(training, epochs=_FIRST[device] + counted, patience=None)
    watch = _Watch()
    started = time.perf_counter()
    splits, _ = split_labels(graph, None, run.seeds)
    task = NodeTask.of_splits(graph, splits, replace(run, callbacks=(*run.callbacks, watch)))
    on: Any = fit_candidates(task, {"": (method, short)})
    fit_report(on, splits, task.nodes)
    ended = time.perf_counter()
    if not watch.seen:  # without parameters there is no epoch
        return Measured(
            epochs=0, preparing=ended - started, epoch=0.0, evaluating=0.0, peak=peak_at(run.place)
        )
    last, until = watch.seen[-1]
    first, since = next((one for one in watch.seen[:-1] if one[0] >= _FIRST[device]), watch.seen[0])
    epoch = (until - since) / max(1, last - first)
    return Measured(
        epochs=counted,
        preparing=max(0.0, since - started - first * epoch),
        epoch=epoch,
        evaluating=ended - until,
        peak=peak_at(run.place),
    )


class _Watch(Callback):
    """Note when each epoch was done."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float]] = []

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Note the epoch and the time."""
        self.seen.append((loop.epoch, time.perf_counter()))
