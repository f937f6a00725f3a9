"""Predictions as a table: node, class and the probability of each class."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.node_classification.model_on_graph import ModelOnGraph

Table = dict[str, list[Any]]  # column by column


def check_suffix(path: Path | None) -> None:
    """Raise unless a file's name says how to write it."""
    if path is not None and path.suffix not in _WRITERS:
        raise InputError(f"{path}: the extension must be one of {', '.join(_WRITERS)}.")


def predictions(on: ModelOnGraph) -> Table:
    """For every node of a graph, the mean over the model's runs."""
    from kernode.graph import typed_names

    model, graph, mean = on.model, on.graph, on.probabilities().mean(axis=0)
    names = range(graph.n_nodes) if graph.node_names is None else typed_names(graph.node_names).tolist()
    table: Table = {"node": list(names), "class": [model.classes[best] for best in mean.argmax(axis=1)]}
    for number, name in enumerate(model.classes):
        table[f"p_{name}"] = [float(value) for value in mean[:, number]]
    return table


def write_predictions(path: Path, on: ModelOnGraph) -> Table:
    """Predict every node of a graph and write the table."""
    from kernode.storage import write_whole

    table = predictions(on)
    write_whole(path, _WRITERS[path.suffix](table))
    return table


def rows_of(table: Table) -> list[dict[str, Any]]:
    """Row by row."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


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
    parquet.write_table(pyarrow.table(table), sink)
    return sink.getvalue().to_pybytes()


_WRITERS = {".csv": as_csv, ".parquet": _as_parquet, ".json": _as_json}
