"""``kernode missing``: the likeliest links that a graph does not have."""

from __future__ import annotations

from typing import Annotated

import typer

from kernode.cli.console import progress
from kernode.cli.files import WRITERS, Table, check_out
from kernode.cli.options.model import LinkModelOptions, OutTableOption, as_node, names_of
from kernode.cli.options.run import OutputOptions


def missing(
    *,
    model: LinkModelOptions,
    node: Annotated[
        str | None, typer.Option(help="Links of this node; of the whole graph if not given.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-k", help="How many.", min=1)] = 10,
    out: OutTableOption = None,
    output: OutputOptions,
) -> None:
    """Write the likeliest node pairs without an edge, with the probability of a link.

    No edge of the graph is among them, whether it trained the model or was held out to choose or to test.
    Every pair is looked at, and of equally likely ones the first in the graph come first.

    Example: [bold]kernode missing cora-links-auto.safetensors -k 20[/]

    Of one node: [bold]kernode missing links.safetensors edges.csv --nodes nodes.csv --node ann[/]
    """
    check_out(out, WRITERS, model.inputs)
    with progress("missing", quiet=output.silent):
        opened = model.open("links")
        graph = opened.graph
        own = None if node is None else int(graph.find([as_node(graph, node)])[0])
        pairs, scores = opened.on.missing_pairs(own, count)
    first, other = (names_of(graph, ends).tolist() for ends in pairs.T)
    table: Table = {"node": first, "other": other, "probability": scores.tolist()}
    facts = {"model": str(model.model), "dataset": graph.name, "node": node, "count": len(pairs)}
    sentence = f"{len(pairs):,} missing links of {graph.name} written to {out}"
    sentences = () if out is None else (sentence,)
    opened.print_table(table, facts, out, output, rows="missing", sentences=sentences)
