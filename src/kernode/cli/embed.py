"""``kernode embed``: a saved model's vectors of nodes, or its Gram matrix, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from kernode.cli.console import progress
from kernode.cli.files import check_out, copy_columns
from kernode.cli.option_groups import flag, option
from kernode.cli.options.model import ModelOptions, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions
from kernode.storage import writing_whole


def embed(
    *,
    model: ModelOptions,
    out: Annotated[Path, option("FILE.npz; of vectors also .parquet or .csv.", "--out", "-o")],
    only: Annotated[
        str | None, option("Rows: a,b,c or a file with one per line; all nodes if not given.")
    ] = None,
    gram: Annotated[bool, flag("Write K between nodes instead of vectors.", "--gram")] = False,
    others: Annotated[
        str | None, option("Columns of --gram, in the same form; else the rows' nodes.", "--with")
    ] = None,
    output: OutputOptions,
) -> None:
    """Write embeddings, or with --gram the kernel matrix.

    An .npz file holds `vectors` and `nodes`, or `gram`, `rows` and `columns`; a table has the columns `node`,
    v0, v1, …. Vectors of several replicas are concatenated and divided by √replicas;
    their dot products are K, except for k2. K is p.s.d., so any kernel machine takes it.

    Example: [bold]kernode embed cora-k3.safetensors -o vectors.parquet[/]

    The kernel: [bold]kernode embed cora-k3.safetensors --gram -o gram.npz --only 0,1,2 --with nodes.txt[/]
    """
    gram = gram or others is not None
    check_out(out, read=model.inputs, extensions=(".npz",) if gram else (".npz", ".parquet", ".csv"))
    import numpy as np

    with progress("embed", quiet=output.silent):
        opened = model.open("classes", "numbers", "links")
        graph, kernel = opened.graph, opened.model.kernel_
        rows = opened.nodes if only is None else chosen_nodes(graph, only, "only")
        names = names_of(graph, rows)
        if gram:
            columns = rows if others is None else chosen_nodes(graph, others, "others")
            values = kernel.gram(rows, columns)
            arrays = {"gram": values, "rows": names, "columns": names_of(graph, columns)}
        else:
            values = kernel.vectors(rows)
            arrays = {"vectors": values, "nodes": names}
        with writing_whole(out) as file:
            if out.suffix.lower() == ".npz":
                objects = [name for name, one in arrays.items() if one.dtype == object]
                np.savez(file, **arrays | {name: arrays[name].astype(str) for name in objects})
            else:
                table = {"node": np.fromiter(names.tolist(), object, len(rows))}
                table |= {f"v{i}": np.ascontiguousarray(column) for i, column in enumerate(values.T)}
                copy_columns(table, out.suffix.lower(), file)
    shape = dict(zip(("rows", "columns") if gram else ("nodes", "dimensions"), values.shape, strict=True))
    sizes = f"{len(rows):,} nodes of [bold]{escape(graph.name)}[/] × {values.shape[1]:,}"
    line = f"K of {sizes} nodes" if gram else f"{sizes} numbers"
    output.show(
        opened.facts | shape | {"bytes": out.stat().st_size, "out": str(out)},
        [*opened.lines, f"{line} written to {escape(str(out))}"],
    )
