"""Run the cells that are not there yet, each stored as soon as it is done."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

from kernode.compute.place import Place
from kernode.data import load_graph
from kernode.studies.reproduce.measure import measure
from kernode.studies.reproduce.settings import Cell
from kernode.search.results import SHIPPED, Results
from kernode.search.tasks import Task, run_tasks
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Telling

_EVERY = 60.0  # seconds between two checkpoints of a long cell


class Watch(Protocol):
    """Who is told how far it is."""

    def begin(self, cell: Cell, number: int) -> Telling:
        """A cell starts, in this process; returns what is told the number of its epochs."""

    def finish(self, cell: Cell) -> None:
        """It is stored."""


def missing(cells: Iterable[Cell], results: Results) -> list[Cell]:
    """Cells without a stored result, each setting once."""
    once: dict[str, Cell] = {}
    for cell in cells:
        once.setdefault(cell.digest, cell)
    return [cell for cell in once.values() if results.find(cell) is None]


def run_cells(
    cells: list[Cell], results: Results, place: Place, watch: Watch, threads: int | None = None
) -> None:
    """Run cells under ``joblib.parallel_config``; what is done stays done, whenever it is interrupted.

    Where none is configured they run here in turn, and the one that is interrupted goes on from its last
    checkpoint; a worker, which may be on another machine, keeps none.
    """
    graphs = {name: load_graph(name) for name in dict.fromkeys(cell.dataset for cell in cells)}
    tasks = [Task(measure, (graphs[cell.dataset], cell)) for cell in cells]

    @contextmanager
    def here(number: int) -> Iterator[dict[str, Any]]:
        checkpoint = Checkpoint(results.unfinished(cells[number]), every=1, resume="if there", seconds=_EVERY)
        yield {"progress": watch.begin(cells[number], number + 1), "checkpoint": checkpoint}

    with closing(run_tasks(tasks, place, threads=threads, here=here)) as finished:
        for number, figures in finished:
            results.save(cells[number], figures)
            results.unfinished(cells[number]).unlink(missing_ok=True)
            watch.finish(cells[number])


def expected_seconds(cells: list[Cell], device: str) -> dict[str, float]:
    """How long each cell took on such a device where the shipped results come from, by digest.

    Another machine is faster or slower, but by much the same factor for all. A typical time for new ones,
    and ten times that on Pubmed, which is as much larger.
    """
    shipped = Results(SHIPPED, (SHIPPED,))
    known = {
        cell.digest: record
        for cell in cells
        if (record := shipped.find(cell)) and record.get("device", device) == device
    }
    seconds = {digest: max(0.1, record.get("seconds", 0.1)) for digest, record in known.items()}
    typical = statistics.median(seconds.values()) if seconds else 10.0
    return {
        cell.digest: seconds.get(cell.digest, typical * (10 if cell.dataset == "pubmed" else 1))
        for cell in cells
    }
