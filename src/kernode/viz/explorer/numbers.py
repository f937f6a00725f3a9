"""The explorer of a model of numbers: its state, and its answers about nodes."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.explain.numbers import NumberExplanation, explain_number, what_if_number
from kernode.explain.similar import restricted
from kernode.graph import Graph, positions
from kernode.graph.edits import Edit
from kernode.tasks.numbers.evaluation import COVERAGE
from kernode.tasks.numbers.model import NumbersOnGraph
from kernode.viz.explorer.state import ExplorerNodes
from kernode.viz.numbers import NumberEvaluation

_RANGES = 8  # of numbers, each with its colour
NO_PAIR = "Two nodes have a similarity here, and no explanation: a covariance is not a sum over neighbours."

Answer = dict[str, Any]


class NumberState(NumberEvaluation, ExplorerNodes):
    """Numbers of all nodes, their coordinates and their names."""

    no_explanation = None
    no_change = None

    @cached_property
    def by_position(self) -> NumbersOnGraph:
        """The model on the graph without names: results identify nodes by position."""
        return _without_names(self.on)

    @cached_property
    def edges_of_ranges(self) -> np.ndarray:
        """Numbers between ranges that have about as many nodes each."""
        values = np.where(np.isfinite(self.known), self.known, self.numbers)
        inner = np.quantile(values, np.arange(1, _RANGES) / _RANGES)
        return np.unique(inner[inner > values.min()])

    @cached_property
    def ranges(self) -> tuple[str, ...]:
        """Names of the ranges."""
        edges = self.edges_of_ranges.tolist()
        if not edges:
            return ("any",)
        for digits in range(3, 18):
            texts = [f"{one:.{digits}g}".replace("-", "−") for one in edges]
            if len(set(texts)) == len(texts):
                break
        middle = [f"{low} to {high}" for low, high in pairwise(texts)]
        return (f"below {texts[0]}", *middle, f"from {texts[-1]} on")

    def range_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the range of each number, −1 for NaN."""
        found = np.searchsorted(self.edges_of_ranges, numbers, side="right")
        return np.where(np.isfinite(numbers), found, -1)

    def node(self, at: int) -> Answer:
        """Return the fields that every mention of a node has; its classes are ranges of numbers."""
        known, number = self.known[at], self.numbers[at]
        there = bool(np.isfinite(known))
        return {
            "name": self.node_names[at],
            "index": int(at),
            "known": float(known) if there else None,
            "predicted": float(number),
            "known_class": self.ranges[int(self.range_of(known))] if there else None,
            "predicted_class": self.ranges[int(self.range_of(number))],
            **self.graph.listed_marks(at)[0],
        }

    def prepared(self) -> NumberState:
        """Compute all that every answer needs."""
        _ = self.picture, self.description, self.intervals, self.by_position
        return self

    @cached_property
    def description(self) -> Answer:
        """What the page shows first."""
        model = self.model
        predicted = np.bincount(self.range_of(self.numbers), minlength=len(self.ranges))
        known = self.range_of(self.known)
        known = np.bincount(known[known >= 0], minlength=len(self.ranges))
        return {
            "task": "numbers",
            "target": self.target,
            **self.sizes,
            "variant": model.method.title,
            "map": None if model.method.map is None else repr(model.method.map),
            "kernel": repr(model.method.covariance),
            "runs": len(model.seeds),
            "known": int(model.train.shape[1]),
            "mean": model.center,
            "spread": model.spread,
            "interval": {"coverage": COVERAGE, "method": self.interval},
            "classes": [
                {"name": name, "known": int(known[i]), "predicted": int(predicted[i])}
                for i, name in enumerate(self.ranges)
            ],
            "model_classes": [],
            "no_explanation": None,
            "no_pair": NO_PAIR,
            "no_change": None,
            "columns": self.columns,
        }

    @cached_property
    def picture(self) -> bytes:
        """As of a model of classes, with ranges of numbers; the last is how small the deviation is."""
        sure = np.round(255 * (1 - np.minimum(1, self.deviations / self.model.spread)))
        return b"".join(
            (
                struct.pack("<II", len(self.points), len(self.ranges)),
                self.places.tobytes(),
                self.range_of(self.numbers).astype("<u2").tobytes(),
                (self.range_of(self.known) + 1).astype("<u2").tobytes(),
                sure.astype(np.uint8).tobytes(),
            )
        )


def _without_names(on: NumbersOnGraph) -> NumbersOnGraph:
    found = replace(on, graph=replace(on.graph, node_names=None), known_g=on.g)
    vars(found)["posterior"] = on.posterior
    return found


def node_answer(state: NumberState, at: int) -> Answer:
    """The number of a node and its deviation; its interval, unless it was learned from."""
    learned = bool(np.isin(at, state.model.train))
    return {
        "number": float(state.numbers[at]),
        "deviation": float(state.deviations[at]),
        "learned": learned,
        "interval": None if learned else state.intervals[at].tolist(),
    }


def explanation(state: NumberState, at: int, top: int) -> Answer:
    """Why a node has its number, as plain values."""
    return _explained(state, explain_number(state.by_position, at, top))


def _explained(state: NumberState, found: NumberExplanation) -> Answer:
    known = [
        {**state.node(int(one.node)), "value": one.value, "weight": one.weight, "number": one.number}
        for one in found.known
    ]
    names = ("number", "deviation", "mean", "parts", "rest", "rest_count")
    return {name: getattr(found, name) for name in names} | {"numbers": known}


def changed(state: NumberState, at: int, edit: Edit) -> Answer:
    """The number of a node before and after a change."""
    found = what_if_number(state.by_position, at, edit)
    names = ("number", "deviation")
    before, after = (dict(zip(names, one, strict=True)) for one in (found.before, found.after))
    return {"before": before, "after": after}


def arrived(state: NumberState, larger: Graph, k: int) -> Answer:
    """The number of a node that is new in a larger graph, the last one."""
    n = state.graph.n_nodes
    on = _without_names(state.on.on_graph(larger))
    why = explain_number(on, n, 10)
    (found,) = on.kernel.similar(positions([n]), k, among=restricted(on.graph))
    return {
        "number": why.number,
        "deviation": why.deviation,
        "class": state.ranges[int(state.range_of(np.array(why.number)))],
        "similar": [{**state.node(one), "similarity": value} for one, value in found],
        "explanation": _explained(state, why),
    }


def refuse_classes(given: Mapping[str, Any]) -> None:
    """Refuse parameters about classes."""
    for name in (name for name, value in given.items() if value is not None):
        raise InputError(f"{name} is of classes, and the model predicts numbers: leave it out.", "no-effect")
