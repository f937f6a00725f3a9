"""`replicas`: what more runs in one stack cost, as multiples of one step of PyG's GCN."""

from __future__ import annotations

from dataclasses import replace

from kernode.compute.place import Place
from kernode.io import load
from kernode.studies.bench.rows import Begin, Options, Outcome, Row
from kernode.studies.bench.side_by_side import time_side_by_side
from kernode.studies.bench.systems import REFERENCE

DATA = ("cora",)
REPLICAS = (1, 2, 5, 10, 20)
MORE_ON_GPU = (48,)
ROUNDS = 30


def run(options: Options, begin: Begin) -> Outcome:
    """Time K3 and N1 with more and more replicas."""
    place, rounds = Place.of(32, options.device), options.rounds or ROUNDS
    data = options.data or DATA
    counts = REPLICAS + (MORE_ON_GPU if place.device.type == "cuda" else ())
    systems = [f"{ours}x{count}" if count > 1 else ours for ours in ("k3", "n1") for count in counts]
    advance = begin(len(data) * rounds)
    rows: list[Row] = []
    for i, name in enumerate(data):
        timed = time_side_by_side(
            "replicas",
            [(system, {}) for system in (REFERENCE, *systems)],
            load(name),
            place,
            rounds,
            lambda done, i=i, name=name: advance(i * rounds + done, name),  # type: ignore[misc]
        )
        rows += [_per_replica(row) for row in timed]
    return Outcome("replicas", place.device.type, rounds, tuple(rows))


def _per_replica(row: Row) -> Row:
    assert row.ms_per_step is not None
    assert row.ratio_to_pyg_gcn is not None
    replicas, gcn_steps = row.facts["replicas"], 1 / row.ratio_to_pyg_gcn
    more = {
        "ms_per_replica": row.ms_per_step / replicas,
        "gcn_steps": gcn_steps,
        "gcn_steps_per_replica": gcn_steps / replicas,
    }
    return replace(row, facts={**row.facts, **more})
