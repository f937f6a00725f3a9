"""``kernode embed``: a saved model's vectors of nodes, or its Gram matrix, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.files import check_out
from kernode.cli.options.model import ModelOptions, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions


def embed(
    *,
    model: ModelOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.npz, .parquet or .csv.", show_default=False)],
    only: Annotated[
        str | None, typer.Option(help="Rows: a,b,c or a file with one per line; all nodes if not given.")
    ] = None,
    gram: Annotated[bool, typer.Option("--gram", help="Write K between nodes instead of vectors.")] = False,
    others: Annotated[
        str | None, typer.Option("--with", help="Columns of --gram, in the same form; else the rows' nodes.")
    ] = None,
    output: OutputOptions,
) -> None:
    """Write the vectors of nodes that the learned kernel compares, or with --gram the kernel between nodes.

    For the dot-product kernels (all but k2) the vectors' dot products are K itself; several runs stand side
    by side, divided by √runs. An .npz file holds `vectors` and `nodes`; a table has a column `node` and
    then v0, v1, … Models of links have vectors, too, for which no label is needed.

    K is p.s.d., ready for SVC(kernel="precomputed") and any other kernel machine, and of several runs their
    mean. An .npz file holds `gram`, `rows` and `columns`; a table has a column `node` and one for each node.

    Example: [bold]kernode embed cora-k3.safetensors -o vectors.parquet[/]

    The kernel: [bold]kernode embed cora-k3.safetensors --gram -o gram.npz --only 0,1,2 --with nodes.txt[/]

    Without labels: [bold]kernode links cora --all-edges; kernode embed cora-links-embedding.safetensors
    -o vectors.parquet[/]
    """
    check_out(out, (".npz", ".parquet", ".csv"), model.inputs)
    import numpy as np

    from kernode.cli.matrix_file import Matrix, rows_at_a_time, write_matrix

    gram = gram or others is not None
    with progress("embed", quiet=output.silent) as begin:
        opened = model.open("classes", "links")
        graph, kernel = opened.graph, opened.model.kernel_
        rows = opened.nodes if only is None else chosen_nodes(graph, only, "only")
        if gram:
            columns = rows if others is None else chosen_nodes(graph, others, "others")
            first, names = kernel.gram(rows[:1], columns[:1]), names_of(graph, columns)
            blocks = kernel.blocks(rows, columns, rows_at_a_time(len(columns)))
            arrays: tuple[str, tuple[str, ...]] = "gram", ("rows", "columns")
        else:
            first = kernel.vectors(rows[:1])
            names, step = np.array([f"v{i}" for i in range(first.shape[1])]), rows_at_a_time(first.shape[1])
            blocks = (kernel.vectors(rows[start : start + step]) for start in range(0, len(rows), step))
            arrays = "vectors", ("nodes",)
        matrix = Matrix(names_of(graph, rows), names, first.dtype, blocks, *arrays)
        size = write_matrix(out, matrix, begin(len(rows)))
    if output.json:
        counted = ("rows", "columns") if gram else ("nodes", "dimensions")
        shape = dict(zip(counted, (len(rows), len(names)), strict=True))
        opened.print_json(model, **shape, bytes=size, out=str(out))
    elif not output.quiet:
        opened.print_notes(output)
        what, columns_are = ("K of ", "nodes") if gram else ("", "numbers")
        sizes = f"{len(rows):,} nodes of [bold]{escape(graph.name)}[/] × {len(names):,} {columns_are}"
        say(f"{what}{sizes} written to {escape(str(out))}")
