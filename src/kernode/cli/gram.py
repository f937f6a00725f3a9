"""``kernode gram``: a saved model's Gram matrix, as a file, never as a whole in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import OnlyOption, check_place, check_room, chosen, names_of
from kernode.cli.console import check_apart, print_json, progress, say
from kernode.cli.graph_source import notes_of, print_notes
from kernode.cli.options import ModelOptions, OutputOptions
from kernode.compute.machine import readable
from kernode.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kernode.cli.matrix_file import Matrix
    from kernode.graph import Graph
    from kernode.kernels.node_kernel import NodeKernel


def gram(
    *,
    model: ModelOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.npz or .parquet.", show_default=False)],
    only: OnlyOption = None,
    others: Annotated[
        str | None, typer.Option("--with", help="Columns, in the same form; the rows' nodes if not given.")
    ] = None,
    output: OutputOptions,
) -> None:
    """Write K between nodes: p.s.d., ready for SVC(kernel="precomputed") and any other kernel machine.

    With several runs in the model it is their mean. An .npz file holds `gram`, `rows` and `columns`; a
    Parquet table has a column `node` and one for each node of --with.

    Example: [bold]kernode gram cora-k3.safetensors -o gram.npz --only 0,1,2 --with nodes.txt[/]
    """
    check_place(out, (".npz", ".parquet"))
    check_apart((out,), (model.model, model.data, model.nodes))
    from kernode.cli.matrix_file import write_matrix

    with progress("gram", quiet=output.silent) as begin:
        opened = model.open()
        kernel, graph = opened.on.kernel, opened.on.graph
        rows = opened.nodes if only is None else chosen(graph, only, "--only")
        columns = rows if others is None else chosen(graph, others, "--with")
        matrix = _gram(kernel, graph, rows, columns)
        _check_table(out, matrix)
        check_room(out, len(rows) * len(columns) * matrix.dtype.itemsize)
        size = write_matrix(out, matrix, begin(len(rows)))
    report = {
        "model": str(model.model),
        "dataset": graph.name,
        "rows": len(rows),
        "columns": len(columns),
        "bytes": size,
        "out": str(out),
        "notes": notes_of(opened),
    }
    if output.json:
        print_json(report)
    elif not output.quiet:
        if opened.from_tables:
            print_notes(opened)
        say(
            f"K of {len(rows):,} × {len(columns):,} nodes of [bold]{escape(graph.name)}[/], "
            f"{readable(size)}, written to {escape(str(out))}"
        )


def _gram(kernel: NodeKernel, graph: Graph, rows: np.ndarray, columns: np.ndarray) -> Matrix:
    from kernode.cli.matrix_file import Matrix, rows_at_a_time

    return Matrix(
        names_of(graph, rows),
        names_of(graph, columns),
        kernel.gram(rows[:1], columns[:1]).dtype,
        kernel.blocks(rows, columns, rows_at_a_time(len(columns))),
        "gram",
        ("rows", "columns"),
    )


def _check_table(out: Path, matrix: Matrix) -> None:
    if out.suffix.lower() != ".parquet":
        return
    from kernode.cli.matrix_file import MOST_COLUMNS

    if len(matrix.columns) > MOST_COLUMNS:
        raise InputError(
            f"{out} would have {len(matrix.columns):,} columns, and a table should have {MOST_COLUMNS:,} at "
            "most. Write an .npz file, or choose fewer with --with."
        )
    if "node" in matrix.columns.astype(str):
        raise InputError(f"{out}: a node called 'node' would be a second column 'node'. Write an .npz file.")
