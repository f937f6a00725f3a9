"""Time and memory of systems: several in turns in one process, or one alone in a fresh process.

Turn by turn, whatever disturbs one system disturbs all. Main memory is measured in a fresh process
(`python -m experiments.bench.measure`), since a process never gives back all that it took; on a GPU torch
counts what is allocated.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from experiments import ROOT
from experiments.bench.peak import GpuMemory, MainMemory, Meter, refuse_more_than_free
from experiments.bench.record import Row, ratio
from experiments.bench.systems import REFERENCE, Step, System
from kernode.compute.tensor_options import TensorOptions, set_threads
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph
from kernode.io import Split, load, split_nodes

Variation = tuple[str, dict[str, Any]]  # a system's name and what is changed in it

# A turn runs steps until this many seconds are full: as in training, each step then finds its data in the
# cache, and what it costs to start and stop the clock (on a GPU, to wait for it) is shared.
TURN = {"cpu": 0.02, "cuda": 0.05}
WARM_STEPS = 3  # first calls allocate, choose algorithms and, on a GPU, record what is replayed later …
WARM_SECONDS = 2.0  # … but a step this long is hardly changed by that
LEAST_ROUNDS = 3
NO_ROOM = "does not fit into memory"
STEPS = 5  # enough for the allocator's peak: the second step holds what the first left


def interleave(
    steps: Mapping[str, Step],
    rounds: int,
    device: torch.device,
    *,
    seconds: float = math.inf,
    on_round: Callable[[int], None] = lambda done: None,
) -> dict[str, list[float]]:
    """Milliseconds a step of every system, one value a round: in each round every system has a turn.

    No round begins once ``seconds`` are over, but there are always three.
    """
    lengths = {name: _turn_length(step, device) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    started = time.perf_counter()
    for done in range(rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() - started > seconds:
            break
        for name, step in steps.items():
            times[name].append(1000 * _seconds(step, lengths[name], device) / lengths[name])
        on_round(done + 1)
    return times


def summary(times: list[float]) -> tuple[float, tuple[float, float]]:
    """The median, and the quartiles around it."""
    low, middle, high = np.percentile(times, (25, 50, 75)).tolist()
    return middle, (low, high)


def _turn_length(step: Step, device: torch.device) -> int:
    for _ in range(WARM_STEPS):
        took = _seconds(step, 1, device)
        if took > WARM_SECONDS:
            break
    return max(1, math.ceil(TURN[device.type] / max(took, 1e-6)))


def _seconds(step: Step, times: int, device: torch.device) -> float:
    wait: Callable[[], object] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    for _ in range(times):
        step()
    wait()
    return time.perf_counter() - started


def time_in_turns(
    suite: str,
    variations: Iterable[Variation],
    loaded: tuple[Graph, Split],
    tensor_options: TensorOptions,
    rounds: int,
    on_round: Callable[[int], None],
    *,
    reference: Variation = (REFERENCE, {}),
    seconds: float = math.inf,
) -> list[Row]:
    """Time all variations in turns, and return a row for each, with its ratio to the reference."""
    named = {_name(variation): variation for variation in variations}
    steps = {
        name: System.named(system).start(*loaded, tensor_options, **changes)
        for name, (system, changes) in named.items()
    }
    times = interleave(steps, rounds, tensor_options.device, seconds=seconds, on_round=on_round)
    compared_with = summary(times[_name(reference)])[0]
    rows = []
    for name, (system, changes) in named.items():
        median, quartiles = summary(times[name])
        facts = {"replicas": System.named(system).replicas, "ms_quartiles": quartiles, **changes}
        place_name, faster = tensor_options.device.type, ratio(compared_with, median)
        rows.append(Row(suite, system, loaded[0].name, place_name, median, None, faster, facts))
    return rows


def _name(variation: Variation) -> str:
    system, changes = variation
    return f"{system} {sorted(changes.items())}"


@dataclass(frozen=True)
class Task:
    """A system on a data set by name, with changes (hidden, hops, layers), and how long to time it."""

    system: str
    data: str
    changes: dict[str, Any] = field(default_factory=dict)
    rounds: int = 0  # 0: memory only
    seconds: float = 30.0
    threads: int | None = None


@dataclass(frozen=True)
class Measured:
    """Figures of a task; None where it did not fit or was not requested."""

    ms_per_step: float | None = None
    ms_quartiles: tuple[float, float] | None = None
    peak_mb: float | None = None  # from the graph to the last step
    steps_mb: float | None = None  # the same without what preparing took in passing
    note: str = ""  # why there is no figure


def measure_alone(
    task: Task, tensor_options: TensorOptions, loaded: tuple[Graph, Split] | None = None
) -> Measured:
    """Measure one system; ``loaded`` avoids loading its data again on a GPU."""
    if tensor_options.device.type == "cpu":
        return _in_fresh_process(task)
    meter, loaded = GpuMemory(), loaded or load(task.data)
    measured = _run(task, tensor_options, loaded, meter, _libraries(task, tensor_options, meter))
    meter.reset()
    return measured


def _libraries(task: Task, tensor_options: TensorOptions, meter: Meter) -> int:
    """Bytes of imports, and of what libraries take when they are first used: after everything on a toy.

    Otherwise whatever is measured first would seem to need them.
    """
    toy = _toy()
    usual_hops = {name: value for name, value in task.changes.items() if name != "hops"}
    warming = replace(task, rounds=0, changes=usual_hops)
    tried = _run(warming, tensor_options, (toy, split_nodes(toy, "jk", [0])[0]), meter, 0)
    if tried.note:
        raise InputError(tried.note)
    meter.reset()
    return meter.current()


def _run(
    task: Task, tensor_options: TensorOptions, loaded: tuple[Graph, Split], meter: Meter, before: int
) -> Measured:
    meter.reset()
    try:
        with _empty_cache():
            step = System.named(task.system).start(*loaded, tensor_options, **task.changes)
        preparing = meter.peak()
        meter.reset()
        timing = _timing(task, step, tensor_options)
        stepping = meter.peak()
    except KernodeError as error:  # it may know beforehand that it will not fit
        return Measured(note=str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "allocate" in str(error):
            return Measured(note=NO_ROOM)
        raise
    return Measured(*timing, (max(preparing, stepping) - before) / 1e6, (stepping - before) / 1e6)


def _timing(
    task: Task, step: Step, tensor_options: TensorOptions
) -> tuple[float | None, tuple[float, float] | None]:
    if task.rounds:
        return summary(
            interleave({"it": step}, task.rounds, tensor_options.device, seconds=task.seconds)["it"]
        )
    for _ in range(STEPS):
        step()
    return None, None


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Use an empty cache: a hop operator that is read from one would hide the cost of computing it."""
    before = os.environ.get("KERNODE_CACHE")
    with TemporaryDirectory() as folder:
        os.environ["KERNODE_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["KERNODE_CACHE"]
            if before is not None:
                os.environ["KERNODE_CACHE"] = before


def _in_fresh_process(task: Task) -> Measured:
    command = [sys.executable, "-P", "-m", "experiments.bench.measure", json.dumps(asdict(task))]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": paths}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if ended.returncode == -9:  # SIGKILL: the system made room by ending it
        return Measured(note=NO_ROOM)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or [f"it ended with status {ended.returncode}"])[-1]
        kind = InputError if ended.returncode == InputError.exit_status else KernodeError
        raise kind(f"{task.system} on {task.data} could not be measured: {last}")
    return Measured(**json.loads(ended.stdout.splitlines()[-1]))


def _fresh_process(task: Task) -> Measured:
    """What the fresh process does: everything once on a toy, then the data, then the measurement."""
    set_threads(task.threads)
    tensor_options, meter = TensorOptions.of(32, "cpu"), MainMemory()
    libraries = _libraries(task, tensor_options, meter)
    loaded = load(task.data)
    refuse_more_than_free()
    return _run(task, tensor_options, loaded, meter, libraries)


def _toy() -> Graph:
    """A ring around a hub: two hops reach every node, so that the operator is factored, as on large graphs,
    and the libraries for that are loaded here.
    """
    rim = np.arange(1, 60)
    edges = np.concatenate([np.column_stack([rim, np.roll(rim, 1)]), np.column_stack([rim, 0 * rim])])
    return Graph.from_edges(edges, features=np.eye(60, dtype=np.float32), labels=np.arange(60) % 3)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        print(json.dumps(asdict(_fresh_process(Task(**json.loads(sys.argv[1]))))))  # noqa: T201
    except KernodeError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(error.exit_status) from None
