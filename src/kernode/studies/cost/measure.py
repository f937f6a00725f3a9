"""How long a run takes, predicted from a few epochs of the training itself on the graph itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from kernode.compute.gpu import WARM_UP
from kernode.compute.machine import peak_at
from kernode.graph import Graph
from kernode.node_classification import experiment
from kernode.node_classification.method import NodeMethod
from kernode.training.run import Progress, Run
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
    watch = _Watch(run)
    started = time.perf_counter()
    experiment.run_method(graph, method, short, replace(run, progress=watch.begin, checkpoint=None))
    ended = time.perf_counter()
    if not watch.told:  # without parameters there is no epoch
        return Measured(
            epochs=0, preparing=ended - started, epoch=0.0, evaluating=0.0, peak=peak_at(run.place)
        )
    last, until = watch.told[-1]
    first, since = next((one for one in watch.told[:-1] if one[0] >= _FIRST[device]), watch.told[0])
    epoch = (until - since) / max(1, last - first)
    return Measured(
        epochs=counted,
        preparing=max(0.0, since - started - first * epoch),
        epoch=epoch,
        evaluating=ended - until,
        peak=peak_at(run.place),
    )


@dataclass(frozen=True)
class _Watch:
    """Notes when a run tells of its epochs, and passes it on."""

    run: Run
    told: list[tuple[int, float]] = field(default_factory=list)

    def begin(self, epochs: int, name: str) -> Progress:
        pass_on = self.run.progress(epochs, name) if self.run.progress else None

        def tell(epoch: int, values: dict[str, Any]) -> None:
            self.told.append((epoch, time.perf_counter()))
            if pass_on is not None:
                pass_on(epoch, values)

        return tell
