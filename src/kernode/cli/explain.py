"""``kernode explain``: why a node has its class, why two nodes are similar, and what would change that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape

from kernode.cli.console import new_table, print_table, progress, say
from kernode.cli.options.model import ModelOptions, as_node, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.explain.what_if import Smallest, WhatIf
    from kernode.graph import Graph

_CHANGE: Any = {"rich_help_panel": "What if", "show_default": False}


def explain(
    *,
    model: ModelOptions,
    node: Annotated[str, typer.Argument(help="A node: its name, or its index where nodes have no names.")],
    other: Annotated[
        str | None, typer.Argument(help="Another node: explain why the two are similar.")
    ] = None,
    top: Annotated[int, typer.Option(help="So many of the largest parts; the rest is one line.", min=1)] = 10,
    of_class: Annotated[
        str | None, typer.Option("--class", help="Explain this class.", show_default="the predicted one")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="… and its lead over this one.", show_default="the next")
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(help="A node that it would have an edge with; may be repeated.", **_CHANGE),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(help="A node that it would have no edge with; may be repeated.", **_CHANGE),
    ] = None,
    set_to: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            help="COLUMN=VALUE, as the node's table has it; else FEATURE=NUMBER, as an explanation names "
            "it. May be repeated.",
            **_CHANGE,
        ),
    ] = None,
    smallest: Annotated[
        Literal["edges", "features"] | None,
        typer.Option(help="The fewest of its own edges or features that decide its class.", **_CHANGE),
    ] = None,
    output: OutputOptions,
) -> None:
    """Say what each neighbour, each hop and each feature added, without approximating.

    Of one node: to the lead of its class over the next. Of two: to K(u, v), down to pairs of neighbours. The
    largest parts are shown and all others are one line, so that every column sums to the whole. With several
    runs in the model it is their mean, ± their spread.

    With --add, --remove or --change: say what the model would answer then, without training it again. With
    --smallest, search for the fewest of the node's own edges or features without which it would get another
    class; each answer is computed, not estimated. Centroids (k1, k2) stay as they were trained.

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
    search: Smallest | None = None
    found: Any
    with progress("explain", quiet=output.silent):
        opened = model.open()
        graph, classes = opened.graph, {str(one): one for one in opened.model.model_.classes}
        v, *more = (as_node(graph, one) for one in (node, other) if one is not None)
        if smallest is not None:
            search = opened.model.smallest_change(v, smallest)
            found = search.result
        elif changes:
            edges = {"add": add or (), "remove": remove or ()}
            ends = {name: [as_node(graph, one) for one in given] for name, given in edges.items()}
            found = opened.model.what_if(v, **ends, **_changes(graph, set_to or []))
        else:
            asked = {"of_class": of_class, "against": against}
            known = {name: classes.get(one, one) if one else None for name, one in asked.items()}
            found = opened.model.explain(v, *more, top=top, **known)
    whether = changes or search is not None
    if output.json:
        opened.print_json(model, **(_report(found, graph, search) if whether else found.to_json()))
    elif whether:
        _print(found, graph, search)
    else:
        opened.print_notes(output)
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
        raise InputError("features are set to numbers.", "setting", setting="set_to") from None


def _report(found: WhatIf, graph: Graph, search: Smallest | None) -> dict[str, Any]:
    names = [str(name) for name in found.classes]
    before, after = (dict(zip(names, values, strict=True)) for values in (found.before, found.after))
    report = {
        "node": found.node,
        **graph.listed_marks(graph.find([found.node]))[0],
        "was": found.was,
        "becomes": found.becomes,
        "before": before,
        "after": after,
    }
    if search is not None:
        by = {"proved": search.proved, "tried": search.tried}
        report["smallest"] = {"of": search.what, "found": _named(graph, search), **by}
    return report


def _named(graph: Graph, search: Smallest) -> list[Any]:
    import numpy as np

    from kernode.explain.explain import feature_names

    if search.what == "features":
        return [feature_names(graph)[one] for one in search.found]
    return list(names_of(graph, np.array(search.found, np.int64)).tolist())


def _print(found: WhatIf, graph: Graph, search: Smallest | None) -> None:
    if search is not None:
        own, computed = f"of its own {search.what}", f"({search.tried:,} answers computed)"
        listed = escape(", ".join(map(str, _named(graph, search))))
        fewest = "no fewer do" if search.proved else "fewer others might do"
        changes = f"without {len(search.found)} {own} it gets another class: [bold]{listed}[/]; {fewest}"
        say(f"{changes if search.found else f'no choice {own} changes the class'} {computed}")
    was, becomes = escape(str(found.was)), escape(str(found.becomes))
    change = f"stays {was}" if was == becomes else f"{was} becomes {becomes}"
    say(f"[bold]{escape(str(found.node))}[/]: [bold]{change}[/]")
    table = new_table(("class", "before", "after"), left=("class",), box=None, pad_edge=False)
    order = sorted(range(len(found.classes)), key=lambda i: -max(found.before[i], found.after[i]))
    for i in order[:5]:
        before, after = (f"{100 * values[i]:.1f} %" for values in (found.before, found.after))
        table.add_row(escape(str(found.classes[i])), before, after)
    print_table(table)
