"""``kernode reproduce``: the paper's tables and figures beside ours, a verdict on every cell and claim."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from kernode.cli.console import JsonOption, QuietOption, check_writable, print_json, say
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.studies.reproduce.settings import Cell

# Known before torch is imported.
TABLES = (
    *(f"table{number}" for number in range(1, 6)),
    *("beyond", "tuned", "tuned-jk", "tuned-links", "similarity", "figures"),
)
DATASETS = ("cora", "citeseer", "pubmed")


def reproduce(
    what: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(TABLES)}; all is the default.", show_default=False)
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs per cell; 10 as in the paper.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results, and the only one looked into. Left out: ./results, then those shipped.",
            show_default=False,
        ),
    ] = None,
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
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Rerun the paper: every table and figure beside the printed ones, every claim with a verdict.

    Runs the cells that are not stored yet, and stores each as soon as it is done: interrupt it at any
    time, the same command goes on. A cell whose settings changed is run again, and no other.

    Example: [bold]kernode reproduce table2 --data cora --results my-results[/]
    """
    names, sets = _chosen(what or [], "table", TABLES), _chosen(data or [], "data set", DATASETS)
    if copy_settings is not None:
        _copy(copy_settings, json)
        return
    if runs is not None and not 1 <= runs <= 1000:
        raise InputError(f"--runs must be an integer from 1 to 1000. Got {runs}.")
    if results is not None and results.exists() and not results.is_dir():
        raise InputError(f"{results} is not a folder. Give another --results.")

    from kernode.studies.reproduce.report import report
    from kernode.studies.reproduce.run import missing
    from kernode.studies.reproduce.settings import read_tables
    from kernode.studies.results import Results

    store = Results.of(results)
    tables = [table.only(sets) for table in read_tables(names, settings, runs)]
    cells = [cell for table in tables for cell in table.cells()]
    _check(cells)
    to_run = [] if stored else missing(cells, store)
    if to_run:
        check_writable(store.folder / "result.json")
        _run(to_run, store, device, threads, quiet or json)
    values = report(tables, store)
    if sets != DATASETS:
        values["claims"] = []  # which are about all of them
    if pictures is None and "figures" in (what or []) and not stored:
        pictures = Path("figures")
    drawn = _draw(tables, store, pictures) if json and pictures else []
    print_json(values | {"pictures": drawn}) if json else _print(values)
    if pictures and not json:  # last, for it needs more than the figures themselves do
        for path in _draw(tables, store, pictures):
            say(f"  drawn: {escape(path)}")


def _chosen(given: list[str], kind: str, known: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in (*known, "all")]
    if unknown:
        raise InputError(f"{unknown[0]!r} is not a {kind}. Choose one of {', '.join(known)}, all.")
    return tuple(name for name in known if not given or "all" in given or name in given)


def _copy(folder: Path, json: bool) -> None:
    from kernode.studies.reproduce.settings import SHIPPED

    check_writable(folder / "table1.toml")
    there = [path.name for path in sorted(SHIPPED.glob("*.toml")) if (folder / path.name).exists()]
    if there:
        raise InputError(f"{folder / there[0]} is there already. Give another folder, or move it away.")
    folder.mkdir(parents=True, exist_ok=True)
    copied = [str(shutil.copy(path, folder)) for path in sorted(SHIPPED.glob("*.toml"))]
    if json:
        print_json({"copied": copied})
    else:
        say(f"{len(copied)} settings files are in {escape(str(folder))}. Change them, then:")
        say(f"  [bold]kernode reproduce --settings {escape(str(folder))}[/]")


def _check(cells: list[Cell]) -> None:
    """Say what is wrong with a settings file before anything is run."""
    from kernode.studies.reproduce.pieces import link_method, node_method

    for cell in cells:
        if cell.table not in ("table1", "figures"):
            read = link_method if cell.settings["kind"] == "links" else node_method
            read(cell.values, f"{cell.table}.toml, [{cell.row}]")


def _run(cells: list[Cell], store: Any, device: str, threads: int | None, quiet: bool) -> None:
    from kernode.compute.place import Place, set_threads
    from kernode.studies.reproduce.run import expected_seconds, run_cells

    set_threads(threads)
    place = Place.of(32, device)
    try:
        with _watching(cells, expected_seconds(cells, place.device.type), quiet) as watch:
            run_cells(cells, store, place, watch)
    except KeyboardInterrupt:
        done = len(cells) - len([cell for cell in cells if store.find(cell) is None])
        sys.stderr.write(f"{done} of {len(cells)} cells are stored; the same command goes on from there.\n")
        raise


class _Watch:
    """A bar over all cells that moves with their epochs, each cell as wide as the time it should take."""

    def __init__(
        self, cells: list[Cell], seconds: dict[str, float], tell: Callable[[float, str], None]
    ) -> None:
        self.count, self.seconds, self.tell, self.done = len(cells), seconds, tell, 0.0

    def begin(self, cell: Cell, number: int) -> Callable[[int], Callable[[int, dict[str, Any]], None]]:
        note = f"cell {number} of {self.count}: {cell.name}"
        self.tell(self.done, note)

        def of(epochs: int) -> Callable[[int, dict[str, Any]], None]:
            width = self.seconds[cell.digest] / max(1, epochs)
            return lambda epoch, values: self.tell(self.done + width * min(epoch, epochs), note)

        return of

    def finish(self, cell: Cell) -> None:
        self.done += self.seconds[cell.digest]
        self.tell(self.done, "")


@contextmanager
def _watching(cells: list[Cell], seconds: dict[str, float], quiet: bool) -> Iterator[_Watch]:
    """Progress on stderr: a bar with the time left on a terminal, now and then a line elsewhere."""
    console, total = Console(stderr=True), sum(seconds.values())
    if quiet:
        yield _Watch(cells, seconds, lambda done, note: None)
    elif console.is_terminal:
        columns = (
            TextColumn("reproduce"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield _Watch(
                cells, seconds,
                lambda done, note: bar.update(task, completed=done, description=escape(note)),
            )  # fmt: skip
    else:
        yield _Watch(cells, seconds, _lines(total))


def _lines(total: float, every: float = 10.0) -> Callable[[float, str], None]:
    started = last = time.monotonic()

    def tell(done: float, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if not note or now - last < every:
            return
        last = now
        left = f", about {_duration((now - started) * (total - done) / done)} left" if done > 0 else ""
        sys.stderr.write(f"reproduce: {note}{left}\n")

    return tell


def _duration(seconds: float) -> str:
    """A time as people say it.

    >>> _duration(42.4), _duration(250)
    ('42 s', '4 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _draw(tables: list[Any], store: Any, folder: Path) -> list[str]:
    from kernode.studies.reproduce.pictures import draw_all

    check_writable(folder / "picture.png")
    figures = next((table for table in tables if table.name == "figures"), None)
    if figures is None:
        raise InputError("--pictures needs the figures among the tables: name figures too.")
    return [str(path) for path in draw_all(figures, store, folder)]


LEGEND = """[dim]ours: mean ± standard deviation of the runs. error: standard error of the difference, the
test nodes' sampling error included; within 1.96 of it a figure is reproduced. ≠: both are of the very same
test nodes, and the runs' spread alone does not explain the difference. (each), (last): the two readings
of the hop operator, Eq. 7's and the released code's.[/]"""
_COLOURS = {"reproduced": "green", "the same": "green", "holds": "green", "below": "red", "above": "cyan",
            "does not hold": "red", "holds in part": "yellow"}  # fmt: skip


def _print(values: dict[str, Any]) -> None:
    for table in values["tables"]:
        if table["entries"]:
            {"figures": _print_figures}.get(table["kind"], _print_table)(table)
    if any("difference" in entry for table in values["tables"] for entry in table["entries"]):
        say(LEGEND)
    if values["claims"]:
        _print_claims(values["claims"])


def _print_table(values: dict[str, Any]) -> None:
    scored = values["kind"] != "counts"
    table = Table(title=values["title"])
    columns = ["", "data", "ours", "paper", *(["difference", "error"] if scored else []), "verdict"]
    for column in columns:
        right = column in ("ours", "paper", "difference", "error")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    last = None
    for entry in values["entries"]:
        name = _row_name(entry)
        cells = [name if name != last else "", _data_name(entry), _ours(entry), entry["paper"] or "–"]
        if scored:
            known = "difference" in entry
            cells += [f"{entry['difference']:+.2f}" if known else "", _error(entry) if known else ""]
        table.add_row(*cells, _verdict(entry))
        last = name
    Console(width=120 if not Console().is_terminal else None).print(table)
    if scored:
        counts = Counter(entry["verdict"] for entry in values["entries"] if entry["verdict"])
        say("  " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


def _row_name(entry: dict[str, Any]) -> str:
    return escape(entry["title"]) + (f" [dim]({entry['reading']})[/]" if entry["reading"] else "")


def _data_name(entry: dict[str, Any]) -> str:
    named = {"auc": " AUC", "ap": " AP", "map": " mAP", "precision_at_10": " at 10"}
    metric = named.get(entry.get("metric", ""), "")
    return f"{entry['dataset']}{metric}"


def _ours(entry: dict[str, Any]) -> str:
    ours = entry["ours"]
    if ours is None:
        return "not run"
    return ours if isinstance(ours, str) else f"{ours['mean']:.2f} ± {ours['std']:.2f}"


def _error(entry: dict[str, Any]) -> str:
    return f"{entry['standard_error']:.2f}"


def _verdict(entry: dict[str, Any]) -> str:
    verdict = entry["verdict"] or ""
    mark = " ≠" if entry.get("explained_by_runs") is False else ""
    return f"[{_COLOURS.get(verdict, 'dim')}]{verdict}[/]{mark}"


def _print_figures(values: dict[str, Any]) -> None:
    table = Table(title=values["title"])
    for column in ("", "data", "figures"):
        table.add_column(column)
    for entry in values["entries"]:
        table.add_row(escape(entry["title"]), entry["dataset"], _figure(entry["figure"]))
    Console(width=120 if not Console().is_terminal else None).print(table)


def _figure(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "not run"
    if "silhouette" in figure:
        one = figure["silhouette"]
        return f"silhouette {one['mean']:.3f} ± {one['std']:.3f}, drawn {figure['silhouette_in_plane']:.3f}"
    if "last_mean" in figure:
        return "ω " + "  ".join(
            f"{mean:.2f} ± {std:.2f}"
            for mean, std in zip(figure["last_mean"], figure["last_std"], strict=True)
        )
    return ", ".join(
        f"{when}: {figure[when]['within']:.2f} within classes, {figure[when]['between']:.2f} between"
        for when in ("before", "after")
    )


def _print_claims(claims: list[dict[str, Any]]) -> None:
    say("\n[bold]The paper's claims[/] (its own figures · ours, by reading of the hop operator)")
    for claim in claims:
        ours = ", ".join(
            f"[{_COLOURS.get(verdict, 'dim')}]{verdict}[/]{f' ({reading})' if reading else ''}"
            for reading, verdict in claim["ours"].items()
        )
        say(f"  [bold]{escape(claim['claim'])}[/]")
        say(f"    {escape(claim['paper'])} · {ours}. [dim]{escape(claim['sentence'])}[/]")
