"""``kernode missing``: the likeliest links that a graph does not have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import names_of, one_node
from kernode.cli.console import check_apart, check_writable, print_json, progress, say
from kernode.cli.graph_source import print_notes, print_notes_on_rows
from kernode.cli.model_source import graph_of
from kernode.cli.options import DeviceOption, EncodingOption, NodesOption, OutputOptions
from kernode.cli.predictions import Table, as_csv, check_suffix, report_of, write_table
from kernode.cli.streams import write_data
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.tasks.links.model import LinkModelOnGraph


def missing(
    *,
    model: Annotated[Path, typer.Argument(help="A model file that `kernode links` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(help="Its graph; not needed where the model has it or it is a built-in one."),
    ] = None,
    nodes: NodesOption = None,
    encoding: EncodingOption = None,
    node: Annotated[
        str | None, typer.Option(help="Links of this node; of the whole graph if not given.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-k", help="How many.")] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="FILE.csv, .parquet or .json; stdout if not given.")
    ] = None,
    device: DeviceOption = "auto",
    output: OutputOptions,
) -> None:
    """Write the likeliest pairs of nodes that are no edges, with the probability of a link.

    No edge of the graph is among them, whether it trained the model or was held out to choose or to test.
    Every pair is looked at, and of equally likely ones the first in the graph come first.

    Example: [bold]kernode missing cora-links-auto.safetensors -k 20[/]

    Of one node: [bold]kernode missing links.safetensors edges.csv --nodes nodes.csv --node ann[/]
    """
    check_suffix(out)
    check_writable(out)
    check_apart((out,), (model, data, nodes))
    if count < 1:
        raise InputError(f"-k must be an integer ≥ 1. Got {count}.")
    from kernode.io.tables import is_table

    with progress("missing", quiet=output.silent):
        on, whole = _opened(model, data, nodes, encoding, device)
        graph = on.graph
        pairs, scores = on.missing_pairs(None if node is None else one_node(graph, node, "--node"), count)
    from_tables = data is not None and is_table(data)
    first, other = (names_of(graph, ends).tolist() for ends in pairs.T)
    table: Table = {"node": first, "other": other, "probability": scores.tolist()}
    if out is not None:
        write_table(out, table)
    elif not output.json:
        write_data(as_csv(table).decode())
        if from_tables and not output.quiet:
            print_notes_on_rows(whole, whole)
        return
    if output.json:
        facts = {"model": str(model), "dataset": graph.name, "node": node, "count": len(pairs)}
        print_json(report_of(facts, whole, table, out, "missing"))
    elif not output.quiet:
        if from_tables:
            print_notes(whole)
        say(f"{len(pairs):,} missing links of [bold]{escape(graph.name)}[/] written to {escape(str(out))}")


def _opened(
    path: Path, data: str | None, nodes: Path | None, encoding: str | None, device: str
) -> tuple[LinkModelOnGraph, Graph]:
    """The link model of a file on the training edges of its graph, and the whole graph."""
    from kernode.compute.place import Place
    from kernode.models.file import read_model
    from kernode.tasks.links.model import LinkModel

    model = read_model(path)
    if not isinstance(model, LinkModel):
        raise InputError(
            f"{path} classifies nodes. Give a model of links, which `kernode links` writes.",
            "wrong-file",
            path=path,
        )
    whole = graph_of(model, path, data, nodes, encoding)
    return model.on(model.split_of(whole), str(Place.of(model.precision, device).device)), whole
