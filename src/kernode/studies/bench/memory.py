"""`memory`: the most memory that training takes, above what the imports hold."""

from __future__ import annotations

from kernode.compute.place import Place
from kernode.io import load
from kernode.studies.bench.alone import Task, measure_alone
from kernode.studies.bench.rivals import RIVALS
from kernode.studies.bench.rows import Begin, Options, Outcome, Row
from kernode.studies.bench.systems import System

DATA = ("cora", "citeseer", "pubmed")
SYSTEMS = ("n1", "k3", "n1x10", "k3x10", *RIVALS)


def run(options: Options, begin: Begin) -> Outcome:
    """Measure every system alone, some epochs with their evaluation."""
    place = Place.of(32, options.device)
    data = options.data or DATA
    advance = begin(len(data) * len(SYSTEMS))
    rows = []
    for name in data:
        loaded = load(name)
        for system in SYSTEMS:
            task = Task(f"{system}-epoch", name, threads=options.threads)
            measured = measure_alone(task, place, loaded)
            facts = {
                "replicas": System.named(system).replicas,
                "steps_mb": measured.steps_mb,
                "note": measured.note,
            }
            row = Row(
                "memory", system, loaded[0].name, place.device.type, peak_mb=measured.peak_mb, facts=facts
            )
            rows.append(row)
            advance(len(rows), f"{system} on {name}")
    return Outcome("memory", place.device.type, 1, tuple(rows))
