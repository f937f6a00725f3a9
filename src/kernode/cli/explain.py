"""``kernode explain``: why a node has its class, or why two nodes are similar."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.options.model import QueryOptions, as_node
from kernode.cli.options.run import OutputOptions


def explain(
    *,
    model: QueryOptions,
    node: Annotated[str, typer.Argument(help="A node: its name, or its index where nodes have no names.")],
    other: Annotated[
        str | None, typer.Argument(help="Another node: explain why the two are similar.")
    ] = None,
    top: Annotated[int, typer.Option(help="So many of the largest parts; the rest is one line.")] = 10,
    of_class: Annotated[
        str | None, typer.Option("--class", help="Explain this class.", show_default="the predicted one")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="… and its lead over this one.", show_default="the next")
    ] = None,
    output: OutputOptions,
) -> None:
    """Say what each neighbour, each hop and each feature added, without approximating.

    Of one node: to the lead of its class over the next. Of two: to K(u, v), down to pairs of neighbours. The
    largest parts are shown and all others are one line, so that every column sums to the whole. With several
    runs in the model it is their mean, ± their spread.

    Example: [bold]kernode explain cora.safetensors 35[/], or for two nodes [bold]kernode explain
    cora.safetensors 35 1114442[/]
    """
    with progress("explain", quiet=output.silent):
        opened = model.open()
        graph = opened.graph
        found = opened.model.explain(
            as_node(graph, node),
            None if other is None else as_node(graph, other),
            top=top,
            of_class=_known(opened.model.model_.classes, of_class),
            against=_known(opened.model.model_.classes, against),
        )
    if output.json:
        opened.print_json(model, **found.to_json())
        return
    opened.print_notes(output)
    say(escape(str(found)))


def _known(classes: tuple[Any, ...], name: str | None) -> Any:
    """A class as the model has it: by its name, or its number where it has numbers."""
    return next((one for one in classes if str(one) == name), name)
