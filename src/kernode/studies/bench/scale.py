"""`scale`: time and memory of a step against the number of adjacency entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.io import load
from kernode.studies.bench.alone import Measured, Task, measure_alone
from kernode.studies.bench.growth import exponents
from kernode.studies.bench.rows import Begin, Options, Outcome, Row, ratio

ENTRIES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 20_000_000)
DEGREE, CLASSES, FEATURES = 20, 40, 128
GCN_HIDDEN = 16
ROUNDS = 15


def graph_name(entries: int) -> str:
    """Name the synthetic graph with so many adjacency entries."""
    return f"synthetic:nodes={entries // DEGREE},degree={DEGREE},classes={CLASSES},features={FEATURES},seed=0"


def run(options: Options, begin: Begin) -> Outcome:
    """Measure every system alone on larger and larger graphs: side by side they would not fit."""
    place, rounds = Place.of(32, options.device), options.rounds or ROUNDS
    sizes = [entries for entries in ENTRIES if entries <= options.largest]
    if not sizes:
        raise InputError(f"--largest must be at least {ENTRIES[0]:,} entries. Got {options.largest:g}.")
    systems = _systems(options.hidden)
    advance = begin(len(sizes) * len(systems))
    rows: list[Row] = []
    for entries in sizes:
        name = graph_name(entries)
        loaded = load(name) if place.device.type == "cuda" else None
        measured: dict[tuple[str, int], Measured] = {}
        for system, hidden in systems:
            task = Task(system, name, {"hidden": hidden}, rounds=rounds, threads=options.threads)
            if _takes_minutes(task, entries, place):
                measured[system, hidden] = Measured(note="left out: minutes a step")
            else:
                measured[system, hidden] = measure_alone(task, place, loaded)
            advance(len(rows) + len(measured), f"{system} on {entries:,} entries")
        rows += _rows(entries, measured, place)
    return Outcome("scale", place.device.type, rounds, tuple(rows), _growth(rows, systems))


def _takes_minutes(task: Task, entries: int, place: Place) -> bool:
    """Wide messages along every edge, on a CPU."""
    wide = task.system == "pyg-gcn" and task.changes["hidden"] > GCN_HIDDEN
    return wide and entries > 3_000_000 and place.device.type == "cpu"


def _systems(hidden: int) -> list[tuple[str, int]]:
    """Ours as wide as asked for; PyG's GCN of its usual width, and of ours."""
    widths = dict.fromkeys((GCN_HIDDEN, hidden))
    return [("n1", hidden), ("k3", hidden)] + [(gcn, w) for gcn in ("pyg-gcn", "pyg-gcn-csr") for w in widths]


def _rows(entries: int, measured: dict[tuple[str, int], Measured], place: Place) -> list[Row]:
    reference = measured["pyg-gcn", GCN_HIDDEN].ms_per_step
    return [
        Row(
            "scale", system, graph_name(entries), place.device.type,
            one.ms_per_step, one.peak_mb, ratio(reference, one.ms_per_step),
            {"hidden": hidden, "nodes": entries // DEGREE, "entries": entries,
             "ms_quartiles": one.ms_quartiles, "steps_mb": one.steps_mb, "note": one.note},
        )
        for (system, hidden), one in measured.items()
    ]  # fmt: skip


def _growth(rows: Sequence[Row], systems: list[tuple[str, int]]) -> tuple[dict[str, Any], ...]:
    found = []
    for system, hidden in systems:
        own = [row for row in rows if (row.system, row.facts["hidden"]) == (system, hidden)]
        sizes = [row.facts["entries"] for row in own]
        costs = {
            "ms_per_step": [row.ms_per_step for row in own],
            "peak_mb": [row.peak_mb for row in own],
            "steps_mb": [row.facts["steps_mb"] for row in own],
        }
        for cost, values in costs.items():
            found.append({"system": system, "hidden": hidden, "cost": cost, **exponents(sizes, values)})
    return tuple(found)
