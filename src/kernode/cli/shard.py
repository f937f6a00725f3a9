"""``kernode data shard``: a graph as a folder of parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import check_folder, print_json, progress, say
from kernode.cli.graph_source import table_options
from kernode.cli.options import GraphOptions, OutputOptions
from kernode.errors import InputError, kept

if TYPE_CHECKING:
    from kernode.io.store import Store


def shard(
    *,
    graph: GraphOptions,
    parts: Annotated[
        int, typer.Option(help="How many: at least as many as processes will read it.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="FOLDER, new or empty.", show_default=False)],
    bounded: Annotated[
        bool,
        typer.Option(
            "--bounded", help="Never hold the graph: of Parquet tables, and refused where that cannot be."
        ),
    ] = False,
    output: OutputOptions,
) -> None:
    """Write a graph as a folder of parts, of which each process reads its own.

    Each part has a checksum. Parquet tables whose features are numbers are sharded without holding the graph.

    Example: [bold]kernode data shard cora --parts 4 -o cora-parts[/]

    Tables: [bold]kernode data shard edges.parquet --nodes nodes.parquet --label topic --parts 16 -o graph[/]
    """
    from kernode.io.store import NotBoundedError, require_free, write_store

    check_folder(out)
    require_free(out)
    why_not = None
    with kept(lambda: "Nothing was written."), progress("shard", quiet=output.silent):
        try:
            store = _bounded(graph, out, parts) if bounded or _is_parquet(graph.data) else None
        except NotBoundedError as error:
            why_not, store = str(error), None
            if bounded:
                raise InputError(f"--bounded cannot be: {why_not}", error.code, **error.fields) from error
        is_bounded = store is not None
        store = store or write_store(graph.graph(), out, parts)
    _report(store, output, bounded=is_bounded, why_not=why_not)


def _is_parquet(data: str) -> bool:
    return Path(data).suffix.lower() in (".parquet", ".pq")


def _bounded(graph: GraphOptions, out: Path, parts: int) -> Store:
    """The store of Parquet tables, made without holding their graph."""
    from kernode.io.store import Roles, shard_tables

    return shard_tables(Roles.of(graph.data, **table_options(graph.columns())), out, parts)


def _report(store: Store, output: OutputOptions, *, bounded: bool, why_not: str | None) -> None:
    notes = list(store.notes)
    facts: dict[str, Any] = {
        "dataset": store.name,
        "nodes": store.nodes,
        "edges": store.entries // 2,
        "features": store.features,
        "classes": list(store.class_names),
        "order": store.order,
        "parts": [
            {"file": part.file, "nodes": part.stop - part.start, "entries": part.entries, "bytes": part.bytes}
            for part in store.parts
        ],
        "bounded": bounded,
        "not_bounded_because": why_not,
        "fingerprint": store.fingerprint,
        "out": str(store.folder),
        "notes": notes,
        "repairs": list(store.repairs),
    }
    if output.json:
        print_json(facts)
        return
    if output.quiet:
        return
    for note in notes:
        say(f"  [dim]on the way in:[/] {escape(note)}")
    if why_not is not None:
        say(f"  [dim]all of the graph was held in memory:[/] {escape(why_not)}")
    size = sum(part.bytes for part in store.parts)
    say(
        f"{escape(store.name)}: {store.nodes:,} nodes and {store.entries // 2:,} edges in "
        f"{len(store.parts):,} part{'s' * (len(store.parts) > 1)} ({size / 1e6:,.1f} MB) in "
        f"{escape(str(store.folder))}"
    )
