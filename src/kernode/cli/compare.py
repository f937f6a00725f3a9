"""``kernode compare``: variants on the same random splits, tested in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import print_json, progress
from kernode.cli.files import check_folder
from kernode.cli.jobs import JobOptions
from kernode.cli.options.graph import DATA_HELP, TableOptions, require_labels
from kernode.cli.options.run import OutputOptions, ResultsOption, TensorBoardOption, check_board
from kernode.cli.reports.compare import print_report
from kernode.errors import InputError, kept
from kernode.progress import timed

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.studies.compare.matches import Match
    from kernode.studies.results import Results

VARIANTS = "default,k3,n1,gcn,gat,sgc,appnp"
# Known before torch is imported; a test compares them with what there is.
KNOWN = (
    "default, k3, n1, k3-c1 (ω = 1), k3-plain (no masks), k3-last, k3-released, k3-heavy (L_K × 10), "
    "gcn, appnp, gat, sgc, sage, gprgnn, gcnii, mlp, label-propagation, correct-and-smooth"
)


def compare(
    *,
    data: Annotated[list[str], typer.Argument(help=f"One or more: {DATA_HELP}")],
    tables: TableOptions,
    variants: Annotated[
        str, typer.Option(help=f"With commas, some of {KNOWN}; or any variant of fit.")
    ] = VARIANTS,
    against: Annotated[
        str | None,
        typer.Option(help="The variant all others are compared with.", show_default="the first"),
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits, the same for every variant.")] = 30,
    split: Annotated[
        str,
        typer.Option(
            help="Their sizes: training/validation/test; or 20-per-class: 20 nodes of each class train, 30 "
            "validate, the rest is tested."
        ),
    ] = "0.6/0.2/0.2",
    choose_on: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="How many splits choose a variant's candidate, by mean validation accuracy, for all splits. "
            "all: each split chooses for itself.",
        ),
    ] = "5",
    results: ResultsOption = None,
    tensorboard: TensorBoardOption = None,
    device: JobOptions,
    output: OutputOptions,
) -> None:
    """Find out which variant is really better on your graphs, and by how much.

    Every variant is trained on the same random splits. Of its candidate settings validation picks one on the
    first five splits, and that one is trained on all; the default picks on each split anew, as it does for
    you. Test nodes are scored once. A candidate that diverges or does not fit into memory is lost, and the
    others go on. Differences are tested in pairs (Nadeau and Bengio's correction for overlapping splits,
    Holm's for the number of tests). Interrupt it at any time: the same command goes on.

    Options about tables are about each table among the DATA.

    Example: [bold]kernode compare cora my-graph.npz --variants k3,gcn,gat --splits 30[/]

    Four variants at a time: [bold]kernode compare cora --jobs 4[/]

    Your own tables: [bold]kernode compare edges.csv --nodes nodes.csv --label topic[/]
    """
    names = list(dict.fromkeys(name.strip().lower() for name in variants.split(",") if name.strip()))
    if len(names) < 2:
        raise InputError(f"--variants must name two or more, such as {VARIANTS}. Got {variants!r}.")
    against = (against or names[0]).lower()
    if against not in names:
        raise InputError(f"--against must be one of the variants {', '.join(names)}. Got {against!r}.")
    if not 2 <= splits <= 1000:
        raise InputError(f"--splits must be an integer from 2 to 1000. Got {splits}.")
    if results is not None and results.exists() and not results.is_dir():
        raise InputError(f"{results} is not a folder. Give another --results.")
    _check_split(split)
    choosing = _choosing(choose_on)
    board = check_board(tensorboard, elsewhere=device.elsewhere)

    if True:
        with timed("imports"):
            from kernode.studies.compare.contestants import contestant
            from kernode.studies.compare.matches import matches
            from kernode.studies.compare.report import report
            from kernode.studies.results import Results

        chosen = {name: contestant(name) for name in names}
        place, store = device.place(), Results.of(results)
        todo = list(matches(_read(tables, data), list(chosen.values()), splits, split, choosing))
        if any(store.find(match) is None for match in todo):
            check_folder(store.folder)
        with device.computing():
            played = _played(todo, store, place, device, output.silent, board)
    figures: dict[str, dict[str, Any]] = {}
    for match, found in zip(todo, played, strict=True):
        figures.setdefault(match.graph.name, {})[match.method.name] = found
    values = report(figures, chosen, against)
    print_json(values) if output.json else print_report(values)


def _read(tables: TableOptions, data: list[str]) -> list[Graph]:
    """The graphs, if they can be compared on."""
    with timed("reading the graph"):
        graphs = tables.graphs(data)
    for graph in graphs:
        require_labels(graph, tables.label)
    if len({graph.name for graph in graphs}) < len(graphs):
        raise InputError("two graphs have the same name. Rename one of the files, or name it once.")
    return graphs


def _played(
    todo: list[Match], store: Results, place: Place, device: JobOptions, quiet: bool, board: Any
) -> list[dict[str, Any]]:
    """All figures, with a bar for each match that is played here, or one for all where others play."""
    from kernode.cli.progress_bar import ProgressBar
    from kernode.studies.compare.matches import play_all

    @contextmanager
    def here(title: str) -> Iterator[dict[str, Any]]:
        with progress(title, quiet=quiet) as begin:
            yield {"callbacks": (ProgressBar(begin), *(() if board is None else (board,)))}

    def in_store() -> str:
        done = sum(store.find(match) is not None for match in todo)
        return f"{done} of {len(todo)} comparisons are stored; the same command goes on from there."

    missing, threads = sum(store.find(match) is None for match in todo), device.threads_each
    with kept(in_store):
        if not missing or not device.elsewhere:
            return play_all(todo, store, place, threads=threads, here=here)
        with device.workers(), progress("compare", quiet=quiet) as begin, timed("waiting for workers"):
            return play_all(todo, store, place, threads=threads, watch=begin(missing))


def _check_split(split: str) -> None:
    """Only random splits can be compared in pairs, and every part of them has a use."""
    from kernode.io.node_split import is_per_class, parse_per_class, parse_sizes

    sizes: tuple[float, ...]
    if is_per_class(split):
        sizes = parse_per_class(split)  # the rest is tested
    else:
        sizes = (0.6, 0.2, 0.2) if split == "jk" else parse_sizes(split)
    if not all(size > 0 for size in sizes):
        raise InputError(f"--split must have training, validation and test nodes. Got {split!r}.")


def _choosing(given: str) -> int:
    """How many splits choose; 0 where each does for itself."""
    if given.strip().lower() == "all":
        return 0
    try:
        found = int(given)
    except ValueError:
        found = 0
    if found < 1:
        raise InputError(f"--choose-on must be a number of splits, 1 or more, or all. Got {given!r}.")
    return found
