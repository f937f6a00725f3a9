"""``kernode similar``: the nodes most similar to some, by a saved model's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.option_groups import argument, flag, option
from kernode.cli.options.model import ModelOptions, Opened, as_node, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError, bad_setting

if TYPE_CHECKING:
    from kernode.kernels.node_kernel import SimilarNodes


def similar(
    *,
    model: ModelOptions,
    queries: Annotated[list[str], argument("Nodes, by name or index.", metavar="NODE...")],
    count: Annotated[int, option("How many for each node.", "--count", "-k", min=1)] = 10,
    among: Annotated[str | None, option("Look among these only: a,b,c or a file with one per line.")] = None,
    of_class: Annotated[
        str | None, option("Look among nodes that are known to be of this class.", "--class")
    ] = None,
    where: Annotated[
        list[str] | None,
        option(
            "Look where a column of the node table has a value: venue=ICML, or year=2000..2005 "
            "(also 2000.. and ..2005). Can be repeated."
        ),
    ] = None,
    unlisted: Annotated[bool, flag("Look among nodes, too, that only edges mention.", "--unlisted")] = False,
    output: OutputOptions,
) -> None:
    """List the nodes most similar to a node, with their known classes or numbers.

    The similarity is K on vectors of length 1, the mean of the model's runs: 1 for the same direction. Every
    node is compared, or with --among, --class or --where all that are left. Nodes that only edges mention are
    left out without --unlisted.

    Example: [bold]kernode similar cora.safetensors 35 1033 -k 5[/]

    Of a class: [bold]kernode similar edges.safetensors ann --class Theory --where year=2000.. --json[/]
    """
    wanted = conditions(where or [])
    from kernode.explain.similar import restricted
    from kernode.graph.share import GraphShare
    from kernode.tasks.classes.on_graph import similar_in_shares

    with progress("similar", quiet=output.silent):
        opened = model.open("classes", "numbers")
        opened.refuse_of_classes(of_class=of_class)
        graph = opened.graph
        nodes = graph.find([as_node(graph, name) for name in queries])
        listed = None if among is None else chosen_nodes(graph, among, "among")
        some = restricted(graph, listed, of_class, wanted or None, unlisted=unlisted)
        if isinstance(graph, GraphShare):
            found = similar_in_shares(opened.on, nodes, count, some)
        else:
            found = opened.model.kernel_.similar(nodes, count, among=some)
    compared = graph.n_nodes if some is None else len(some)
    what = "number" if opened.has_numbers else "class"
    answers = [_answer(opened, int(node), one, what) for node, one in zip(nodes, found, strict=True)]
    if output.json:
        by = {"exact": True, "index": None}  # as 0.2, where an index could be saved
        print_json(opened.facts | {"count": count, "among": compared, **by, "similar": answers})
        return
    output.show({}, opened.lines)
    for answer in answers:
        known = "" if answer[what] is None else f", {_shown(answer[what])}"
        say(escape(f"most similar to {answer['node']}{known}{_mark(answer)}"))
        table = new_table(("rank", "node", "similarity", what), left=("node", "class"))
        for rank, one in enumerate(answer["similar"], 1):
            known = f"{_shown(one[what])}{_mark(one)}"
            table.add_row(str(rank), escape(str(one["node"])), f"{one['similarity']:.4f}", escape(known))
        print_table(table)
    say(f"compared with {compared:,} nodes, exact")


def conditions(given: list[str]) -> dict[str, Any]:
    """Columns and what they must have: a value, or bounds with two dots between.

    >>> conditions(["venue=ICML", "year=2000..2005", "pages=..8"])
    {'venue': 'ICML', 'year': ('2000', '2005'), 'pages': (None, '8')}
    """
    wanted: dict[str, Any] = {}
    for text in given:
        column, _, value = (part.strip() for part in text.partition("="))
        low, dots, high = (part.strip() for part in value.partition(".."))
        if not column or not value or (dots and not (low or high)):
            raise bad_setting("where", "COLUMN=VALUE or COLUMN=LOW..HIGH", text)
        if column in wanted:
            raise InputError(f"{column!r} has two conditions. Give one.", "duplicate", setting="where")
        wanted[column] = (low or None, high or None) if dots else value
    return wanted


def _answer(opened: Opened, query: int, found: SimilarNodes, what: str) -> dict[str, Any]:
    """A node, and those similar to it, each with its known class or number."""
    from kernode.graph import positions

    graph = opened.graph
    nodes = positions([query, *(graph.find([node for node, _ in found]) if found else ())])
    facts = zip(names_of(graph, nodes).tolist(), opened.known(nodes), graph.listed_marks(nodes), strict=True)
    own, *others = [{"node": name, what: known, **mark} for name, known, mark in facts]
    similar = [{**one, "similarity": value} for one, (_, value) in zip(others, found, strict=True)]
    return {**own, "similar": similar}


def _shown(known: Any) -> str:
    """A class or a number for people."""
    return "–" if known is None else f"{known:.6g}" if isinstance(known, float) else str(known)


def _mark(node: dict[str, Any]) -> str:
    return "" if node.get("listed", True) else " (not listed)"
