"""``kernode compare``: methods on the same random splits, tested in pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernode.cli.console import (
    DATA_HELP,
    Advance,
    JsonOption,
    QuietOption,
    check_writable,
    print_json,
    progress,
    say,
    telling,
)
from kernode.errors import InputError

METHODS = "default,k3,n1,gcn,gat,sgc,appnp"
# Known before torch is imported; a test compares them with what there is.
KNOWN = (
    "default, k3, n1, k3-c1 (ω = 1), k3-plain (no masks), k3-last, k3-heavy (L_K × 10), gcn, appnp, gat, sgc"
)


def compare(
    data: Annotated[list[str], typer.Argument(help=f"One or more: {DATA_HELP}")],
    methods: Annotated[
        str, typer.Option(help=f"With commas, some of {KNOWN}; or any variant of fit.")
    ] = METHODS,
    against: Annotated[
        str | None, typer.Option(help="The method all others are compared with; the first by default.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits, the same for every method.")] = 30,
    split: Annotated[str, typer.Option(help="Their sizes: training/validation/test.")] = "0.6/0.2/0.2",
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder where every match is stored as soon as it is done, and the only one looked into. "
            "Left out: ./results, then those shipped.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Find out which method is really better on your graphs, and by how much.

    Every method is trained on the same random splits, with the same number of candidate settings; on each
    split validation picks one, and test nodes are scored once. Differences are tested in pairs (Nadeau and
    Bengio's correction for overlapping splits, Holm's for the number of tests). Interrupt it at any time:
    the same command goes on.

    Example: [bold]kernode compare cora my-graph.npz --methods k3,gcn,gat --splits 30[/]
    """
    names = list(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))
    if len(names) < 2:
        raise InputError(f"--methods must name two or more, such as {METHODS}. Got {methods!r}.")
    against = against or names[0]
    if against not in names:
        raise InputError(f"--against must be one of the methods {', '.join(names)}. Got {against!r}.")
    if not 2 <= splits <= 1000:
        raise InputError(f"--splits must be an integer from 2 to 1000. Got {splits}.")
    if results is not None and results.exists() and not results.is_dir():
        raise InputError(f"{results} is not a folder. Give another --results.")
    _check_split(split)

    from kernode.compute.place import Place, set_threads
    from kernode.data import load_graph
    from kernode.studies.compare.contestants import contestant
    from kernode.studies.compare.matches import matches, play
    from kernode.studies.compare.report import report
    from kernode.studies.results import Results

    chosen = {name: contestant(name) for name in names}
    set_threads(threads)
    place, store = Place.of(32, device), Results.of(results)
    graphs = [load_graph(name) for name in data]
    if len({graph.name for graph in graphs}) < len(graphs):
        raise InputError("two graphs have the same name. Rename one of the files, or name it once.")
    todo = list(matches(graphs, list(chosen.values()), splits, split))
    if any(store.find(match) is None for match in todo):
        check_writable(store.folder / "result.json")
    figures: dict[str, dict[str, Any]] = {}
    for number, match in enumerate(todo, 1):
        title = f"{number} of {len(todo)}: {match.graph.name} {match.method.name}"
        with progress(title, quiet=quiet or json) as begin:
            figures.setdefault(match.graph.name, {})[match.method.name] = play(
                match, store, place, _telling(begin)
            )
    values = report(figures, chosen, against)
    print_json(values) if json else _print(values)


def _check_split(split: str) -> None:
    """Only random splits can be compared in pairs, and every part of them has a use."""
    from kernode.data.node_split import parse_sizes

    sizes = (0.6, 0.2, 0.2) if split == "jk" else parse_sizes(split)
    if not all(size > 0 for size in sizes):
        raise InputError(f"--split must have training, validation and test nodes. Got {split!r}.")


def _telling(begin: Callable[[int], Advance]) -> Callable[[int], Callable[[int, dict[str, Any]], None]]:
    return lambda steps: telling(begin(steps), "validation_accuracy", "validation")


def _print(values: dict[str, Any]) -> None:
    console = Console(width=120 if not Console().is_terminal else None)
    for data in values["data"]:
        table = Table(
            title=f"{data['dataset']}: {data['splits']} random splits, mean ± standard deviation, %"
        )
        for column in ("method", "accuracy", "mAP", "precision at 10", "validation", "seconds"):
            table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
        for row in data["methods"]:
            cells = [_figure(row[name]) for name in ("accuracy", "map", "precision_at_10", "validation")]
            table.add_row(escape(row["title"]), *cells, f"{row['seconds']:.0f}")
        console.print(table)
    _print_differences(console, f"{values['against']} against the others", values["differences"], "against")
    for question in values["questions"]:
        title = f"{question['question']} ({question['with']} against {question['without']})"
        _print_differences(console, title, question["answers"], None)
    say("[dim]95 % intervals by Nadeau and Bengio's corrected t-test; p after Holm's correction.[/]")


def _print_differences(
    console: Console, title: str, entries: list[dict[str, Any]], other: str | None
) -> None:
    table = Table(title=title)
    columns = ["data", *([other] if other else []), "figure", "difference", "95 % interval", "p", "verdict"]
    for column in columns:
        right = column in ("difference", "95 % interval", "p")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for one in entries:
        colour = {"better": "green", "worse": "red"}.get(one["verdict"], "dim")
        table.add_row(
            escape(_short(one["dataset"])), *([one[other]] if other else []), one["metric"],
            f"{one['mean']:+.2f}", f"{one['low']:+.2f} … {one['high']:+.2f}", f"{one['p_corrected']:.3f}",
            f"[{colour}]{one['verdict']}[/]",
        )  # fmt: skip
    console.print(table)


def _short(name: str) -> str:
    return name.partition(":")[0]  # of a synthetic graph's long name


def _figure(figure: dict[str, Any] | None) -> str:
    return f"{figure['mean']:.2f} ± {figure['std']:.2f}" if figure else "–"
