"""Run: seeds of the replicas, device and precision, threads and callbacks of a training."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from kernode.compute.draws import Draws
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.graph import Graph
from kernode.training.callbacks import Callback, TimeLimit
from kernode.training.settings import Training


@dataclass(frozen=True)
class Run:
    """Settings of a training apart from the data and the method.

    - ``seeds``: one for each of r replicas.
    - ``name``: name of the training, for progress and logs.
    - ``threads``: CPU threads; None for torch's own number.
    """

    seeds: tuple[int, ...]
    options: TensorOptions
    callbacks: tuple[Callback, ...] = ()
    name: str = ""
    threads: int | None = None

    @property
    def replicas(self) -> int:
        """Number of replicas, r."""
        return len(self.seeds)

    @property
    def precision(self) -> int:
        """32 or 64 bits."""
        return 64 if self.options.dtype == torch.float64 else 32

    def draws(self, replicas: slice = slice(None)) -> Draws:
        """Return the draws of some of the replicas."""
        return Draws(torch.tensor(self.seeds[replicas], dtype=torch.int64, device=self.options.device))

    def facts(
        self, graph: Graph, method: Config, training: Training, data: Iterable[np.ndarray]
    ) -> dict[str, Any]:
        """Return the facts that must be equal to resume a checkpoint; epochs may grow."""
        facts = {
            "graph": graph.fingerprint,
            "method": method.to_json(),
            "training": training.to_json() | {"epochs": None},
            "data": hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in data)).hexdigest(),
            "seeds": self.seeds,
            "precision": self.precision,
        }
        plain: dict[str, Any] = json.loads(json.dumps(facts))
        return plain

    def with_seeds(self, seeds: tuple[int, ...]) -> Run:
        """Return the run of other replicas."""
        return replace(self, seeds=seeds)

    def within(self, share: float) -> Run:
        """Return the run with a share of the time limit, if there is one."""
        limited = (one.within(share) if isinstance(one, TimeLimit) else one for one in self.callbacks)
        return replace(self, callbacks=tuple(limited))

    @property
    def is_over(self) -> bool:
        """Whether there is a time limit, and it has passed."""
        return any(isinstance(one, TimeLimit) and one.is_over for one in self.callbacks)

    def called(self, name: str) -> Run:
        """Return the run with a name, unless it has one."""
        return self if self.name else replace(self, name=name)

    def part(self, name: str) -> Run:
        """Return the run of one of several trainings that make up a fit, with its own checkpoint files."""
        return replace(self, callbacks=tuple(one.part(name) for one in self.callbacks))
