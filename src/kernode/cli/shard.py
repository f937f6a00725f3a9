"""``kernode data shard``: a graph as a folder of parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import check_folder, print_json, progress, say
from kernode.cli.options import GraphOptions, OutputOptions
from kernode.errors import kept


def shard(
    *,
    graph: GraphOptions,
    parts: Annotated[
        int, typer.Option(help="How many: at least as many as processes will read it.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="FOLDER, new or empty.", show_default=False)],
    output: OutputOptions,
) -> None:
    """Write a graph as a folder of parts, of which each process reads its own. Each part has a checksum.

    Example: [bold]kernode data shard cora --parts 4 -o cora-parts[/]

    Tables: [bold]kernode data shard edges.parquet --nodes nodes.parquet --label topic --parts 16 -o graph[/]
    """
    from kernode.io.store import require_free, write_store

    check_folder(out)
    require_free(out)
    with kept(lambda: "Nothing was written."), progress("shard", quiet=output.silent):
        store = write_store(graph.graph(), out, parts)
    if output.json:
        print_json(
            {
                "dataset": store.name,
                "nodes": store.nodes,
                "edges": store.entries // 2,
                "features": store.features,
                "classes": list(store.class_names),
                "parts": [
                    {
                        "file": part.file,
                        "nodes": part.stop - part.start,
                        "entries": part.entries,
                        "bytes": part.bytes,
                    }
                    for part in store.parts
                ],
                "fingerprint": store.fingerprint,
                "out": str(store.folder),
                "notes": list(store.notes),
                "repairs": list(store.repairs),
            }
        )
    elif not output.quiet:
        for note in store.notes:
            say(f"  [dim]input:[/] {escape(note)}")
        size = sum(part.bytes for part in store.parts)
        say(
            f"{escape(store.name)}: {store.nodes:,} nodes and {store.entries // 2:,} edges in "
            f"{len(store.parts):,} part{'s' * (len(store.parts) > 1)} ({size / 1e6:,.1f} MB) in "
            f"{escape(str(store.folder))}"
        )
