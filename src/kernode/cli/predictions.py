"""Predictions as a table: node, class, the class that was known, and the probability of each class."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.cli.graph_source import notes_of
from kernode.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kernode.tasks.classes.on_graph import NodeModelOnGraph

Table = dict[str, list[Any]]  # column by column


def check_suffix(path: Path | None) -> None:
    """Raise unless a file's name says how to write it."""
    if path is not None and path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path}: the extension must be one of {', '.join(_WRITERS)}.")


def predictions(on: NodeModelOnGraph, nodes: np.ndarray | None = None, abstain: float | None = None) -> Table:
    """For nodes of a graph, all if None, what all runs say together; beside it the class in the data.

    Where no class is as probable as ``abstain`` there is none, and the most probable stands in a column of
    its own.
    """
    import numpy as np

    from kernode.graph import typed_names

    model, graph = on.model, on.graph
    nodes = np.arange(graph.n_nodes) if nodes is None else nodes
    probabilities = on.calibrated(nodes)
    names = nodes if graph.node_names is None else typed_names(graph.node_names)[nodes]
    found = [model.classes[number] for number in probabilities.argmax(axis=1)]
    table: Table = {"node": names.tolist(), "class": found, "known": _known(on, nodes)}
    if abstain is not None:
        sure = probabilities.max(axis=1) >= abstain
        table["class"] = [one if answered else None for one, answered in zip(found, sure, strict=True)]
        table["most_probable"] = found
    for number, name in enumerate(model.classes):
        table[f"p_{name}"] = [float(value) for value in probabilities[:, number]]
    return table


def _known(on: NodeModelOnGraph, nodes: np.ndarray) -> list[Any]:
    """The classes that the data gives, None where it does not; a model of numbers knows them as numbers."""
    named = all(isinstance(one, str) for one in on.model.classes)
    classes = on.graph.class_names if named else range(on.graph.n_classes)
    return [None if label < 0 else classes[label] for label in on.graph.labels[nodes].tolist()]


def write_predictions(
    path: Path, on: NodeModelOnGraph, nodes: np.ndarray | None = None, abstain: float | None = None
) -> Table:
    """Predict nodes of a graph, all if None, and write the table."""
    table = predictions(on, nodes, abstain)
    write_table(path, table)
    return table


def write_table(path: Path, table: Table) -> None:
    """Write a table as its file's name says."""
    from kernode.storage import write_whole

    write_whole(path, _WRITERS[path.suffix.lower()](table))


def rows_of(table: Table) -> list[dict[str, Any]]:
    """Row by row."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def report_of(facts: dict[str, Any], read: Any, table: Table, out: Path | None, rows: str) -> dict[str, Any]:
    """What ``--json`` prints: facts, what was done to tables that were ``read``, rows that no file has."""
    report = facts | {
        "out": None if out is None else str(out),
        "notes": notes_of(read),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
    return report if out is not None else report | {rows: rows_of(table)}


def as_csv(table: Table) -> bytes:
    """With a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def _as_json(table: Table) -> bytes:
    return (json.dumps(rows_of(table), ensure_ascii=False, indent=1) + "\n").encode()


def _as_parquet(table: Table) -> bytes:
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    classes = pyarrow.array(table.get("most_probable", table["class"])).type
    columns = {
        # Where no class is known, or none is sure, the column still has the classes' type.
        name: pyarrow.array(values, classes if name in ("class", "known") else None)
        for name, values in table.items()
    }
    parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue().to_pybytes()


_WRITERS = {".csv": as_csv, ".parquet": _as_parquet, ".json": _as_json}
