"""What is compared with what: every method on every graph, each match stored by all that decides it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from kernode.compute.machine import machine
from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.io.node_split import is_per_class
from kernode.studies.compare.candidates import candidates_of
from kernode.studies.compare.choice import CHOOSE_ON
from kernode.studies.compare.contest import contest, rule_of
from kernode.studies.compare.contestants import Contestant
from kernode.studies.compare.stored_settings import stored_settings
from kernode.studies.results import Results, digest_of
from kernode.studies.tasks import Task, run_tasks
from kernode.training.callbacks import Callback

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


def play(match: Match, results: Results, place: Place) -> dict[str, Any]:
    """The figures of a match: stored ones, or measured and stored now."""
    (figures,) = play_all([match], results, place)
    return figures


def play_all(
    matches: Sequence[Match],
    results: Results,
    place: Place,
    *,
    threads: int | None = None,
    here: Callable[[str], AbstractContextManager[dict[str, Any]]] | None = None,
    watch: Callable[[int, str], None] = lambda done, name: None,
) -> list[dict[str, Any]]:
    """The figures of matches, in their order: stored ones, and others measured and stored as each is done.

    They are measured under ``joblib.parallel_config``, each with so many ``threads``. ``here`` is told the
    title of a match that begins in this process, and gives its ``callbacks``; ``watch`` is told of each that
    is done, and of how many are.
    """
    once: dict[str, Match] = {}
    for match in matches:
        if not results.find(match):
            once.setdefault(match.digest, match)
    todo = list(once.values())
    tasks = [Task(measure, (one.graph, one.method, one.splits, one.split, one.choose_on)) for one in todo]

    def titled(number: int) -> AbstractContextManager[dict[str, Any]]:
        one = todo[number]
        title = f"{number + 1} of {len(todo)}: {one.graph.name} {one.method.name}"
        return nullcontext({}) if here is None else here(title)

    found: dict[str, dict[str, Any]] = {}
    with closing(run_tasks(tasks, place, threads=threads, here=titled)) as finished:
        for number, figures in finished:
            found[todo[number].digest] = figures
            # Another machine may have more memory, and another version refuse less.
            if figures.get("failed", {}).get("why") not in ("memory", "refused"):
                results.save(todo[number], figures)
            watch(len(found), todo[number].name)
    return [results.find(match) or found[match.digest] for match in matches]


def measure(
    place: Place,
    graph: Graph,
    method: Contestant,
    count: int,
    split: str,
    choose_on: int,
    callbacks: tuple[Callback, ...] = (),
) -> dict[str, Any]:
    """The figures of a match, what they were measured on, and how long it took."""
    started = time.perf_counter()
    splits = split_nodes(graph, split, range(count))
    figures = contest(graph, method, splits, place, callbacks, choose_on)
    return figures | {
        "nodes": {"train": len(splits[0].train), "test": len(splits[0].test)},
        "overlap": _overlap(split, splits[0]),
        "seconds": round(time.perf_counter() - started, 2),
        "device": place.device.type,
        "machine": machine(place.device.type),
        **_precision(),
    }


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
