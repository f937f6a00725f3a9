"""``kernode data``: list, describe and convert graphs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.files import check_folder, check_out
from kernode.cli.option_groups import expanded, option
from kernode.cli.options.graph import GraphOptions, note_lines
from kernode.cli.options.run import OutputOptions
from kernode.errors import kept

if TYPE_CHECKING:
    from kernode.graph import Graph

app = typer.Typer(no_args_is_help=True)
_MOST_CLASSES = 12  # shown


@app.command("list")
@expanded
def list_(*, output: OutputOptions) -> None:
    """List the built-in data sets: the paper's Table 1, and whether each is on this machine.

    Example: [bold]kernode data list[/]
    """
    from kernode.io import datasets

    if output.json:
        print_json({"datasets": [asdict(entry) | {"classes": entry.classes} for entry in datasets()]})
        return
    columns = ("", "nodes", "edges (paper)", "classes", "features", "FastGCN split", "JK split", "here")
    table = new_table(columns, left=("", "edges (paper)", "FastGCN split", "JK split", "here"))
    for entry in datasets():
        splits = (" / ".join(f"{size:,}" for size in sizes) for sizes in (entry.fastgcn, entry.jk))
        table.add_row(
            entry.name, f"{entry.nodes:,}", f"{entry.edges:,} ({entry.paper_edges:,})", str(entry.classes),
            f"{entry.features:,}", *splits, "yes" if entry.available else "no",
        )  # fmt: skip
    print_table(table)
    say("Edges are deduplicated, without self-loops. Missing data is fetched on first use.")
    say("Synthetic graphs of any size: synthetic:nodes=20000,degree=10,classes=8.")


@app.command()
@expanded
def info(*, graph: GraphOptions, output: OutputOptions) -> None:
    """Describe a graph: counts, classes, degrees, and how its tables were read.

    Example: [bold]kernode data info cora[/]

    Your own tables: [bold]kernode data info edges.csv --nodes nodes.csv --label topic[/]
    """
    import numpy as np

    with progress("info", quiet=output.silent):
        read = graph.graph()
    degrees = np.diff(read.adjacency.indptr)
    counts = np.bincount(read.labels[read.labels >= 0], minlength=read.n_classes)
    facts = _counts(read) | {
        "sparse_features": not isinstance(read.features, np.ndarray),
        "classes": {name: int(count) for name, count in zip(read.class_names, counts, strict=True)},
        "numbers": None if read.targets is None else _of_numbers(read.target_name, read.targets),
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
    unknown = len(degrees) - facts["numbers"]["count"] if read.holds_numbers else facts["unlabelled"]
    what = "number" if read.holds_numbers else "class"
    say(f"[bold]{escape(read.name)}[/]: {counted}")
    say(
        f"  degree {facts['mean_degree']} on average, {facts['largest_degree']} at most; "
        f"{facts['isolated']} isolated nodes, {unknown} without a {what}, "
        f"{facts['unlisted']} that only edges mention"
    )
    classes = sorted(facts["classes"].items(), key=lambda one: -one[1])
    for name, count in classes[:_MOST_CLASSES]:
        say(f"  {count:>8,}  {escape(name)}")
    if rest := classes[_MOST_CLASSES:]:
        say(f"  {sum(count for _, count in rest):>8,}  in {len(rest):,} more classes")
    if numbers := facts["numbers"]:
        of = f" of {escape(numbers['name'])}" if numbers["name"] else ""
        said = ", ".join(f"{name} {numbers[name]:,.6g}" for name in ("mean", "std", "min", "max"))
        say(f"  {numbers['count']:>8,}  numbers{of}: {said}")
    for line in note_lines(read.notes):
        say(line)


@app.command()
@expanded
def convert(
    *,
    graph: GraphOptions,
    out: Annotated[Path, option("FILE.npz, or a FOLDER, new or empty.", "--out", "-o")],
    output: OutputOptions,
) -> None:
    """Write a graph as one .npz file, or as a store: a folder of arrays that many processes share.

    Both store how tables were read, so that a model can predict for other tables. An .npz file is read faster
    than tables. Any number of processes can read their rows of a store; its files have checksums, and tables
    need not fit into memory.

    Example: [bold]kernode data convert edges.csv --nodes nodes.csv --label topic -o graph.npz[/]

    A store: [bold]kernode data convert cora -o cora-store[/]
    """
    if out.suffix:
        check_out(out, read=graph.inputs, extensions=(".npz",))
    else:
        check_folder(out)
    with progress("convert", quiet=output.silent):
        facts = _to_file(graph, out) if out.suffix else _to_store(graph, out)
    size = sum(path.stat().st_size for path in ([out] if out.suffix else out.iterdir())) / 1e6
    counted = f"{facts['nodes']:,} nodes and {facts['edges']:,} edges ({size:,.1f} MB)"
    line = escape(f"{facts['dataset']}: {counted} written to {out}")
    output.show(facts | {"out": str(out)}, [*note_lines(facts["notes"]), line])


def _to_file(graph: GraphOptions, out: Path) -> dict[str, Any]:
    from kernode.io import write_npz

    read = graph.graph()
    write_npz(read, out)
    repairs = [repair.to_json() for repair in read.repairs]
    return _counts(read) | {"classes": list(read.class_names), "notes": list(read.notes), "repairs": repairs}


def _to_store(graph: GraphOptions, out: Path) -> dict[str, Any]:
    from kernode.io.shards import require_free, write_store, write_store_of_tables
    from kernode.io.tables import is_table
    from kernode.io.tables.read import open_tables

    require_free(out)
    with kept(lambda: "Nothing was written."):
        if is_table(graph.data):
            with open_tables(graph.data, **graph.columns()) as tables:
                store = write_store_of_tables(tables, out)
        else:
            store = write_store(graph.graph(), out)
    return {
        "dataset": store.name,
        "nodes": store.nodes,
        "edges": store.entries // 2,
        "features": store.features,
        "classes": list(store.class_names),
        "files": {path.name: path.stat().st_size for path in sorted(out.iterdir())},
        "fingerprint": store.fingerprint,
        "notes": list(store.notes),
        "repairs": list(store.repairs),
    }


def _of_numbers(name: str, targets: Any) -> dict[str, Any]:
    known = targets[targets == targets]  # NaN is not equal to itself
    figures = {one: float(getattr(known, one)()) for one in ("mean", "std", "min", "max")}
    return {"name": name, "count": len(known), **figures}


def _counts(graph: Graph) -> dict[str, Any]:
    return {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
    }
