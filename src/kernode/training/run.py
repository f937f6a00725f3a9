"""One training: which replicas, where they are computed, who is told, where it is kept meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.recipe import Recipe
from kernode.training.checkpoint import Checkpoint
from kernode.training.settings import Training

Progress = Callable[[int, dict[str, np.ndarray]], None]  # epoch, latest values per replica
# Told how many epochs there are and what trains, it gives whoever is told of each.
Telling = Callable[[int, str], Progress]


@dataclass(frozen=True)
class Run:
    """What every training needs beside what it learns from.

    - ``seeds``: one for each of r replicas.
    - ``threads``: CPU threads while it trains; None leaves torch's own number.
    """

    seeds: tuple[int, ...]
    place: Place
    progress: Telling | None = None
    checkpoint: Checkpoint | None = None
    name: str = ""  # of what trains, for whoever waits for it
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.checkpoint is not None and not isinstance(self.checkpoint, Checkpoint):
            raise InputError(f"checkpoint must be a Checkpoint(path). Got {self.checkpoint!r}.")

    @property
    def replicas(self) -> int:
        """r."""
        return len(self.seeds)

    @property
    def precision(self) -> int:
        """32 or 64 bits."""
        return 64 if self.place.dtype == torch.float64 else 32

    def draws(self, replicas: slice = slice(None)) -> Draws:
        """The draws of some of the replicas."""
        return Draws(torch.tensor(self.seeds[replicas], dtype=torch.int64, device=self.place.device))

    def facts(
        self, graph: Graph, method: Recipe, training: Training, data: Iterable[np.ndarray]
    ) -> dict[str, Any]:
        """What two runs must share for one to continue the other's checkpoint; epochs may grow."""
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
        """The same for other replicas."""
        return replace(self, seeds=seeds)

    def called(self, name: str) -> Run:
        """The same with a name for whoever waits, unless it has one."""
        return self if self.name else replace(self, name=name)

    def named(self, name: str) -> Run:
        """The same with a checkpoint file of its own, where several trainings make a whole."""
        if self.checkpoint is None:
            return self
        return replace(self, checkpoint=self.checkpoint.part(name))
