"""``kernode explain``: why a node has its class or number, why two are similar, and what would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.option_groups import argument, option
from kernode.cli.options.model import ModelOptions, as_node
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.graph import Graph

_CHANGE: Any = {"rich_help_panel": "What if", "show_default": False}


def explain(
    *,
    model: ModelOptions,
    node: Annotated[str, argument("A node: its name, or its index where nodes have no names.")],
    other: Annotated[str | None, argument("Another node: explain why the two are similar.")] = None,
    top: Annotated[int, option("Number of contributions listed; the rest is one line.", min=1)] = 10,
    of_class: Annotated[
        str | None, option("Explain this class.", "--class", show_default="the predicted one")
    ] = None,
    against: Annotated[str | None, option("… and its lead over this one.", show_default="the next")] = None,
    add: Annotated[
        list[str] | None, option("What if: add an edge to this node; may be repeated.", **_CHANGE)
    ] = None,
    remove: Annotated[
        list[str] | None, option("What if: remove the edge to this node; may be repeated.", **_CHANGE)
    ] = None,
    set_to: Annotated[
        list[str] | None,
        option(
            "COLUMN=VALUE, as the node's table has it; else FEATURE=NUMBER, as an explanation names "
            "it. May be repeated.",
            "--change",
            **_CHANGE,
        ),
    ] = None,
    smallest: Annotated[
        Literal["edges", "features"] | None,
        option("The fewest of its own edges or features that decide its class.", **_CHANGE),
    ] = None,
    output: OutputOptions,
) -> None:
    """Explain a class, a number or a similarity exactly, or answer what-if questions.

    Shows the exact contribution of each neighbour, hop and feature: for one node, to the lead of its class
    over the next; for two nodes, to K(u, v), down to pairs of neighbours. Figures are the mean over replicas
    ± their spread. A number is explained by known numbers, and by features and edges.

    With --add, --remove or --change: the prediction for the changed graph, without training again.

    Example: [bold]kernode explain cora.safetensors 35[/], or for two nodes [bold]kernode explain
    cora.safetensors 35 1114442[/]

    What if: [bold]kernode explain cora.safetensors 35 --remove 1137466[/], or [bold]--smallest edges[/]
    """
    changes = bool(add or remove or set_to)
    if (changes and smallest) or (other and (changes or smallest)):
        raise InputError(
            "give one of these: another node, what would change, or where to search for the smallest change.",
            "conflict", setting=("add", "remove", "set_to", "smallest"),
        )  # fmt: skip
    found: Any
    with progress("explain", quiet=output.silent):
        opened = model.open("classes", "numbers")
        opened.refuse_of_classes(of_class=of_class, against=against, smallest=smallest)
        graph = opened.graph
        v, *more = (as_node(graph, one) for one in (node, other) if one is not None)
        if smallest is not None:
            found = opened.model.smallest_change(v, smallest)
        elif changes:
            added, removed = ([as_node(graph, one) for one in ends or ()] for ends in (add, remove))
            found = opened.model.what_if(v, add=added, remove=removed, **_changes(graph, set_to or []))
        elif opened.has_numbers:
            if more:
                sentence = (
                    "a model of numbers explains one node. Leave the other out, or use kernode similar."
                )
                raise InputError(sentence, "unsupported", setting="other")
            found = opened.model.explain(v, top=top)
        else:
            classes = {str(one): one for one in opened.model.model_.classes}  # they may be integers
            of_class, against = (one and classes.get(one, one) for one in (of_class, against))
            found = opened.model.explain(v, *more, top=top, of_class=of_class, against=against)
    if output.json:
        print_json(opened.facts | graph.listed_marks(graph.find([v]))[0] | found.to_json())
    else:
        output.show({}, opened.lines)
        say(escape(str(found)))


def _changes(graph: Graph, given: list[str]) -> dict[str, dict[str, Any]]:
    """Return values of columns as a table has them, or of features if the graph has no tables."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or name in found:
            raise InputError(f"each change is a NAME=VALUE, once. Got {text!r}.", "setting", setting="set_to")
        found[name] = value or None  # nothing: the value is missing
    if graph.encoding is not None:
        return {"columns": found}
    try:
        return {"features": {name: float(value) for name, value in found.items()}}
    except (TypeError, ValueError):
        raise InputError("a feature needs a number.", "setting", setting="set_to") from None
