"""``kernode explain``: why a node has its class, or why two nodes are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import one_node
from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.graph_source import notes_of, print_notes
from kernode.cli.options import AskedModelOptions, OutputOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.explain.explanation import Features, NodeExplanation, PairExplanation, Shown


def explain(
    *,
    model: AskedModelOptions,
    node: Annotated[str, typer.Argument(help="A node: its name, or its index where nodes have no names.")],
    other: Annotated[str | None, typer.Argument(help="Another node: explain why the two are alike.")] = None,
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
    from kernode.explain.explain import explain_node, explain_pair

    if top < 1:
        raise InputError(f"--top must be an integer ≥ 1. Got {top}.")
    if other is not None and (of_class is not None or against is not None):
        raise InputError("--class and --against are about one node. Leave them out for two.")
    with progress("explain", quiet=output.silent):
        opened = model.open()
        on = opened.on
        u = one_node(on.graph, node, "NODE")
        found: NodeExplanation | PairExplanation
        if other is None:
            found = explain_node(
                on, u, top, _known(on.model.classes, of_class), _known(on.model.classes, against)
            )
        else:
            found = explain_pair(on, u, one_node(on.graph, other, "OTHER"), top)
    if output.json:
        print_json(
            {
                "model": str(model.model),
                "dataset": on.graph.name,
                **found.to_json(),
                "notes": notes_of(opened),
            }
        )
        return
    if opened.from_tables and not output.quiet:
        print_notes(opened)
    _print_node(found) if other is None else _print_pair(found)  # type: ignore[arg-type]


def _known(classes: tuple[Any, ...], name: str | None) -> Any:
    """A class as the model has it: by its name, or its number where it has numbers."""
    return next((one for one in classes if str(one) == name), name)


def _print_node(e: NodeExplanation) -> None:
    chance = {name: f"{100 * p:.1f} %" for name, p in zip(e.classes, e.probabilities, strict=True)}
    first, second = escape(str(e.of_class)), escape(str(e.against))
    say(
        f"[bold]{escape(str(e.node))}[/]: [bold]{first}[/] {chance[e.of_class]}, {second} {chance[e.against]}"
    )
    table = new_table(("", "adds", "of"), left=("of",), box=None, pad_edge=False, show_header=False)
    for hop in e.hops:
        table.add_row(
            "",
            f"{hop.value:+.4f}",
            "the node itself" if hop.hops == 0 else f"over {hop.hops} hop{'s' * (hop.hops > 1)}",
        )
    if e.class_bias:
        table.add_row("", f"{e.class_bias:+.4f}", "what every node has")
    table.add_row("=", f"[bold]{e.lead:+.4f}[/]", f"lead of {first} over {second}")
    print_table(table)
    _print_shown("by neighbour", e.neighbours)
    _print_features("by feature", e.features)
    _print_held(e.held)


def _print_pair(e: PairExplanation) -> None:
    one, two = escape(str(e.node)), escape(str(e.other))
    spread = "" if e.spread is None else f" ± {e.spread:.4f}"
    whole = f"K = [bold]{e.similarity:.4f}[/]{spread}"
    say(f"[bold]{one}[/] and [bold]{two}[/]: {whole}   [dim]{escape(e.kernel)}[/]")
    say("\nby pairs of neighbours")
    table = new_table(
        ("adds", "±", f"near {one}", "hops", f"near {two}", "hops "),
        left=(f"near {one}", f"near {two}"),
        box=None,
        pad_edge=False,
    )
    for pair in e.pairs:
        table.add_row(
            f"{pair.value:+.4f}", _spread(pair.spread), escape(str(pair.left)), str(pair.left_hops),
            escape(str(pair.right)), str(pair.right_hops),
        )  # fmt: skip
    if e.rest_count:
        table.add_row(f"{e.rest:+.4f}", "", f"{e.rest_count:,} other pairs", "", "", "")
    print_table(table)
    for name, shown, features in zip((one, two), e.neighbours, e.features, strict=True):
        _print_shown(f"through neighbours of {name}", shown)
        _print_features(f"through features around {name}", features)
    _print_held(e.held)


def _print_shown(title: str, shown: Shown) -> None:
    say(f"\n{title}")
    columns = ("adds", "±", "node", "hops", "known class", "most by")
    table = new_table(columns, left=columns[2:], box=None, pad_edge=False)
    for part in shown.parts:
        words = ", ".join(f"{word.name} {word.value:+.3f}" for word in part.words)
        known = "" if part.known_class is None else str(part.known_class)
        row = (str(part.name), str(part.hops), known, words)
        table.add_row(f"{part.value:+.4f}", _spread(part.spread), *map(escape, row))
    if shown.rest_count:
        table.add_row(f"{shown.rest:+.4f}", "", f"{shown.rest_count:,} others", "", "", "")
    print_table(table)


def _print_features(title: str, features: Features) -> None:
    say(f"\n{title}")
    table = new_table(("adds", "±", "feature"), left=("feature",), box=None, pad_edge=False)
    for part in features.shown.parts:
        table.add_row(f"{part.value:+.4f}", _spread(part.spread), escape(str(part.name)))
    if features.shown.rest_count:
        table.add_row(f"{features.shown.rest:+.4f}", "", f"{features.shown.rest_count:,} others")
    if features.constant:
        table.add_row(f"{features.constant:+.4f}", "", "biases")
    if features.other_count:
        table.add_row(
            f"{features.other_nodes:+.4f}", "", f"all features of {features.other_count:,} other nodes"
        )
    print_table(table)


def _print_held(held: str) -> None:
    if held:
        say(f"\n[dim]{escape(held)}[/]")


def _spread(spread: float | None) -> str:
    return "" if spread is None else f"{spread:.4f}"
