"""What is compared with what: every method on every graph, each match stored by all that decides it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from kernode.compute.machine import machine
from kernode.compute.place import Place
from kernode.data import Split, split_nodes
from kernode.data.node_split import is_per_class
from kernode.graph import Graph
from kernode.studies.compare.candidates import candidates_of
from kernode.studies.compare.choice import CHOOSE_ON
from kernode.studies.compare.contest import contest, rule_of
from kernode.studies.compare.contestants import Contestant
from kernode.studies.compare.stored_settings import stored_settings
from kernode.studies.results import Results, digest_of
from kernode.training.run import Telling

SPLIT = "0.6/0.2/0.2"


@dataclass(frozen=True)
class Match:
    """A method on a graph, over some splits."""

    graph: Graph
    method: Contestant
    splits: int
    split: str = SPLIT
    choose_on: int = CHOOSE_ON  # splits that choose a candidate; 0: each for itself

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that decides the figures: graph, splits, every candidate in full, and how one is chosen."""
        candidates = candidates_of(self.method, self.graph)
        return {
            "kind": "compare",
            "dataset": self.graph.name,
            "fingerprint": self.graph.fingerprint,
            "split": self.split,
            "splits": self.splits,
            "candidates": [stored_settings(one.method, one.training) for one in candidates],
            **rule_of(self.method, len(candidates), self.choose_on),
        }

    @cached_property
    def digest(self) -> str:
        """What its result is found by."""
        return digest_of(self.settings)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.graph.name}-{self.method.name}"


def matches(
    graphs: Iterable[Graph], methods: list[Contestant], splits: int, split: str, choose_on: int = CHOOSE_ON
) -> Iterator[Match]:
    """Every method on every graph."""
    for graph in graphs:
        for method in methods:
            yield Match(graph, method, splits, split, choose_on)


def play(match: Match, results: Results, place: Place, progress: Telling | None = None) -> dict[str, Any]:
    """The figures of a match: stored ones, or measured and stored now."""
    if stored := results.find(match):
        return stored
    started = time.perf_counter()
    splits = split_nodes(match.graph, match.split, range(match.splits))
    figures = contest(match.graph, match.method, splits, place, progress, match.choose_on)
    figures |= {
        "nodes": {"train": len(splits[0].train), "test": len(splits[0].test)},
        "overlap": _overlap(match.split, splits[0]),
        "seconds": round(time.perf_counter() - started, 2),
        "device": place.device.type,
        "machine": machine(place.device.type),
        **_precision(),
    }
    if figures.get("failed", {}).get("why") == "memory":  # another machine may have more of it
        return figures
    results.save(match, figures)
    found = results.find(match)
    assert found is not None
    return found


def _precision() -> dict[str, str]:
    """How exact matrix products in float32 are, where that is not to the last bit (TF32 on a GPU)."""
    precision = torch.get_float32_matmul_precision()
    return {} if precision == "highest" else {"float32_products": precision}


def _overlap(how: str, split: Split) -> float:
    """How much splits repeat one another, as Nadeau and Bengio's correction counts it.

    With some nodes per class hardly any training node is in two splits. Each is then a draw of its own, and
    Student's test is right about this graph; theirs, made for small test sets, would never see a difference.
    """
    return 0.0 if is_per_class(how) else len(split.test) / len(split.train)
