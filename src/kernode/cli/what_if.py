"""``kernode what-if``: the answer about a node if edges or features were others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
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
            features, columns = _changes(graph, set_to or [])
            edges = {name: [as_node(graph, one) for one in given or ()] for name, given in
                     (("add", add), ("remove", remove))}  # fmt: skip
            found = opened.model.what_if(v, **edges, features=features, columns=columns)
        else:
            search = opened.model.smallest_change(v, smallest)
            found = search.result
    if output.json:
        report = {"model": str(model.model), "dataset": graph.name, **_report(found)}
        if search is not None:
            report["smallest"] = {"of": smallest, "found": _named(graph, search), "proved": search.proved,
                                  "tried": search.tried}  # fmt: skip
        print_json({**report, "notes": list(opened.notes)})
        return
    if search is not None:
        _print_search(graph, search)
    _print(found)


def _changes(graph: Graph, given: list[str]) -> tuple[dict[str, float], dict[str, Any]]:
    """Features as the model sees them, and columns of the node's table as that has them."""
    features: dict[str, float] = {}
    columns: dict[str, Any] = {}
    for text in given:
        name, value, of_table = _change(graph, text)
        if name in features or name in columns:
            raise InputError(f"{name!r} is given twice.", "duplicate", setting="set_to", name=name)
        if of_table:
            columns[name] = value or None  # nothing: the value is missing
            continue
        try:
            features[name] = float(value)
        except ValueError:
            raise bad_setting("set_to", "FEATURE=NUMBER", text) from None
    return features, columns


def _change(graph: Graph, text: str) -> tuple[str, str, bool]:
    """A name, its value, and whether it is a column of a table, which may have several features."""
    from kernode.explain.explain import feature_names
    from kernode.io.tables.conditions import column_named

    feature, sign, number = text.rpartition("=")
    if graph.encoding is None:
        return feature, number if sign else "", False
    table = [column.name for column in graph.encoding.columns]
    if feature in feature_names(graph) and feature not in table:  # topic=art of a category, a degree
        return feature, number, False
    if not sign:
        raise bad_setting("set_to", "COLUMN=VALUE", text)
    column = next((name for name in table if text.startswith(f"{name}=")), text.partition("=")[0])
    column_named(graph, column)  # raises where there is no such column
    return column, text.removeprefix(f"{column}="), True


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


def _print_search(graph: Graph, search: Smallest) -> None:
    computed = f"({search.tried:,} answers computed)"
    if not search.found:
        say(f"no choice of its own {search.what} was found that changes the class {computed}")
        return
    listed = ", ".join(escape(str(one)) for one in _named(graph, search))
    fewest = "no fewer do" if search.proved else "none of them can be left out; fewer others might do"
    say(f"without {len(search.found)} of its own {search.what} it gets another class: [bold]{listed}[/]")
    say(f"[dim]{fewest} {computed}[/]")


def _print(found: WhatIf) -> None:
    was, becomes = escape(str(found.was)), escape(str(found.becomes))
    change = f"stays {was}" if was == becomes else f"{was} becomes {becomes}"
    say(f"[bold]{escape(str(found.node))}[/]: [bold]{change}[/]")
    table = new_table(("class", "before", "after"), left=("class",), box=None, pad_edge=False)
    order = sorted(range(len(found.classes)), key=lambda i: -max(found.before[i], found.after[i]))
    for i in order[:5]:
        before, after = (f"{100 * values[i]:.1f} %" for values in (found.before, found.after))
        table.add_row(escape(str(found.classes[i])), before, after)
    print_table(table)
