"""What is compared with what: every method on every graph, each match stored by all that decides it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernode.compute.machine import machine
from kernode.compute.place import Place
from kernode.data import split_nodes
from kernode.graph import Graph
from kernode.node_classification.experiment import settings_key
from kernode.node_classification.variants import configure
from kernode.studies.compare.contest import contest
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

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that decides the figures: the graph itself, the splits, and every candidate in full."""
        candidates = []
        for values in self.method.candidates():
            recipe, training = configure(
                self.method.variant,
                settings_key(self.graph),
                tuned=False,
                **{**self.method.changes, **values},
            )
            candidates.append(stored_settings(recipe, training))
        return {
            "kind": "compare",
            "dataset": self.graph.name,
            "fingerprint": self.graph.fingerprint,
            "split": self.split,
            "splits": self.splits,
            "candidates": candidates,
        }

    @cached_property
    def digest(self) -> str:
        """What its result is found by."""
        return digest_of(self.settings)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.graph.name}-{self.method.name}"


def matches(graphs: Iterable[Graph], methods: list[Contestant], splits: int, split: str) -> Iterator[Match]:
    """Every method on every graph."""
    for graph in graphs:
        for method in methods:
            yield Match(graph, method, splits, split)


def play(match: Match, results: Results, place: Place, progress: Telling | None = None) -> dict[str, Any]:
    """The figures of a match: stored ones, or measured and stored now."""
    if stored := results.find(match):
        return stored
    started = time.perf_counter()
    splits = split_nodes(match.graph, match.split, range(match.splits))
    figures = contest(match.graph, match.method, splits, place, progress)
    sizes = {"train": len(splits[0].train), "test": len(splits[0].test)}
    results.save(
        match,
        figures
        | {
            "nodes": sizes,
            "seconds": round(time.perf_counter() - started, 2),
            "device": place.device.type,
            "machine": machine(place.device.type),
        },
    )
    found = results.find(match)
    assert found is not None
    return found
