"""``kernode similar``: the nodes most similar to some, by a saved model's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from kernode.cli.console import new_table, print_table, progress, say
from kernode.cli.option_groups import argument, option
from kernode.cli.options.model import ModelOptions, as_node, chosen_nodes, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError, bad_setting, warn

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.kernels.node_kernel import SimilarNodes


def similar(
    *,
    model: ModelOptions,
    asked: Annotated[list[str], argument("Nodes, by name or index.", metavar="NODE...")],
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
    unlisted: Annotated[
        bool, option("Look among nodes, too, that only edges mention.", "--unlisted")
    ] = False,
    exact: Annotated[
        bool | None,
        option(
            "Compare with every node, or use the index, which is made if need be.",
            "--exact/--index",
            show_default="the index of a graph with 10,000 nodes or more, if there is one",
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """Show the nodes that the learned kernel finds most similar to some, with similarity and known class.

    The similarity is K on vectors of length 1, the mean of the model's runs. An index (MODEL.index, of the
    extra `index`) may miss a few nodes, and the answer says so; --among, --class and --where compare all.

    Example: [bold]kernode similar cora.safetensors 35 1033 -k 5[/]

    Of a class: [bold]kernode similar edges.safetensors ann --class Theory --where year=2000.. --json[/]
    """
    wanted = conditions(where or [])
    from kernode.explain.similar import restricted
    from kernode.graph.share import GraphShare
    from kernode.tasks.classes.on_graph import similar_in_shares

    index: Path | None = None
    with progress("similar", quiet=output.silent):
        opened = model.open()
        graph = opened.graph
        queries = graph.find([as_node(graph, name) for name in asked])
        listed = None if among is None else chosen_nodes(graph, among, "among")
        some = restricted(graph, listed, of_class, wanted or None, unlisted=unlisted)
        if isinstance(graph, GraphShare):
            found = similar_in_shares(opened.on, queries, count, some)
        else:
            if some is None:
                index = _ready_index(opened.model, model.model, exact)
            found = opened.model.kernel_.similar(queries, count, among=some, exact=index is None)
    compared = graph.n_nodes if some is None else len(some)
    by_index = not all(one.exact for one in found)
    answers = [_answer(graph, int(query), one) for query, one in zip(queries, found, strict=True)]
    if output.json:
        by = {"exact": not by_index, "index": str(index) if by_index else None}
        opened.print_json(model, count=count, among=compared, **by, similar=answers)
        return
    opened.print_notes(output)
    for answer in answers:
        _print(answer)
    how = f"found by the index {escape(str(index))}: a few may be missed"
    say(how if by_index else f"compared with {compared:,} nodes, exact")


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


def _ready_index(model: Any, path: Path, exact: bool | None) -> Path | None:
    """Load the index of a model's file, or make it with ``exact=False``; None where all are compared."""
    from kernode.explain.similar import index_path
    from kernode.kernels.index import FROM_NODES, StaleIndexError, is_installed

    place = index_path(path)
    usual = model.graph_.n_nodes >= FROM_NODES and is_installed() and place.exists()
    if exact or (exact is None and not usual):
        return None
    try:
        if place.exists():
            model.load_index(place)
            return place
    except StaleIndexError as error:
        if exact is None:
            warn(f"{error} Every node was compared.")
            return None
    saved: Path = model.save_index(place)
    return saved


def _answer(graph: Graph, query: int, found: SimilarNodes) -> dict[str, Any]:
    """A node, and those similar to it, each with its known class."""
    from kernode.graph import positions

    nodes = positions([query, *(graph.find([node for node, _ in found]) if found else ())])
    marks = graph.listed_marks(nodes)
    own, *others = zip(names_of(graph, nodes).tolist(), graph.classes_of(nodes), marks, strict=True)
    return {
        "node": own[0],
        "class": own[1],
        **own[2],
        "similar": [
            {"node": name, "similarity": similarity, "class": known, **mark}
            for (name, known, mark), (_, similarity) in zip(others, found, strict=True)
        ],
    }


def _print(answer: dict[str, Any]) -> None:
    known = "" if answer["class"] is None else f", {answer['class']}"
    known += "" if answer.get("listed", True) else " (not listed)"
    title = escape(f"most similar to {answer['node']}{known}")
    columns = ("rank", "node", "similarity", "class")
    table = new_table(columns, left=("node", "class"), title=title)
    for rank, one in enumerate(answer["similar"], 1):
        of_class = "–" if one["class"] is None else one["class"]
        of_class += "" if one.get("listed", True) else " (not listed)"
        table.add_row(str(rank), escape(str(one["node"])), f"{one['similarity']:.4f}", escape(of_class))
    print_table(table)
