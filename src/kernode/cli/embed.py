"""``kernode embed``: a saved model's vectors of nodes, as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import OnlyOption, check_place, check_room, chosen, names_of
from kernode.cli.console import check_apart, print_json, progress, say
from kernode.cli.graph_source import notes_of, print_notes
from kernode.cli.model_source import graph_of
from kernode.cli.options import ModelOptions, OutputOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kernode.cli.matrix_file import Matrix
    from kernode.cli.model_source import Opened
    from kernode.graph import Graph
    from kernode.kernels.node_kernel import NodeKernel


def embed(
    *,
    model: ModelOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.npz, .parquet or .csv.", show_default=False)],
    only: OnlyOption = None,
    output: OutputOptions,
) -> None:
    """Write the vectors of nodes that the learned kernel compares, one row per node.

    For the dot-product kernels (all but k2) the vectors' dot products are K itself; several runs stand side
    by side, divided by √runs. An .npz file holds `vectors` and `nodes`; a table has a column `node` and
    then v0, v1, … Models of links have vectors, too, for which no label is needed.

    Example: [bold]kernode embed cora-k3.safetensors -o vectors.parquet[/]

    Without labels: [bold]kernode links cora --all-edges; kernode embed cora-links-embedding.safetensors
    -o vectors.parquet[/]
    """
    check_place(out, (".npz", ".parquet", ".csv"))
    check_apart((out,), (model.model, model.data, model.nodes))
    from kernode.cli.matrix_file import write_matrix

    with progress("embed", quiet=output.silent) as begin:
        source = _vectors_of(model)
        graph = source.graph
        rows = source.nodes if only is None else chosen(graph, only, "--only")
        matrix = _vectors(source.kernel, graph, rows)
        # A number in a CSV takes some 12 characters in 32 bits and 20 in 64.
        width = matrix.dtype.itemsize * (3 if out.suffix.lower() == ".csv" else 1)
        check_room(out, len(rows) * len(matrix.columns) * width)
        size = write_matrix(out, matrix, begin(len(rows)))
    report = {
        "model": str(model.model),
        "dataset": graph.name,
        "nodes": len(rows),
        "dimensions": len(matrix.columns),
        "bytes": size,
        "out": str(out),
        "notes": notes_of(source.read),
    }
    if output.json:
        print_json(report)
    elif not output.quiet:
        if source.from_tables:
            print_notes(source.read)
        say(
            f"{len(rows):,} nodes of [bold]{escape(graph.name)}[/] × {len(matrix.columns):,} numbers "
            f"written to {escape(str(out))}"
        )


@dataclass(frozen=True)
class _Source:
    """A kernel on a graph, whatever it was trained for."""

    kernel: NodeKernel
    graph: Graph
    nodes: np.ndarray  # those that are asked about
    read: Graph | Opened  # what is to be said of it
    from_tables: bool


def _vectors_of(model: ModelOptions) -> _Source:
    from kernode.compute.place import Place
    from kernode.graph import positions
    from kernode.io.tables import is_table
    from kernode.models.file import read_model
    from kernode.tasks.links.model import LinkModel

    links = read_model(model.model)
    if not isinstance(links, LinkModel):
        opened = model.open()
        return _Source(opened.on.kernel, opened.on.graph, opened.nodes, opened, opened.from_tables)
    if model.whole:
        raise InputError(
            "a model of links answers about its own graph alone, so that tables cannot be another.",
            "no-effect", setting="whole",
        )  # fmt: skip
    whole = graph_of(links, model.model, model.data, model.nodes, model.encoding)
    on = links.on(links.split_of(whole), str(Place.of(links.precision, model.device).device))
    from_tables = model.data is not None and is_table(model.data)
    return _Source(on.kernel, whole, positions(range(whole.n_nodes)), whole, from_tables)


def _vectors(kernel: NodeKernel, graph: Graph, nodes: np.ndarray) -> Matrix:
    import numpy as np

    from kernode.cli.matrix_file import Matrix, rows_at_a_time

    first = kernel.vectors(nodes[:1])
    rows = rows_at_a_time(first.shape[1])
    return Matrix(
        names_of(graph, nodes),
        np.array([f"v{i}" for i in range(first.shape[1])]),
        first.dtype,
        (kernel.vectors(nodes[start : start + rows]) for start in range(0, len(nodes), rows)),
        "vectors",
        ("nodes",),
    )
