"""The suites: step, scale, replicas, memory and complexity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.bench import claims as cost
from experiments.bench.measure import Measured, Task, Variation, measure_alone, time_in_turns
from experiments.bench.pyg import layers_of_pyg
from experiments.bench.record import Claim, Outcome, Row, ratio
from experiments.bench.systems import REFERENCE, System
from kernode.compute.tensor_options import TensorOptions, set_threads
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split, load

Advance = Callable[[int, str], None]  # how far, and a note for the progress bar
Begin = Callable[[int], Advance]  # takes the number of turns

DATA = ("cora", "citeseer", "pubmed")
OURS = ("n1", "k3", "n1x10", "k3x10")
STEP_RIVALS = ("pyg-gcn", "pyg-gcn-csr", "pyg-gat", "pyg-sgc", "pyg-sign")
SYSTEMS = (*OURS, "k3x10-epoch", *STEP_RIVALS)  # of `step`


@dataclass(frozen=True)
class Options:
    """Options of a suite; None leaves the choice to it."""

    device: str = "auto"
    data: tuple[str, ...] = ()
    rounds: int | None = None
    threads: int | None = None
    largest: float = 2e7  # adjacency entries of the largest graph, in `scale`

    @property
    def tensor_options(self) -> TensorOptions:
        """Device, in float32."""
        return TensorOptions.of(32, self.device)


def step(options: Options, begin: Begin) -> Outcome:
    """Time one training step of every system, in turns, on each data set."""
    tensor_options, rounds, data = options.tensor_options, options.rounds or 50, options.data or DATA
    advance = begin(len(data) * rounds)
    rows: list[Row] = []
    for i, name in enumerate(data):
        loaded = load(name)
        peaks: dict[str, float | None] = {}
        if tensor_options.device.type == "cuda":  # on a CPU this takes a process each: the suite `memory`
            peaks = {one: measure_alone(Task(one, name), tensor_options, loaded).peak_mb for one in SYSTEMS}
        timed = time_in_turns(
            "step",
            [(system, {}) for system in SYSTEMS],
            loaded,
            tensor_options,
            rounds,
            lambda done, i=i, name=name: advance(i * rounds + done, name),  # type: ignore[misc]
        )
        rows += [replace(row, peak_mb=peaks.get(row.system)) for row in timed]
    return Outcome("step", tensor_options.device.type, rounds, tuple(rows))


REPLICAS = (1, 2, 5, 10, 20)
MORE_ON_GPU = (48,)


def replicas(options: Options, begin: Begin) -> Outcome:
    """Time K3 and N1 with more and more replicas in one stack, as multiples of a step of PyG's GCN."""
    tensor_options, rounds, data = options.tensor_options, options.rounds or 30, options.data or DATA[:1]
    counts = REPLICAS + (MORE_ON_GPU if tensor_options.device.type == "cuda" else ())
    systems = [f"{ours}x{count}" if count > 1 else ours for ours in ("k3", "n1") for count in counts]
    advance = begin(len(data) * rounds)
    rows: list[Row] = []
    for i, name in enumerate(data):
        timed = time_in_turns(
            "replicas",
            [(system, {}) for system in (REFERENCE, *systems)],
            load(name),
            tensor_options,
            rounds,
            lambda done, i=i, name=name: advance(i * rounds + done, name),  # type: ignore[misc]
        )
        rows += [_per_replica(row) for row in timed]
    return Outcome("replicas", tensor_options.device.type, rounds, tuple(rows))


def _per_replica(row: Row) -> Row:
    assert row.ms_per_step is not None
    assert row.ratio_to_pyg_gcn is not None
    count, gcn_steps = row.facts["replicas"], 1 / row.ratio_to_pyg_gcn
    more = {
        "ms_per_replica": row.ms_per_step / count,
        "gcn_steps": gcn_steps,
        "gcn_steps_per_replica": gcn_steps / count,
    }
    return replace(row, facts={**row.facts, **more})


def memory(options: Options, begin: Begin) -> Outcome:
    """Measure the peak memory of every system's training, above what the imports hold."""
    tensor_options, data = options.tensor_options, options.data or DATA
    systems = (*OURS, *STEP_RIVALS)
    advance = begin(len(data) * len(systems))
    rows: list[Row] = []
    for name in data:
        loaded = load(name)
        for system in systems:
            task = Task(f"{system}-epoch", name, threads=options.threads)
            found = measure_alone(task, tensor_options, loaded)
            facts = {
                "replicas": System.named(system).replicas,
                "steps_mb": found.steps_mb,
                "note": found.note,
            }
            rows.append(
                Row(
                    "memory",
                    system,
                    loaded[0].name,
                    tensor_options.device.type,
                    peak_mb=found.peak_mb,
                    facts=facts,
                )
            )
            advance(len(rows), f"{system} on {name}")
    return Outcome("memory", tensor_options.device.type, 1, tuple(rows))


# Members of the default that aggregate in every layer, with their width and depth.
STAGED = {"stages": {"hidden": 64, "layers": 8}, "stages-wide": {"hidden": 256, "layers": 4}}
SHOP = "synthetic:nodes=14000,degree=36,classes=10,features=700"  # the size of Amazon Computers


def stages(options: Options, begin: Begin) -> Outcome:
    """Time an epoch of Eq. 7 in stages beside PyG's SAGE and GCN of the same width and depth."""
    tensor_options, rounds = options.tensor_options, options.rounds or 10
    data, rows = options.data or ("cora", "pubmed", SHOP), list[Row]()
    advance, done = begin(len(data) * len(STAGED) * rounds), 0
    for name in data:
        loaded = load(name)
        for ours, shape in STAGED.items():
            rivals = [(f"{rival}-epoch", shape) for rival in ("pyg-sage", "pyg-sage-csr", REFERENCE)]
            rows += time_in_turns(
                "stages", [(f"{ours}-epoch", {}), *rivals], loaded, tensor_options, rounds,
                lambda turn, done=done, name=name: advance(done + turn, name),  # type: ignore[misc]
                reference=rivals[-1],
            )  # fmt: skip
            done += rounds
    return Outcome("stages", tensor_options.device.type, rounds, tuple(rows))


ENTRIES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 20_000_000)
DEGREE, CLASSES, FEATURES = 20, 40, 128
HIDDEN, GCN_HIDDEN = 128, 16
SIZED = (  # PyG's GCN of its usual width, and of ours
    ("n1", HIDDEN),
    ("k3", HIDDEN),
    *((gcn, width) for gcn in ("pyg-gcn", "pyg-gcn-csr") for width in (GCN_HIDDEN, HIDDEN)),
)


def graph_name(entries: int) -> str:
    """Name the synthetic graph with so many adjacency entries."""
    return f"synthetic:nodes={entries // DEGREE},degree={DEGREE},classes={CLASSES},features={FEATURES},seed=0"


def scale(options: Options, begin: Begin) -> Outcome:
    """Measure time and memory of every system, each alone, on larger and larger graphs."""
    tensor_options, rounds = options.tensor_options, options.rounds or 15
    sizes = [entries for entries in ENTRIES if entries <= options.largest]
    if not sizes:
        raise InputError(
            f"the largest graph must have at least {ENTRIES[0]:,} entries. Got {options.largest:g}.",
            "setting",
            setting="largest",
            value=options.largest,
        )
    advance = begin(len(sizes) * len(SIZED))
    rows: list[Row] = []
    for entries in sizes:
        name = graph_name(entries)
        loaded = load(name) if tensor_options.device.type == "cuda" else None
        measured: dict[tuple[str, int], Measured] = {}
        for system, hidden in SIZED:
            task = Task(system, name, {"hidden": hidden}, rounds=rounds, threads=options.threads)
            if _takes_minutes(task, entries, tensor_options):
                measured[system, hidden] = Measured(note="left out: minutes a step")
            else:
                measured[system, hidden] = measure_alone(task, tensor_options, loaded)
            advance(len(rows) + len(measured), f"{system} on {entries:,} entries")
        rows += _sized_rows(entries, measured, tensor_options)
    return Outcome("scale", tensor_options.device.type, rounds, tuple(rows), _growth(rows))


def _takes_minutes(task: Task, entries: int, tensor_options: TensorOptions) -> bool:
    """Wide messages along every edge, on a CPU."""
    wide = task.system == "pyg-gcn" and task.changes["hidden"] > GCN_HIDDEN
    return wide and entries > 3_000_000 and tensor_options.device.type == "cpu"


def _sized_rows(
    entries: int, measured: dict[tuple[str, int], Measured], tensor_options: TensorOptions
) -> list[Row]:
    reference = measured["pyg-gcn", GCN_HIDDEN].ms_per_step
    return [
        Row(
            "scale", system, graph_name(entries), tensor_options.device.type,
            one.ms_per_step, one.peak_mb, ratio(reference, one.ms_per_step),
            {"hidden": hidden, "nodes": entries // DEGREE, "entries": entries,
             "ms_quartiles": one.ms_quartiles, "steps_mb": one.steps_mb, "note": one.note},
        )
        for (system, hidden), one in measured.items()
    ]  # fmt: skip


def _growth(rows: Sequence[Row]) -> tuple[dict[str, Any], ...]:
    found = []
    for system, hidden in SIZED:
        own = [row for row in rows if (row.system, row.facts["hidden"]) == (system, hidden)]
        sizes = [row.facts["entries"] for row in own]
        costs = {
            "ms_per_step": [row.ms_per_step for row in own],
            "peak_mb": [row.peak_mb for row in own],
            "steps_mb": [row.facts["steps_mb"] for row in own],
        }
        for name, values in costs.items():
            found.append({"system": system, "hidden": hidden, "cost": name, **exponents(sizes, values)})
    return tuple(found)


def exponent(sizes: Sequence[float], costs: Sequence[float | None]) -> float | None:
    """Return the slope of the least-squares line through log cost over log size; None below two points.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    points = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if cost and cost > 0]
    if len({size for size, _ in points}) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def upper_decade(sizes: Sequence[float]) -> list[bool]:
    """Which sizes are at least a tenth of the largest: there fixed costs no longer hide the growth."""
    return [size >= max(sizes) / 10 for size in sizes]


def exponents(sizes: Sequence[float], costs: Sequence[float | None]) -> dict[str, Any]:
    """The exponent over all sizes and over the upper decade."""
    upper = [cost if inside else None for cost, inside in zip(costs, upper_decade(sizes), strict=True)]
    return {
        "all_sizes": _rounded(exponent(sizes, costs)),
        "upper_decade": _rounded(exponent(sizes, upper)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# As the paper assumes, every layer has the same width: features, hidden layers and classes. Large enough
# that a layer's n × F numbers show in the memory, and with so many edges that ‖Ā‖₀ F shows next to |V| F².
WIDTH = 32
WIDE = f"synthetic:nodes=100000,degree=20,classes={WIDTH},features={WIDTH},seed=0"
SECONDS = 90.0  # for the wide graph, whose steps are long
HOPS, LAYERS = (1, 2, 3, 4, 5), (1, 2, 3, 4)
GCNS = ("gcn", "pyg-gcn", "pyg-gcn-csr")  # the first is this library's own
DEFAULT = {"hidden": 16, "layers": 2}

_AS_PUBLISHED: list[Variation] = [
    *((ours, {**DEFAULT, "hops": 2}) for ours in ("n1", "k3")),
    *((gcn, DEFAULT) for gcn in GCNS),
]
_MORE_HOPS: list[Variation] = [("n1", {**DEFAULT, "hops": hops}) for hops in HOPS if hops != 2]


def complexity(options: Options, begin: Begin) -> Outcome:
    """Measure the costs that the paper claims next to its formulas, with a verdict on each claim."""
    tensor_options, rounds, data = options.tensor_options, options.rounds or 20, options.data or DATA[:1]
    published = _AS_PUBLISHED + _MORE_HOPS
    advance = begin(len(data) * (rounds + len(published)) + rounds + len(_deeper()))
    done = 0

    def on_turn(note: str) -> None:
        nonlocal done
        done += 1
        advance(done, note)

    rows: list[Row] = []
    claims: list[Claim] = []
    for name in data:
        loaded = load(name)
        entries = cost.power_entries(loaded[0], max(HOPS))
        own = _measure(
            name, loaded, published, ("pyg-gcn", DEFAULT), entries, tensor_options, rounds, options, on_turn
        )
        rows += own
        claims += [*cost.savings_claims(own), cost.hop_claim(own, entries)]
    wide = load(WIDE)
    reference = ("pyg-gcn", {"hidden": WIDTH, "layers": 2})
    entries = cost.power_entries(wide[0], 2)
    own = _measure(WIDE, wide, _deeper(), reference, entries, tensor_options, rounds, options, on_turn)
    claims += cost.growth_claims(own, wide[0].n_nodes * WIDTH)
    return Outcome("complexity", tensor_options.device.type, rounds, (*rows, *own), claims=tuple(claims))


def _deeper() -> list[Variation]:
    ours = [("n1", {"hidden": WIDTH, "layers": layers, "hops": 2}) for layers in LAYERS]
    return ours + [(gcn, {"hidden": WIDTH, "layers": layers}) for gcn in GCNS for layers in LAYERS]


def _measure(
    name: str,
    loaded: tuple[Graph, Split],
    variations: list[Variation],
    reference: Variation,
    entries: list[int],
    tensor_options: TensorOptions,
    rounds: int,
    options: Options,
    on_turn: Callable[[str], None],
) -> list[Row]:
    """Time in turns, memory one by one, and the formulas."""
    timed = time_in_turns(
        "complexity", variations, loaded, tensor_options, rounds,
        lambda _: on_turn(f"time on {loaded[0].name}"), reference=reference, seconds=SECONDS,
    )  # fmt: skip
    rows = []
    for row, (system, changes) in zip(timed, variations, strict=True):
        measured = measure_alone(Task(system, name, changes, threads=options.threads), tensor_options, loaded)
        on_turn(f"memory of {system}")
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
        time = cost.time_of_ours(entries[changes["hops"]], n, width, layers)
        return {"formula_time": time, "formula_memory": cost.memory_of_ours(n, width, layers)}
    time = cost.time_of_gcn(entries[1], n, width, layers)
    return {"formula_time": time, "formula_memory": cost.memory_of_gcn(n, width, layers)}


SUITES: dict[str, Callable[[Options, Begin], Outcome]] = {
    "step": step,
    "scale": scale,
    "replicas": replicas,
    "memory": memory,
    "complexity": complexity,
    "stages": stages,
}


def run_suite(suite: str, options: Options, begin: Begin) -> Outcome:
    """Run one suite."""
    layers_of_pyg()  # before anything is computed
    set_threads(options.threads)
    return SUITES[suite](options, begin)
