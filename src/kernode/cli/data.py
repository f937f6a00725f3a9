"""``kernode data``: list, describe, convert, shard and fetch graphs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.files import check_folder, check_out
from kernode.cli.option_groups import Command, Group, expanded
from kernode.cli.options.graph import GraphOptions, print_notes
from kernode.cli.options.run import OutputOptions
from kernode.errors import kept

if TYPE_CHECKING:
    from kernode.graph import Graph

app = typer.Typer(cls=Group, no_args_is_help=True)


@app.command("list", cls=Command)
@expanded
def list_(*, output: OutputOptions) -> None:
    """List the built-in data sets: the paper's Table 1, and whether each is on this machine.

    Example: [bold]kernode data list[/]
    """
    from kernode.io import datasets

    if output.json:
        print_json({"datasets": [asdict(entry) | {"classes": entry.classes} for entry in datasets()]})
        return
    table = new_table(
        ("", "nodes", "edges", "classes", "features", "FastGCN split", "JK split", "here"),
        left=("", "here"),
        caption="Edges are deduplicated, without self-loops; in brackets the paper's count.\n"
        "What is not here is fetched on first use, or by `kernode data fetch NAME`.\n"
        "A graph of any size is made of a name such as synthetic:nodes=20000,degree=10,classes=8.",
    )
    for entry in datasets():
        table.add_row(
            entry.name,
            f"{entry.nodes:,}",
            f"{entry.edges:,} ({entry.paper_edges:,})",
            str(entry.classes),
            f"{entry.features:,}",
            _sizes(entry.fastgcn),
            _sizes(entry.jk),
            "yes" if entry.available else "no",
        )
    print_table(table)


@app.command(cls=Command)
@expanded
def info(*, graph: GraphOptions, output: OutputOptions) -> None:
    """Show what is in a graph: counts, classes, degrees, and what was done to its tables.

    Example: [bold]kernode data info cora[/]

    Your own tables: [bold]kernode data info edges.csv --nodes nodes.csv --label topic[/]
    """
    import numpy as np

    with progress("info", quiet=output.silent):
        read = graph.graph()
    degrees = np.diff(read.adjacency.indptr)
    counts = np.bincount(read.labels[read.labels >= 0], minlength=read.n_classes)
    facts = _sizes_of(read) | {
        "sparse_features": not isinstance(read.features, np.ndarray),
        "classes": {name: int(count) for name, count in zip(read.class_names, counts, strict=True)},
        "unlabelled": int((read.labels < 0).sum()),
        "unlisted": read.n_unlisted,
        "isolated": int((degrees == 0).sum()),
        "mean_degree": round(float(degrees.mean()), 3),
        "largest_degree": int(degrees.max(initial=0)),
        "notes": list(read.notes),
        "fingerprint": read.fingerprint,
    }
    if output.json:
        print_json(facts)
        return
    counted = f"{read.n_nodes:,} nodes, {read.n_edges:,} edges, {read.n_features:,} features"
    say(f"[bold]{escape(read.name)}[/]: {counted}")
    say(
        f"  degree {facts['mean_degree']} on average, {facts['largest_degree']} at most; "
        f"{facts['isolated']} isolated nodes, {facts['unlabelled']} without a class, "
        f"{facts['unlisted']} that only edges mention"
    )
    for name, count in facts["classes"].items():
        say(f"  {count:>8,}  {escape(name)}")
    print_notes(read.notes)


def _sizes_of(graph: Graph) -> dict[str, Any]:
    return {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
    }


@app.command(cls=Command)
@expanded
def convert(
    *,
    graph: GraphOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.npz.", show_default=False)],
    output: OutputOptions,
) -> None:
    """Turn tables into one .npz graph, which is read faster and holds what was said about their columns.

    It also holds what was done to columns and rows, so that a model of it can predict for other tables.

    Example: [bold]kernode data convert edges.csv --nodes nodes.csv --label topic -o graph.npz[/]
    """
    from kernode.io import write_npz

    check_out(out, (".npz",), graph.inputs)
    with progress("convert", quiet=output.silent):
        read = graph.graph()
    write_npz(read, out)
    report = _sizes_of(read) | {
        "classes": list(read.class_names),
        "out": str(out),
        "notes": list(read.notes),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
    if output.json:
        print_json(report)
    elif not output.quiet:
        print_notes(read.notes)
        say(f"{escape(repr(read))} written to {escape(str(out))}")


@app.command(cls=Command)
@expanded
def shard(
    *,
    graph: GraphOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="FOLDER, new or empty.", show_default=False)],
    output: OutputOptions,
) -> None:
    """Write a graph as a folder of arrays with checksums, of which any number of processes read their rows.

    Example: [bold]kernode data shard cora -o cora-store[/]

    Tables: [bold]kernode data shard edges.parquet --nodes nodes.parquet --label topic -o graph[/]
    """
    from kernode.io.shards import require_free, write_store, write_store_of_tables
    from kernode.io.tables import is_table
    from kernode.io.tables.read import open_tables

    check_folder(out)
    require_free(out)
    with kept(lambda: "Nothing was written."), progress("shard", quiet=output.silent):
        if is_table(graph.data):
            with open_tables(graph.data, **graph.columns()) as tables:
                store = write_store_of_tables(tables, out)
        else:
            store = write_store(graph.graph(), out)
    edges = store.entries // 2
    report: dict[str, Any] = {
        "dataset": store.name,
        "nodes": store.nodes,
        "edges": edges,
        "features": store.features,
        "classes": list(store.class_names),
        "files": {path.name: path.stat().st_size for path in sorted(out.iterdir())},
        "fingerprint": store.fingerprint,
        "out": str(out),
        "notes": list(store.notes),
        "repairs": list(store.repairs),
    }
    if output.json:
        print_json(report)
    elif not output.quiet:
        print_notes(store.notes)
        size = sum(report["files"].values()) / 1e6
        counted = f"{store.nodes:,} nodes and {edges:,} edges"
        say(f"{escape(store.name)}: {counted} ({size:,.1f} MB) in {escape(str(out))}")


@app.command(cls=Command)
@expanded
def fetch(
    *,
    name: Annotated[str, typer.Argument(help="citeseer or pubmed.")],
    force: Annotated[bool, typer.Option("--force", help="Build it again even if it is here.")] = False,
    output: OutputOptions,
) -> None:
    """Fetch a data set into the cache folder (KERNODE_CACHE); each raw file is checked by its SHA-256.

    Example: [bold]kernode data fetch citeseer[/]
    """
    from kernode.io import datasets
    from kernode.io.planetoid import fetch as fetch_data

    name = name.lower()
    if not output.silent and any(name == entry.name for entry in datasets()):
        sys.stderr.write(f"fetching {name} …\n")
    path = fetch_data(name, force=force)
    if output.json:
        print_json({"dataset": name, "path": str(path)})
    else:
        say(f"{escape(name)} is in {escape(str(path))}")


def _sizes(sizes: tuple[int, int, int]) -> str:
    return " / ".join(f"{size:,}" for size in sizes)
