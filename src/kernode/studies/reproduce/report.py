"""Tables, verdicts and claims as plain values: what the command prints and the documents show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

from kernode.studies.reproduce.claims import judge_claims
from kernode.studies.reproduce.settings import Cell, Row, Table
from kernode.studies.reproduce.verdicts import NOT_PRINTED, judge
from kernode.search.results import Results

SAME, OTHER = "the same", "another count"


def report(tables: Iterable[Table], results: Results) -> dict[str, Any]:
    """Everything that is known of some tables."""
    tables = list(tables)
    return {
        "tables": [
            {
                "table": table.name,
                "title": table.title,
                "kind": table.kind,
                "entries": entries(table, results),
            }
            for table in tables
        ],
        "claims": [asdict(claim) for claim in judge_claims(tables, results)],
    }


def entries(table: Table, results: Results) -> list[dict[str, Any]]:
    """One entry per row, data set and figure."""
    made = {"counts": _counted, "figures": _drawn}.get(table.kind, partial(_scored, table.metrics))
    return [entry for row in table.rows for cell in row.cells.values() for entry in made(row, cell, results)]


def _named(row: Row, cell: Cell) -> dict[str, Any]:
    return {"row": row.name, "title": row.title, "reading": row.reading, "dataset": cell.dataset}


def _counted(row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    ours = record["counts"][row.name] if record else None
    paper = cell.paper["counts"].text if cell.paper else None
    verdict = NOT_PRINTED if paper is None else None if ours is None else SAME if ours == paper else OTHER
    return [_named(row, cell) | {"ours": ours, "paper": paper, "verdict": verdict}]


def _scored(metrics: tuple[str, ...], row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    return [_score(row, cell, record, metric) for metric in metrics]


def _score(row: Row, cell: Cell, record: dict[str, Any] | None, metric: str) -> dict[str, Any]:
    paper = cell.paper.get(metric)
    entry = _named(row, cell) | {"metric": metric, "paper": paper.text if paper else None}
    if record is None:
        return entry | {"ours": None, "verdict": None}
    figure = record["test"][metric]
    entry |= {"ours": figure, "seconds": record["seconds"], "device": record["device"]}
    if metric == "accuracy" and record.get("ensemble_accuracy") is not None:
        entry["ensemble"] = record["ensemble_accuracy"]  # the runs' mean probability
    if paper is None:
        return entry | {"verdict": NOT_PRINTED}
    return entry | asdict(judge(figure, paper, cell.settings["split"]))


def _drawn(row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    entry = _named(row, cell)
    if record is None:
        return [entry | {"figure": None}]
    figure = record["figure"]
    shown = {name: figure[name] for name in _SHOWN if name in figure}
    if "before" in figure:  # of K̄, the means; the images are for drawing
        shown |= {
            when: {k: v for k, v in figure[when].items() if k != "image"} for when in ("before", "after")
        }
    if "mean" in figure:  # of ω_h, the last epoch's
        shown |= {"last_mean": figure["mean"][-1], "last_std": figure["std"][-1]}
    return [entry | {"figure": shown, "seconds": record["seconds"], "device": record["device"]}]


# Of a figure's values, those that are not for drawing alone.
_SHOWN = ("silhouette", "silhouette_by_class", "silhouette_in_plane", "class_names")
