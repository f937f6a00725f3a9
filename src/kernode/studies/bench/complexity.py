"""`complexity`: the paper's section on time and space, measured beside its formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import Split, load
from kernode.studies.bench import formulas
from kernode.studies.bench.alone import Task, measure_alone
from kernode.studies.bench.claims import growth_claims, hop_claim, savings_claims
from kernode.studies.bench.rows import Begin, Claim, Options, Outcome, Row
from kernode.studies.bench.side_by_side import Variation, time_side_by_side

DATA = ("cora",)
# As the paper assumes, every layer has the same width: features, hidden layers and classes. Large enough
# that a layer's n × F numbers show in the memory, and with so many edges that ‖Ā‖₀ F shows beside |V| F².
WIDTH = 32
WIDE = f"synthetic:nodes=100000,degree=20,classes={WIDTH},features={WIDTH},seed=0"
ROUNDS = 20
SECONDS = 90.0  # for the wide graph, whose steps are long
HOPS, LAYERS = (1, 2, 3, 4, 5), (1, 2, 3, 4)
GCNS = ("gcn", "pyg-gcn", "pyg-gcn-csr")  # the first is this library's own
DEFAULT = {"hidden": 16, "layers": 2}

_AS_PUBLISHED: list[Variation] = [
    *((ours, {**DEFAULT, "hops": 2}) for ours in ("n1", "k3")),
    *((gcn, DEFAULT) for gcn in GCNS),
]
_MORE_HOPS: list[Variation] = [("n1", {**DEFAULT, "hops": hops}) for hops in HOPS if hops != 2]


def run(options: Options, begin: Begin) -> Outcome:
    """Measure what the section claims, and say of each claim whether it holds."""
    place, rounds = Place.of(32, options.device), options.rounds or ROUNDS
    data = options.data or DATA
    published = _AS_PUBLISHED + _MORE_HOPS
    advance = begin(len(data) * (rounds + len(published)) + rounds + len(_deeper()))
    done = 0

    def told(note: str) -> None:
        nonlocal done
        done += 1
        advance(done, note)

    rows: list[Row] = []
    claims: list[Claim] = []
    for name in data:
        loaded = load(name)
        entries = formulas.power_entries(loaded[0], max(HOPS))
        own = _measure(name, loaded, published, ("pyg-gcn", DEFAULT), entries, place, rounds, options, told)
        rows += own
        claims += [*savings_claims(own), hop_claim(own, entries)]
    wide = load(WIDE)
    reference = ("pyg-gcn", {"hidden": WIDTH, "layers": 2})
    entries = formulas.power_entries(wide[0], 2)
    own = _measure(WIDE, wide, _deeper(), reference, entries, place, rounds, options, told)
    claims += growth_claims(own, wide[0].n_nodes * WIDTH)
    return Outcome("complexity", place.device.type, rounds, (*rows, *own), claims=tuple(claims))


def _deeper() -> list[Variation]:
    ours = [("n1", {"hidden": WIDTH, "layers": layers, "hops": 2}) for layers in LAYERS]
    return ours + [(gcn, {"hidden": WIDTH, "layers": layers}) for gcn in GCNS for layers in LAYERS]


def _measure(
    name: str,
    loaded: tuple[Graph, Split],
    variations: list[Variation],
    reference: Variation,
    entries: list[int],
    place: Place,
    rounds: int,
    options: Options,
    told: Callable[[str], None],
) -> list[Row]:
    """Time side by side, then memory one by one, and the formulas beside both."""
    timed = time_side_by_side(
        "complexity", variations, loaded, place, rounds, lambda _: told(f"time on {loaded[0].name}"),
        reference=reference, seconds=SECONDS,
    )  # fmt: skip
    rows = []
    for row, (system, changes) in zip(timed, variations, strict=True):
        measured = measure_alone(Task(system, name, changes, threads=options.threads), place, loaded)
        told(f"memory of {system}")
        facts = {
            **row.facts,
            **_formulas(loaded[0], entries, changes),
            "steps_mb": measured.steps_mb,
            "note": measured.note,
        }
        rows.append(replace(row, peak_mb=measured.peak_mb, facts=facts))
    return rows


def _formulas(graph: Graph, entries: list[int], changes: dict[str, Any]) -> dict[str, int]:
    n, width, layers = graph.n_nodes, changes["hidden"], changes["layers"]
    if "hops" in changes:
        time = formulas.time_of_ours(entries[changes["hops"]], n, width, layers)
        return {"formula_time": time, "formula_memory": formulas.memory_of_ours(n, width, layers)}
    time = formulas.time_of_gcn(entries[1], n, width, layers)
    return {"formula_time": time, "formula_memory": formulas.memory_of_gcn(n, width, layers)}
