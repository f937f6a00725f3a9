"""`step`: one training step of every system on each data set."""

from __future__ import annotations

from dataclasses import replace

from kernode.compute.place import Place
from kernode.io import load
from kernode.studies.bench.alone import Task, measure_alone
from kernode.studies.bench.rivals import RIVALS
from kernode.studies.bench.rows import Begin, Options, Outcome, Row
from kernode.studies.bench.side_by_side import time_side_by_side

DATA = ("cora", "citeseer", "pubmed")
SYSTEMS = ("n1", "k3", "n1x10", "k3x10", "k3x10-epoch", *RIVALS)
ROUNDS = 50


def run(options: Options, begin: Begin) -> Outcome:
    """Time all systems, interleaved, data set by data set."""
    place, rounds = Place.of(32, options.device), options.rounds or ROUNDS
    data = options.data or DATA
    advance = begin(len(data) * rounds)
    rows: list[Row] = []
    for i, name in enumerate(data):
        loaded = load(name)
        peaks: dict[str, float | None] = {}
        if place.device.type == "cuda":  # on a CPU this takes a process each: the suite `memory`
            peaks = {one: measure_alone(Task(one, name), place, loaded).peak_mb for one in SYSTEMS}
        timed = time_side_by_side(
            "step",
            [(system, {}) for system in SYSTEMS],
            loaded,
            place,
            rounds,
            lambda done, i=i, name=name: advance(i * rounds + done, name),  # type: ignore[misc]
        )
        rows += [replace(row, peak_mb=peaks.get(row.system)) for row in timed]
    return Outcome("step", place.device.type, rounds, tuple(rows))
