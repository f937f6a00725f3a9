"""Several systems on one data set, interleaved in this process: a row for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import Split
from kernode.studies.bench.rows import Row, ratio
from kernode.studies.bench.systems import REFERENCE, System
from kernode.studies.bench.timing import interleave, summary

Variation = tuple[str, dict[str, Any]]  # a system's name and what is changed in it


def time_side_by_side(
    suite: str,
    variations: Iterable[Variation],
    loaded: tuple[Graph, Split],
    place: Place,
    rounds: int,
    told: Callable[[int], None],
    *,
    reference: Variation = (REFERENCE, {}),
    seconds: float = math.inf,
) -> list[Row]:
    """Time all variations; one of them is the reference, whose time the others are compared with."""
    named = {_name(variation): variation for variation in variations}
    steps = {
        name: System.named(system).start(*loaded, place, **changes)
        for name, (system, changes) in named.items()
    }
    times = interleave(steps, rounds, place.device, seconds=seconds, told=told)
    compared_with = summary(times[_name(reference)])[0]
    rows = []
    for name, (system, changes) in named.items():
        median, quartiles = summary(times[name])
        facts = {"replicas": System.named(system).replicas, "ms_quartiles": quartiles, **changes}
        place_name, faster = place.device.type, ratio(compared_with, median)
        rows.append(Row(suite, system, loaded[0].name, place_name, median, None, faster, facts))
    return rows


def _name(variation: Variation) -> str:
    system, changes = variation
    return f"{system} {sorted(changes.items())}"
