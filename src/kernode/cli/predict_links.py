"""``kernode predict-links``: the likeliest links that a graph does not have."""

from __future__ import annotations

from typing import Annotated

from kernode.cli.console import progress
from kernode.cli.files import WRITERS, Table, check_out
from kernode.cli.option_groups import argument, option
from kernode.cli.options.model import ModelOptions, OutTableOption, as_node, names_of
from kernode.cli.options.run import OutputOptions


def predict_links(
    *,
    model: ModelOptions,
    node: Annotated[str | None, argument("Links of this node; of the whole graph if not given.")] = None,
    count: Annotated[int, option("How many.", "--count", "-k", min=1)] = 10,
    out: OutTableOption = None,
    output: OutputOptions,
) -> None:
    """List the likeliest missing links, with probabilities.

    All pairs are compared, except edges, including those held out for validation or the test.

    Example: [bold]kernode predict-links cora-links-auto.safetensors -k 20[/]

    Of one node: [bold]kernode predict-links links.safetensors ann --graph edges.csv --nodes nodes.csv[/]
    """
    check_out(out, read=model.inputs, extensions=WRITERS)
    with progress("predict-links", quiet=output.silent):
        opened = model.open("links")
        graph = opened.graph
        own = None if node is None else int(graph.find([as_node(graph, node)])[0])
        pairs, scores = opened.on.missing_pairs(own, count)
    first, other = (names_of(graph, ends).tolist() for ends in pairs.T)
    table: Table = {"node": first, "other": other, "probability": scores.tolist()}
    sentences = [f"{len(pairs):,} missing links of {graph.name} written to {out}"] if out else []
    opened.show_table(table, out, output, sentences, "missing", node=node, count=len(pairs))
