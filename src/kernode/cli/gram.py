"""``kernode gram``: a saved model's Gram matrix, as a file, never as a whole in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.files import check_out
from kernode.cli.options.model import ModelOptions, OnlyOption, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions
from kernode.compute.machine import readable


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
    check_out(out, (".npz", ".parquet"), model.inputs)
    from kernode.cli.matrix_file import Matrix, rows_at_a_time, write_matrix

    with progress("gram", quiet=output.silent) as begin:
        opened = model.open()
        graph, kernel = opened.graph, opened.model.kernel_
        rows = opened.nodes if only is None else chosen_nodes(graph, only, "only")
        columns = rows if others is None else chosen_nodes(graph, others, "others")
        dtype = kernel.gram(rows[:1], columns[:1]).dtype
        blocks = kernel.blocks(rows, columns, rows_at_a_time(len(columns)))
        names = names_of(graph, rows), names_of(graph, columns)
        size = write_matrix(out, Matrix(*names, dtype, blocks, "gram", ("rows", "columns")), begin(len(rows)))
    if output.json:
        opened.print_json(model, rows=len(rows), columns=len(columns), bytes=size, out=str(out))
    elif not output.quiet:
        opened.print_notes(output)
        say(
            f"K of {len(rows):,} × {len(columns):,} nodes of [bold]{escape(graph.name)}[/], "
            f"{readable(size)}, written to {escape(str(out))}"
        )
