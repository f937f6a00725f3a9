"""``kernode what-if``: the answer about a node if edges or features were others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import names_of, one_node
from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.graph_source import notes_of
from kernode.cli.options import AskedModelOptions, OutputOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.explain.what_if import Smallest, WhatIf
    from kernode.graph import Graph


def what_if(
    *,
    model: AskedModelOptions,
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
    from kernode.explain.what_if import changed_features, smallest_change
    from kernode.explain.what_if import what_if as answer
    from kernode.graph.edits import Edit

    if smallest is not None and (add or remove or set_to):
        raise InputError("--smallest searches by itself. Leave out --add, --remove and --set.")
    if smallest is None and not (add or remove or set_to):
        raise InputError("nothing would change. Give --add, --remove or --set, or --smallest edges.")
    if smallest not in (None, "edges", "features"):
        raise InputError(f"--smallest must be edges or features. Got {smallest!r}.")
    with progress("what-if", quiet=output.silent):
        opened = model.open()
        on = opened.on
        v = one_node(on.graph, node, "NODE")
        if smallest is None:
            edit = Edit(
                tuple((v, one_node(on.graph, one, "--add")) for one in add or ()),
                tuple((v, one_node(on.graph, one, "--remove")) for one in remove or ()),
                changed_features(on.graph, v, *_settings(on.graph, set_to or [])),
            )
            found, search = answer(on, v, edit), None
        else:
            search = smallest_change(on, v, smallest)  # type: ignore[arg-type]
            found = search.result
    if output.json:
        report = {"model": str(model.model), "dataset": on.graph.name, **_report(found)}
        if search is not None:
            found_by = {"proved": search.proved, "tried": search.tried}
            report["smallest"] = {"of": smallest, "found": _found(on.graph, search), **found_by}
        print_json({**report, "notes": notes_of(opened)})
        return
    if search is not None:
        _print_search(on.graph, search)
    _print(found)


def _settings(graph: Graph, given: list[str]) -> tuple[dict[str, float], dict[str, Any]]:
    """Features as the model sees them, and columns of the node's table as that has them."""
    features: dict[str, float] = {}
    columns: dict[str, Any] = {}
    for text in given:
        name, value, of_table = _setting(graph, text)
        if name in features or name in columns:
            raise InputError(f"--set is given twice for {name!r}. Give it once.")
        if of_table:
            columns[name] = value or None  # nothing: the value is missing
        else:
            features[name] = _number(text, value)
    return features, columns


def _setting(graph: Graph, text: str) -> tuple[str, str, bool]:
    """A name, its value, and whether it is a column of a table, all of whose features change with it."""
    from kernode.explain.explain import feature_names
    from kernode.io.tables.conditions import column_named

    feature, sign, number = text.rpartition("=")
    if graph.encoding is None:
        return feature, number if sign else "", False
    table = [column.name for column in graph.encoding.columns]
    if feature in feature_names(graph) and feature not in table:  # topic=art of a category, a degree
        return feature, number, False
    if not sign:
        raise InputError(f"--set must be COLUMN=VALUE. Got {text!r}.")
    column = next((name for name in table if text.startswith(f"{name}=")), text.partition("=")[0])
    column_named(graph, column)  # or says those that there are
    return column, text.removeprefix(f"{column}="), True


def _number(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"--set must be FEATURE=NUMBER. Got {text!r}.") from None


def _report(found: WhatIf) -> dict[str, Any]:
    names = [str(name) for name in found.classes]
    before, after = (dict(zip(names, values, strict=True)) for values in (found.before, found.after))
    return {"node": found.node, "was": found.was, "becomes": found.becomes, "before": before, "after": after}


def _found(graph: Graph, search: Smallest) -> list[Any]:
    import numpy as np

    from kernode.explain.explain import feature_names

    if search.what == "features":
        return [feature_names(graph)[one] for one in search.found]
    return names_of(graph, np.array(search.found, np.int64)).tolist()


def _print_search(graph: Graph, search: Smallest) -> None:
    own = f"of its own {search.what}"
    if not search.found:
        say(f"no choice {own} was found that changes the class ({search.tried:,} answers computed)")
        return
    listed = ", ".join(escape(str(one)) for one in _found(graph, search))
    fewest = "no fewer do" if search.proved else "none of them can be left out; fewer others might do"
    say(f"without {len(search.found)} {own} it would get another class: [bold]{listed}[/]")
    say(f"[dim]{fewest} ({search.tried:,} answers computed)[/]")


def _print(found: WhatIf) -> None:
    arrow = f"stays {escape(str(found.was))}" if found.was == found.becomes else (
        f"{escape(str(found.was))} becomes {escape(str(found.becomes))}")  # fmt: skip
    say(f"[bold]{escape(str(found.node))}[/]: [bold]{arrow}[/]")
    table = new_table(("class", "before", "after"), left=("class",), box=None, pad_edge=False)
    order = sorted(range(len(found.classes)), key=lambda i: -max(found.before[i], found.after[i]))
    for i in order[:5]:
        before, after = (f"{100 * values[i]:.1f} %" for values in (found.before, found.after))
        table.add_row(escape(str(found.classes[i])), before, after)
    print_table(table)
