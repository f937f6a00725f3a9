"""``kernode predict``: a saved model's classes and probabilities, as a table."""

from __future__ import annotations

import csv
import io
import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import JsonOption, QuietOption, print_json, say
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.model import Model

Table = dict[str, list[Any]]  # column by column


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` wrote.")],
    data: Annotated[str | None, typer.Argument(help="Its graph, if it is not a built-in data set.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write node, class and the probability of each class, for every node of the graph.

    With several runs in the model, probabilities are their mean. For the nearest-centroid variants
    (k1, k2) they are a softmax over class similarities: an order, not a calibrated probability.

    Example: [bold]kernode predict cora-k3.safetensors -o predictions.csv[/]
    """
    from kernode.model import Model
    from kernode.sparse import Place

    if out is not None and out.suffix not in _WRITERS:
        raise InputError(f"{out}: the extension must be one of {', '.join(_WRITERS)}.")
    trained = Model.load(model)
    graph = graph_of(trained, model, data)
    place = Place.of(trained.precision, device)
    mean = trained.on(graph, place.device.type).probabilities().mean(axis=0)
    table = _table(mean, trained, graph)
    if out is not None:
        from kernode.data.atomic import write_whole

        write_whole(out, _WRITERS[out.suffix](table))
    elif not json:
        sys.stdout.write(_as_csv(table).decode())
        return
    counts = {name: table["class"].count(name) for name in trained.classes}
    report: dict[str, Any] = {
        "model": str(model),
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "classes": counts,
        "output": None if out is None else str(out),
    }
    if out is None:
        report["predictions"] = _rows(table)
    if json:
        print_json(report)
    elif not quiet:
        say(f"{graph.n_nodes:,} nodes of [bold]{escape(graph.name)}[/] written to {escape(str(out))}")


def graph_of(model: Model, path: Path, data: str | None) -> Graph:
    """The graph a model needs: the one named, or the built-in one it was trained on."""
    from kernode.data import load_graph
    from kernode.data.registry import is_registered

    if data is None and not is_registered(model.dataset):
        raise InputError(f"{path} was trained on {model.dataset!r}: give that graph's file after the model.")
    return load_graph(data or model.dataset)


def _table(probabilities: Any, model: Model, graph: Graph) -> Table:
    names = range(graph.n_nodes) if graph.node_names is None else graph.node_names.tolist()
    table: Table = {
        "node": list(names),
        "class": [model.classes[best] for best in probabilities.argmax(axis=1)],
    }
    for number, name in enumerate(model.classes):
        table[f"p_{name}"] = [float(value) for value in probabilities[:, number]]
    return table


def _as_csv(table: Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def _rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _as_json(table: Table) -> bytes:
    return (json_module.dumps(_rows(table), ensure_ascii=False, indent=1) + "\n").encode()


def _as_parquet(table: Table) -> bytes:
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(table), sink)
    return sink.getvalue().to_pybytes()


_WRITERS = {".csv": _as_csv, ".parquet": _as_parquet, ".json": _as_json}
