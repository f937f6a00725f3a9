"""``kernode reproduce``: the paper's tables and figures beside ours, a verdict on every cell and claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import Advance, check_folder, print_json, progress, say
from kernode.cli.jobs import JobOptions
from kernode.cli.options import OutputOptions, ResultsOption
from kernode.cli.reports.reproduce import print_report
from kernode.ctrl_c import kept
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.studies.reproduce.settings import Cell
    from kernode.training.run import Progress, Telling

# Known before torch is imported.
TABLES = (
    *(f"table{number}" for number in range(1, 6)),
    *("beyond", "tuned", "tuned-jk", "tuned-links", "similarity", "figures"),
)
DATASETS = ("cora", "citeseer", "pubmed")


def reproduce(
    *,
    what: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(TABLES)}; all is the default.", show_default=False)
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(help="Runs of each cell.", show_default="10, as in the paper")
    ] = None,
    results: ResultsOption = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Only these data sets; may be repeated.", show_default=False)
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="Folder with settings files of your own.", show_default=False)
    ] = None,
    copy_settings: Annotated[
        Path | None, typer.Option(help="Copy the settings files there, to change them; runs nothing.")
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder to draw the figures into; ./figures where figures are named."),
    ] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Run nothing: show what is stored.")] = False,
    device: JobOptions,
    output: OutputOptions,
) -> None:
    """Rerun the paper: every table and figure beside the printed ones, every claim with a verdict.

    Runs the cells that are not stored yet, and stores each as soon as it is done: interrupt it at any
    time, the same command goes on. A cell whose settings changed is run again, and no other.

    Example: [bold]kernode reproduce table2 --data cora --results my-results[/]

    Four cells at a time: [bold]kernode reproduce table2 --results my-results --jobs 4[/]
    """
    names, sets = _chosen(what or [], "table", TABLES), _chosen(data or [], "data set", DATASETS)
    if copy_settings is not None:
        _copy(copy_settings, output.json)
        return
    if replicas is not None and not 1 <= replicas <= 1000:
        raise InputError(f"--replicas must be an integer from 1 to 1000. Got {replicas}.")
    if results is not None and results.exists() and not results.is_dir():
        raise InputError(f"{results} is not a folder. Give another --results.")

    from kernode.studies.reproduce.report import report
    from kernode.studies.reproduce.run import missing
    from kernode.studies.reproduce.settings import read_tables
    from kernode.search.results import Results

    store = Results.of(results)
    tables = [table.only(sets) for table in read_tables(names, settings, replicas)]
    cells = [cell for table in tables for cell in table.cells()]
    _check(cells)
    to_run = [] if stored else missing(cells, store)
    if to_run:
        check_folder(store.folder)
        _run(to_run, store, device, output.silent)
    values = report(tables, store)
    if sets != DATASETS:
        values["claims"] = []  # which are about all of them
    if pictures is None and "figures" in map(str.lower, what or []) and not stored:
        pictures = Path("figures")
    drawn = _draw(tables, store, pictures) if output.json and pictures else []
    print_json(values | {"pictures": drawn}) if output.json else print_report(values)
    if pictures and not output.json:  # last, for it needs more than the figures themselves do
        for path in _draw(tables, store, pictures):
            say(f"  drawn: {escape(path)}")


def _chosen(given: list[str], kind: str, known: tuple[str, ...]) -> tuple[str, ...]:
    folded = [name.lower() for name in given]
    unknown = [name for name in given if name.lower() not in (*known, "all")]
    if unknown:
        raise InputError(f"{unknown[0]!r} is not a {kind}. Choose one of {', '.join(known)}, all.")
    return tuple(name for name in known if not given or "all" in folded or name in folded)


def _copy(folder: Path, json: bool) -> None:
    from kernode.storage import write_whole
    from kernode.studies.reproduce.settings import SHIPPED

    check_folder(folder)
    there = [path.name for path in sorted(SHIPPED.glob("*.toml")) if (folder / path.name).exists()]
    if there:
        raise InputError(f"{folder / there[0]} is there already. Give another folder, or move it away.")
    copied = []
    for path in sorted(SHIPPED.glob("*.toml")):
        write_whole(folder / path.name, path.read_bytes())
        copied.append(str(folder / path.name))
    if json:
        print_json({"copied": copied})
    else:
        say(f"{len(copied)} settings files are in {escape(str(folder))}. Change them, then:")
        say(f"  [bold]kernode reproduce --settings {escape(str(folder))}[/]")


def _check(cells: list[Cell]) -> None:
    """Say what is wrong with a settings file before anything is run."""
    from kernode.studies.reproduce.methods import link_method, node_method

    for cell in cells:
        if cell.table not in ("table1", "figures"):
            read = link_method if cell.settings["kind"] == "links" else node_method
            read(cell.values, f"{cell.table}.toml, [{cell.row}]")


def _run(cells: list[Cell], store: Any, device: JobOptions, quiet: bool) -> None:
    from kernode.studies.reproduce.run import expected_seconds, run_cells

    place = device.place()
    seconds = expected_seconds(cells, place.device.type)

    def in_store() -> str:
        done = sum(store.find(cell) is not None for cell in cells)
        return f"{done} of {len(cells)} cells are stored; the same command goes on from there."

    with (
        kept(in_store),
        device.computing(),
        device.workers(),
        progress("reproduce", quiet=quiet, counted=False) as begin,
    ):
        watch = _Watch(cells, seconds, begin(sum(seconds.values())))
        run_cells(cells, store, place, watch, device.threads_each)


class _Watch:
    """A bar over all cells that moves with their epochs, each cell as wide as the time it should take."""

    def __init__(self, cells: list[Cell], seconds: dict[str, float], advance: Advance) -> None:
        self.count, self.seconds, self.advance, self.done = len(cells), seconds, advance, 0.0

    def begin(self, cell: Cell, number: int) -> Telling:
        note = f"cell {number} of {self.count}: {cell.name}"
        self.advance(self.done, note)

        def of(epochs: int, name: str) -> Progress:
            width = self.seconds[cell.digest] / max(1, epochs)
            return lambda epoch, values: self.advance(self.done + width * min(epoch, epochs), note)

        return of

    def finish(self, cell: Cell) -> None:
        self.done += self.seconds[cell.digest]
        self.advance(self.done, f"{cell.name} is stored")


def _draw(tables: list[Any], store: Any, folder: Path) -> list[str]:
    from kernode.studies.reproduce.pictures import draw_all

    check_folder(folder)
    figures = next((table for table in tables if table.name == "figures"), None)
    if figures is None:
        raise InputError("--pictures needs the figures among the tables: name figures too.")
    return [str(path) for path in draw_all(figures, store, folder)]
