"""One system alone: peak memory, and time where it is asked for.

Main memory is measured in a fresh process (`python -m kernode.studies.bench.alone`), since a process never
gives back all that it took; on a GPU torch counts what is allocated, and no process is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kernode.compute.place import Place, set_threads
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph
from kernode.io import Split, load, split_nodes
from kernode.studies.bench.peak import GpuMemory, MainMemory, Meter, refuse_more_than_free
from kernode.studies.bench.systems import System
from kernode.studies.bench.timing import Step, interleave, summary

NO_ROOM = "does not fit into memory"
STEPS = 5  # enough for the allocator's peak: the second step holds what the first left


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
    """What a task gave; None where it did not fit or was not asked for."""

    ms_per_step: float | None = None
    ms_quartiles: tuple[float, float] | None = None
    peak_mb: float | None = None  # from the graph to the last step
    steps_mb: float | None = None  # the same without what preparing took in passing
    note: str = ""  # why there is no figure


def measure_alone(task: Task, place: Place, loaded: tuple[Graph, Split] | None = None) -> Measured:
    """Measure a task; ``loaded`` spares loading its data again on a GPU."""
    if place.device.type == "cpu":
        return _in_fresh_process(task)
    meter, loaded = GpuMemory(), loaded or load(task.data)
    measured = _run(task, place, loaded, meter, _libraries(task, place, meter))
    meter.forget()
    return measured


def _libraries(task: Task, place: Place, meter: Meter) -> int:
    """Bytes of imports, and of what libraries take when they are first used: after everything on a toy.

    Otherwise whatever is measured first would seem to need them.
    """
    toy = _toy()
    usual_hops = {name: value for name, value in task.changes.items() if name != "hops"}
    warming = replace(task, rounds=0, changes=usual_hops)
    tried = _run(warming, place, (toy, split_nodes(toy, "jk", [0])[0]), meter, 0)
    if tried.note:
        raise InputError(tried.note)
    meter.forget()
    return meter.held()


def _run(task: Task, place: Place, loaded: tuple[Graph, Split], meter: Meter, before: int) -> Measured:
    meter.forget()
    try:
        with _nothing_kept():
            step = System.named(task.system).start(*loaded, place, **task.changes)
        preparing = meter.most()
        meter.forget()
        timing = _timing(task, step, place)
        stepping = meter.most()
    except KernodeError as error:  # it may know beforehand that it will not fit
        return Measured(note=str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "allocate" in str(error):
            return Measured(note=NO_ROOM)
        raise
    return Measured(*timing, (max(preparing, stepping) - before) / 1e6, (stepping - before) / 1e6)


def _timing(task: Task, step: Step, place: Place) -> tuple[float | None, tuple[float, float] | None]:
    if task.rounds:
        return summary(interleave({"it": step}, task.rounds, place.device, seconds=task.seconds)["it"])
    for _ in range(STEPS):
        step()
    return None, None


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Have an empty cache: a hop operator that is read from it would hide what computing it takes."""
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
    command = [sys.executable, "-P", "-m", "kernode.studies.bench.alone", json.dumps(asdict(task))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
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
    place, meter = Place.of(32, "cpu"), MainMemory()
    libraries = _libraries(task, place, meter)
    loaded = load(task.data)
    refuse_more_than_free()
    return _run(task, place, loaded, meter, libraries)


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
