"""``python -m experiments reproduce``: the paper's tables and figures next to ours, with verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from experiments import RESULTS
from experiments.reproduce.cells import expected_seconds, missing, run_cells
from experiments.reproduce.drawing import draw_all
from experiments.reproduce.methods import link_method, node_method
from experiments.reproduce.report import print_report, report
from experiments.reproduce.tables import TABLES, Cell, Table, read_tables
from experiments.runs import OnEpoch, Progress
from kernode.cli.console import print_json, progress, say, warned
from kernode.cli.files import check_folder
from kernode.cli.jobs import JobOptions
from kernode.errors import InputError
from kernode.search.results import Results

DATASETS = ("cora", "citeseer", "pubmed")


def reproduce(
    *,
    what: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(TABLES)}; default: all.", show_default=False)
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(help="Runs of each cell.", min=1, max=1000, show_default="10, as in the paper"),
    ] = None,
    results: Annotated[
        Path,
        typer.Option(help="Folder of stored results.", file_okay=False, show_default="the repository's"),
    ] = RESULTS,
    data: Annotated[
        list[str] | None, typer.Option(help="Only these data sets; may be repeated.", show_default=False)
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            help="Folder with settings files of your own: copies of experiments/reproduce/settings.",
            show_default=False,
        ),
    ] = None,
    pictures: Annotated[Path | None, typer.Option(help="Folder to draw the figures into.")] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Run nothing: show what is stored.")] = False,
    device: JobOptions,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Reproduce the paper: every table and figure next to the printed ones, every claim with a verdict.

    Runs the cells that are not stored yet, and stores each as soon as it is done: after an interruption the
    same command continues. A cell whose settings changed is run again, and no other.

    Example: [bold]python -m experiments reproduce table2 --data cora --results my-results[/]

    Four cells at a time: [bold]python -m experiments reproduce table2 --results my-results --jobs 4[/]
    """
    warned.shown = not (quiet or json)
    names, sets = _chosen(what or [], "table", TABLES), _chosen(data or [], "data set", DATASETS)
    if pictures is not None and "figures" not in names:
        raise InputError(
            "pictures need the figures among the tables: name figures, too.", "missing", setting="what"
        )
    store = Results(results)
    tables = [table.only(sets) for table in read_tables(names, settings, replicas)]
    cells = [cell for table in tables for cell in table.cells()]
    _check(cells)
    to_run = [] if stored else missing(cells, store)
    if to_run:
        check_folder(store.folder)
        _run(to_run, store, device, quiet or json)
    values = report(tables, store)
    if sets != DATASETS:
        values["claims"] = []  # they are about all data sets
    drawn = [] if pictures is None else _draw(tables, store, pictures)
    if json:
        print_json(values | {"pictures": drawn})
        return
    print_report(values)
    for path in drawn:
        say(f"  drawn: {escape(path)}")


def _chosen(given: list[str], kind: str, known: tuple[str, ...]) -> tuple[str, ...]:
    folded = [name.lower() for name in given]
    unknown = [name for name in given if name.lower() not in (*known, "all")]
    if unknown:
        raise InputError(
            f"{unknown[0]!r} is not a {kind}. Choose one of {', '.join(known)}, all.",
            "unknown",
            what=kind,
            name=unknown[0],
        )
    return tuple(name for name in known if not given or "all" in folded or name in folded)


def _check(cells: list[Cell]) -> None:
    """Raise on a wrong settings file before anything is run."""
    for cell in cells:
        if cell.table not in ("table1", "figures"):
            read = link_method if cell.settings["kind"] == "links" else node_method
            read(cell.values, cell.source)


def _run(cells: list[Cell], store: Results, device: JobOptions, quiet: bool) -> None:
    """Run cells under one progress bar that moves with their epochs, each cell as wide as its usual time."""
    options = device.options()
    seconds = expected_seconds(cells, options.device.type)
    done = 0.0
    with (
        device.computing(),
        device.workers(),
        progress("reproduce", quiet=quiet, counted=False) as begin,
    ):
        advance = begin(sum(seconds.values()))

        def on_start(cell: Cell) -> Progress:
            note = f"cell {cells.index(cell) + 1} of {len(cells)}: {cell.name}"
            advance(done, note)

            def on_training(epochs: int, name: str) -> OnEpoch:
                width = seconds[cell.digest] / max(1, epochs)
                return lambda epoch, values: advance(done + width * min(epoch, epochs), note)

            return on_training

        def on_end(cell: Cell) -> None:
            nonlocal done
            done += seconds[cell.digest]
            advance(done, f"{cell.name} is stored")

        try:
            run_cells(cells, store, options, on_start, on_end, device.threads_each)
        except KeyboardInterrupt:
            finished = sum(store.find(cell) is not None for cell in cells)
            sentence = f"{finished} of {len(cells)} cells are stored; the same command continues from there."
            typer.echo(f"interrupted. {sentence}", err=True)
            raise typer.Exit(130) from None


def _draw(tables: list[Table], store: Results, folder: Path) -> list[str]:
    check_folder(folder)
    figures = next(table for table in tables if table.name == "figures")
    return [str(path) for path in draw_all(figures, store, folder)]
