"""``kernode what-if``: the answer about a node if edges or features were others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import new_table, print_table, progress, say
from kernode.cli.options.model import QueryOptions, as_node, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError, bad_setting

if TYPE_CHECKING:
    from kernode.explain.what_if import Smallest, WhatIf
    from kernode.graph import Graph


def what_if(
    *,
    model: QueryOptions,
    node: Annotated[str, typer.Argument(help="A node: its name, or its index where nodes have no names.")],
    add: Annotated[
        list[str] | None, typer.Option(help="A node that it would have an edge with; may be repeated.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="A node that it would have no edge with; may be repeated.")
    ] = None,
    set_to: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="COLUMN=VALUE, as the node's table has it; of other graphs FEATURE=NUMBER, as `kernode "
            "explain` names it. May be repeated.",
        ),
    ] = None,
    smallest: Annotated[
        str | None, typer.Option(help="edges or features: the fewest of its own that decide its class.")
    ] = None,
    output: OutputOptions,
) -> None:
    """Say what the model would answer, without training it again.

    With --smallest, search for the fewest of the node's own edges or features without which it would get
    another class; each answer is computed, not estimated. Centroids (k1, k2) stay as they were trained.

    Example: [bold]kernode what-if cora.safetensors 35 --remove 1137466[/], or [bold]kernode what-if
    cora.safetensors 35 --smallest edges[/]
    """
    if smallest not in (None, "edges", "features"):
        raise bad_setting("smallest", "edges or features", smallest)
    if bool(add or remove or set_to) == (smallest is not None):
        raise InputError(
            "give either what would change, or of what to search for the smallest change.",
            "conflict" if smallest else "missing", setting=("add", "remove", "set_to", "smallest"),
        )  # fmt: skip
    search: Smallest | None = None
    with progress("what-if", quiet=output.silent):
        opened = model.open()
        graph, v = opened.graph, as_node(opened.graph, node)
        if smallest is None:
            edges = {name: [as_node(graph, one) for one in given or ()] for name, given in
                     (("add", add), ("remove", remove))}  # fmt: skip
            found = opened.model.what_if(v, **edges, **_changes(graph, set_to or []))
        else:
            search = opened.model.smallest_change(v, smallest)
            found = search.result
    if output.json:
        report = _report(found)
        if search is not None:
            report["smallest"] = {"of": smallest, "found": _named(graph, search), "proved": search.proved,
                                  "tried": search.tried}  # fmt: skip
        opened.print_json(model, **report)
        return
    _print(found, graph, search)


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


def _report(found: WhatIf) -> dict[str, Any]:
    names = [str(name) for name in found.classes]
    before, after = (dict(zip(names, values, strict=True)) for values in (found.before, found.after))
    return {"node": found.node, "was": found.was, "becomes": found.becomes, "before": before, "after": after}


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
