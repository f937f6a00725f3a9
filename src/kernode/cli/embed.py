"""``kernode embed``: a saved model's vectors of nodes, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.files import check_out
from kernode.cli.options.model import ModelOptions, OnlyOption, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions


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
    check_out(out, (".npz", ".parquet", ".csv"), model.inputs)
    import numpy as np

    from kernode.cli.matrix_file import Matrix, rows_at_a_time, write_matrix

    with progress("embed", quiet=output.silent) as begin:
        opened = model.open("classes", "links")
        graph, kernel = opened.graph, opened.model.kernel_
        nodes = opened.nodes if only is None else chosen_nodes(graph, only, "only")
        first = kernel.vectors(nodes[:1])
        columns = [f"v{i}" for i in range(first.shape[1])]
        step = rows_at_a_time(len(columns))
        blocks = (kernel.vectors(nodes[start : start + step]) for start in range(0, len(nodes), step))
        vectors = Matrix(
            names_of(graph, nodes), np.array(columns), first.dtype, blocks, "vectors", ("nodes",)
        )
        size = write_matrix(out, vectors, begin(len(nodes)))
    if output.json:
        opened.print_json(model, nodes=len(nodes), dimensions=len(columns), bytes=size, out=str(out))
    elif not output.quiet:
        opened.print_notes(output)
        shape = f"{len(nodes):,} nodes of [bold]{escape(graph.name)}[/] × {len(columns):,} numbers"
        say(f"{shape} written to {escape(str(out))}")
