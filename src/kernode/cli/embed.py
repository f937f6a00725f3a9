"""``kernode embed``: a saved model's vectors of nodes, or its Gram matrix, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.files import check_out, copy_columns
from kernode.cli.option_groups import option
from kernode.cli.options.model import ModelOptions, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError
from kernode.storage import writing_whole

_MOST_COLUMNS = 10_000  # of a table: a Parquet footer describes each of them in every row group


def embed(
    *,
    model: ModelOptions,
    out: Annotated[Path, option("FILE.npz, .parquet or .csv.", "--out", "-o")],
    only: Annotated[
        str | None, option("Rows: a,b,c or a file with one per line; all nodes if not given.")
    ] = None,
    gram: Annotated[bool, option("Write K between nodes instead of vectors.", "--gram")] = False,
    others: Annotated[
        str | None, option("Columns of --gram, in the same form; else the rows' nodes.", "--with")
    ] = None,
    output: OutputOptions,
) -> None:
    """Write embeddings, or with --gram the kernel matrix.

    An .npz file holds `vectors` and `nodes`, or `gram`, `rows` and `columns`; a table has a column `node`,
    then v0, v1, … or a column for each node. Vectors of several runs stand side by side, divided by √runs;
    their dot products are K for all kernels but k2's. K is p.s.d., for any kernel machine.

    Example: [bold]kernode embed cora-k3.safetensors -o vectors.parquet[/]

    The kernel: [bold]kernode embed cora-k3.safetensors --gram -o gram.npz --only 0,1,2 --with nodes.txt[/]
    """
    check_out(out, (".npz", ".parquet", ".csv"), model.inputs)
    import numpy as np

    gram = gram or others is not None
    with progress("embed", quiet=output.silent):
        opened = model.open("classes", "links")
        graph, kernel = opened.graph, opened.model.kernel_
        rows = opened.nodes if only is None else chosen_nodes(graph, only, "only")
        if gram:
            columns = rows if others is None else chosen_nodes(graph, others, "others")
            values, names = kernel.gram(rows, columns), names_of(graph, columns)
            arrays = {"gram": values, "rows": names_of(graph, rows), "columns": names}
        else:
            values = kernel.vectors(rows)
            names = np.array([f"v{i}" for i in range(values.shape[1])])
            arrays = {"vectors": values, "nodes": names_of(graph, rows)}
        with writing_whole(out) as file:
            if out.suffix.lower() == ".npz":
                np.savez(file, **{name: _plain(array) for name, array in arrays.items()})
            else:
                copy_columns(_columns(names_of(graph, rows), names, values), out.suffix.lower(), file)
    if output.json:
        counted = ("rows", "columns") if gram else ("nodes", "dimensions")
        shape = dict(zip(counted, values.shape, strict=True))
        opened.print_json(model, **shape, bytes=out.stat().st_size, out=str(out))
    elif not output.quiet:
        opened.print_notes(output)
        what, columns_are = ("K of ", "nodes") if gram else ("", "numbers")
        sizes = f"{len(rows):,} nodes of [bold]{escape(graph.name)}[/] × {len(names):,} {columns_are}"
        say(f"{what}{sizes} written to {escape(str(out))}")


def _plain(array: Any) -> Any:
    return array.astype(str) if array.dtype.kind == "O" else array


def _columns(nodes: Any, names: Any, values: Any) -> dict[str, Any]:
    """Columns of a table, by names that a table can have."""
    import numpy as np

    if len(names) > _MOST_COLUMNS or len({"node", *(str(name).lower() for name in names)}) <= len(names):
        raise InputError(
            f"a table has {_MOST_COLUMNS:,} columns at most, one called 'node', and no two whose names "
            "differ only in case. Write an .npz file.",
            "too-large", setting="out",
        )  # fmt: skip
    columns = {str(name): np.ascontiguousarray(values[:, at]) for at, name in enumerate(names)}
    return {"node": np.fromiter(nodes.tolist(), object, len(nodes)), **columns}
