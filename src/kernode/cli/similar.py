"""``kernode similar``: the nodes most alike to some, by a saved model's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.chosen_nodes import chosen, names_of, one_node
from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.graph_source import notes_of, print_notes
from kernode.cli.options import AskedModelOptions, OutputOptions
from kernode.cli.parsing import conditions
from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.kernels.node_kernel import SimilarNodes
    from kernode.tasks.classes.on_graph import NodeModelOnGraph


def similar(
    *,
    model: AskedModelOptions,
    asked: Annotated[list[str], typer.Argument(metavar="NODE...", help="Nodes, by name or index.")],
    count: Annotated[int, typer.Option("--count", "-k", help="How many for each node.")] = 10,
    among: Annotated[
        str | None, typer.Option(help="Look among these only: a,b,c or a file with one per line.")
    ] = None,
    of_class: Annotated[
        str | None, typer.Option("--class", help="Look among nodes that are known to be of this class.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Look where a column of the node table has a value: venue=ICML, or year=2000..2005 "
            "(also 2000.. and ..2005). Can be repeated.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--index",
            help="Compare with every node, or ask the index beside the model, which is made if need be; "
            "left out: the index where there is one and the graph has 10,000 nodes or more.",
            show_default=False,
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """Show the nodes that the learned kernel finds most alike to some, with their similarity and known class.

    The similarity is K on vectors of length 1, the mean of the model's runs: 1 for the same direction. Every
    node is compared, or those that an index finds (MODEL.index, of the extra `index`): their similarities
    are exact, too, but a few nodes may be missed, and the answer says so. With --among, --class or --where
    all nodes that are left are compared.

    Example: [bold]kernode similar cora.safetensors 35 1033 -k 5[/]

    Of a class: [bold]kernode similar edges.safetensors ann --class Theory --where year=2000.. --json[/]
    """
    if count < 1:
        raise InputError(f"-k must be an integer ≥ 1. Got {count}.")
    wanted = conditions(where or [], "--where")
    from kernode.explain.similar import restricted
    from kernode.graph import positions
    from kernode.graph.share import GraphShare
    from kernode.tasks.classes.on_graph import similar_in_shares

    with progress("similar", quiet=output.silent):
        opened = model.open()
        on, graph = opened.on, opened.on.graph
        queries = positions([one_node(graph, name, "NODE") for name in asked])
        listed = None if among is None else chosen(graph, among, "--among")
        some = restricted(graph, listed, of_class, wanted or None)
        if isinstance(graph, GraphShare):
            said, found = None, similar_in_shares(on, queries, count, some)
        else:
            said = _ready(on, model.model, exact) if some is None else None
            how = True if some is None and exact is None and said is None else exact
            found = on.kernel.similar(queries, count, among=some, exact=how)
    answers = [_answer(graph, int(query), one) for query, one in zip(queries, found, strict=True)]
    by_index = not all(one.exact for one in found)
    if output.json:
        report = {
            "model": str(model.model),
            "dataset": graph.name,
            "count": count,
            "among": graph.n_nodes if some is None else len(some),
            "exact": not by_index,
            "index": str(said) if by_index else None,
            "similar": answers,
            "notes": notes_of(opened),
        }
        print_json(report)
        return
    if opened.from_tables and not output.quiet:
        print_notes(opened)
    for answer in answers:
        _print(answer)
    compared = f"compared with {graph.n_nodes if some is None else len(some):,} nodes, exact"
    say(f"found by the index {escape(str(said))}: a few may be missed" if by_index else compared)


def _ready(on: NodeModelOnGraph, path: Path, exact: bool | None) -> Path | None:
    """Read the index beside a model, or make it where it is asked for; its path, None where there is none."""
    from kernode.explain.similar import index_path, load_index, save_index
    from kernode.kernels.index import FROM_NODES, StaleIndexError, is_installed

    place = index_path(path)
    by_default = exact is None and on.graph.n_nodes >= FROM_NODES and is_installed()
    if exact or (exact is None and not by_default):
        return None
    if place.exists():
        try:
            load_index(on, place)
            return place
        except StaleIndexError as error:
            if exact is None:
                warn(f"{error} Every node was compared.")
                return None
    if exact is None:
        return None
    return save_index(on, place)


def _answer(graph: Graph, query: int, found: SimilarNodes) -> dict[str, Any]:
    """What is said of one node."""
    from kernode.graph import positions

    nodes = [query, *(int(node) for node in graph.find([node for node, _ in found]))] if found else [query]
    own, *others = zip(names_of(graph, positions(nodes)).tolist(), _classes(graph, nodes), strict=True)
    return {
        "node": own[0],
        "class": own[1],
        "similar": [
            {"node": name, "similarity": similarity, "class": known}
            for (name, known), (_, similarity) in zip(others, found, strict=True)
        ],
    }


def _classes(graph: Graph, nodes: list[int]) -> list[str | None]:
    """Known classes of nodes."""
    return [None if graph.labels[node] < 0 else graph.class_names[graph.labels[node]] for node in nodes]


def _print(answer: dict[str, Any]) -> None:
    known = "" if answer["class"] is None else f", {answer['class']}"
    table = new_table(
        ("rank", "node", "similarity", "class"),
        left=("node", "class"),
        title=escape(f"alike to {answer['node']}{known}"),
        title_justify="left",
    )
    for rank, one in enumerate(answer["similar"], 1):
        similarity, of_class = f"{one['similarity']:.4f}", "–" if one["class"] is None else one["class"]
        table.add_row(str(rank), escape(str(one["node"])), similarity, escape(of_class))
    print_table(table)
