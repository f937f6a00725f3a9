"""Systems by name: ours as variant, replicas and whether it evaluates (k3x10-epoch), PyG's as pyg-…."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.bench.pyg import RIVALS, Rival
from experiments.runs import training_step
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split
from kernode.tasks.classes.variants import VARIANTS

Step = Callable[[], object]
REFERENCE = "pyg-gcn"
_NAME = re.compile(r"(?P<kind>.+?)(x(?P<replicas>\d+))?(?P<epoch>-epoch)?")


@dataclass(frozen=True)
class System:
    """A system of the benchmark.

    >>> System.named("k3x10-epoch")
    System(kind='k3', replicas=10, epoch=True)
    """

    kind: str  # a variant of ours, or one of RIVALS
    replicas: int = 1
    epoch: bool = False  # evaluates after each step

    @classmethod
    def named(cls, name: str) -> System:
        """Parse a name."""
        found = _NAME.fullmatch(name)
        kind = found["kind"] if found else name
        system = cls(kind, int(found["replicas"] or 1) if found else 1, bool(found and found["epoch"]))
        if kind not in (*VARIANTS, *RIVALS) or (kind in RIVALS and system.replicas > 1):
            raise InputError(
                f"{name!r} is not a system. Name a variant (k3, k3x10) or one of {RIVALS}.",
                "unknown",
                what="system",
                name=name,
            )
        return system

    def start(self, graph: Graph, split: Split, tensor_options: TensorOptions, **changes: Any) -> Step:
        """Prepare everything, and return what takes one step. Changes: hidden, layers, and for ours hops."""
        if self.kind not in RIVALS:
            return training_step(
                graph, split, self.kind, self.replicas, tensor_options, evaluate=self.epoch, **changes
            )
        rival = Rival(graph, split, self.kind, tensor_options, **changes)
        if not self.epoch:
            return rival.step
        return lambda: (rival.step(), rival.evaluate())
