"""``kernode bench``: our training beside PyTorch Geometric's, measured here."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernode.cli.console import JsonOption, QuietOption, check_writable, print_json, progress, say
from kernode.errors import InputError

SUITES = ("step", "scale", "replicas", "memory", "complexity")  # known before torch is imported


def bench(
    suites: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(SUITES)}; several may be named.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    data: Annotated[
        list[str] | None, typer.Option(help="Data sets or .npz files; as the suite has it where left out.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Turns of each system; medians are taken.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    largest: Annotated[float, typer.Option(help="scale: adjacency entries of the largest graph.")] = 2e7,
    hidden: Annotated[int, typer.Option(help="scale: our hidden width.")] = 128,
    save: Annotated[
        Path | None, typer.Option(help="Folder for bench-SUITE-DEVICE.json.", show_default=False)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Folder with such files: fail if a ratio fell by over 30 %.", show_default=False),
    ] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Measure training steps and memory beside PyTorch Geometric's, on the same data and settings.

    step: one training step of every system. scale: time and memory against the size of a graph.
    replicas: what more runs in one stack cost. memory: the peak of training. complexity: the paper's
    claims about cost, each with a verdict.

    Example: [bold]kernode bench step replicas --data cora --save results[/]
    """
    names, sets = _sorted_out(suites or [], data or [])
    if save is not None:
        check_writable(save / "bench.json")

    from kernode.compute.place import Place
    from kernode.studies.bench import record
    from kernode.studies.bench.rows import Options
    from kernode.studies.bench.suites import run_suite

    place = Place.of(32, device)
    before = {name: record.stored(check, name, place.device.type) for name in names} if check else {}
    options = Options(place.device.type, sets, rounds, threads, largest, hidden)
    records = []
    for name in names:
        with progress(f"bench {name}", quiet=quiet or json) as begin:
            outcome = run_suite(name, options, begin)
        values = record.record(outcome, _command(name, options))
        records.append(values | {"saved": str(record.save(save, values))} if save else values)
        if not json:
            _print(values)
    falls = [fall for values in records if check for fall in record.falls(before[values["suite"]], values)]
    if json:
        print_json(_together(records) | ({"falls": falls} if check else {}))
    elif check:
        _print_falls(falls)
    if falls:
        raise typer.Exit(1)


def _sorted_out(words: list[str], data: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Suites and data sets. After --data, words that are no suite go on with its list."""
    others = [word for word in words if word not in SUITES]
    if others and not data:
        raise InputError(f"{others[0]!r} is not a suite. Choose one of {', '.join(SUITES)}.")
    names = tuple(dict.fromkeys(word for word in words if word in SUITES)) or SUITES[:1]
    return names, tuple(dict.fromkeys([*data, *others]))


def _command(suite: str, options: Any) -> str:
    """How to measure this again; where it was saved is nobody's business."""
    words = ["kernode", "bench", suite, "--device", options.device]
    for name in options.data:
        words += ["--data", name]
    for name in ("rounds", "threads"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    if suite == "scale":
        words += ["--largest", f"{options.largest:g}", "--hidden", str(options.hidden)]
    return shlex.join(words)


def _together(records: list[dict[str, Any]]) -> dict[str, Any]:
    """One object for all suites."""
    first = records[0]
    return {
        "suites": [values["suite"] for values in records],
        "device": first["device"],
        "machine": first["machine"],
        "rounds": {values["suite"]: values["rounds"] for values in records},
        "commands": [values["command"] for values in records],
        "rows": [row for values in records for row in values["rows"]],
        "exponents": [one for values in records for one in values["exponents"]],
        "claims": [one for values in records for one in values["claims"]],
        "saved": [values["saved"] for values in records if "saved" in values],
    }


# Columns beside system and data set: title, unit, digits.
_COLUMNS = {
    "ms_per_step": ("ms a step", 1, 2),
    "ratio_to_pyg_gcn": ("times pyg-gcn's speed", 1, 2),
    "ms_per_replica": ("ms a replica", 1, 2),
    "gcn_steps": ("steps of pyg-gcn", 1, 2),
    "peak_mb": ("peak MB", 1, 1),
    "steps_mb": ("of it while stepping", 1, 1),
    "formula_time": ("formula: time / 10⁶", 1e6, 1),
    "formula_memory": ("formula: memory / 10⁶", 1e6, 2),
}
_WHICH = ("hidden", "layers", "hops")


def _print(values: dict[str, Any]) -> None:
    machine = values["machine"]
    where = machine["gpu"] or f"{machine['processor']}, threads: {machine['threads']}"
    table = Table(title=f"{values['suite']} · {where}", caption=escape(values["command"]))
    rows = values["rows"]
    shown = [name for name in _COLUMNS if any(row.get(name) is not None for row in rows)]
    which = [name for name in _WHICH if any(row.get(name) is not None for row in rows)]
    sized = any("entries" in row for row in rows)
    table.add_column("entries" if sized else "data", justify="right" if sized else "left")
    table.add_column("system", no_wrap=True)
    for name in (*which, *shown):
        table.add_column(_COLUMNS[name][0] if name in _COLUMNS else name, justify="right")
    last = None
    for row in rows:
        place = f"{row['entries']:,}" if sized else escape(_short(row["dataset"]))
        cells = [str(row[name]) if row.get(name) is not None else "" for name in which]
        cells += [_number(row.get(name), *_COLUMNS[name][1:]) for name in shown]
        table.add_row(place if place != last else "", row["system"], *cells)
        last = place
    Console(width=120 if not Console().is_terminal else None).print(table)
    for row in rows:
        if row.get("note"):
            say(f"  {row['system']} {_size(row)}: {escape(row['note'])}")
    for one in values["exponents"]:
        say(
            f"  {one['system']} (hidden {one['hidden']}): {one['cost']} grows with entries to the power "
            f"{_number(one['all_sizes'], 1, 2)}, in the upper decade {_number(one['upper_decade'], 1, 2)}"
        )
    for claim in values["claims"]:
        say(f"  [bold]{claim['verdict']}[/]: {escape(claim['claim'])}. {escape(claim['sentence'])}")
    if "saved" in values:
        say(f"  saved in {escape(values['saved'])}")


def _short(name: str) -> str:
    return name.partition(":")[0]  # of a synthetic graph's long name


def _size(row: dict[str, Any]) -> str:
    where = f"{row['entries']:,} entries" if "entries" in row else escape(_short(row["dataset"]))
    return f"(hidden {row['hidden']}) on {where}" if "hidden" in row else f"on {where}"


def _number(value: float | None, unit: float, digits: int) -> str:
    return "–" if value is None else f"{value / unit:,.{digits}f}"


def _print_falls(falls: list[dict[str, Any]]) -> None:
    if not falls:
        say("No system's ratio to pyg-gcn fell by more than 30 %.")
        return
    table = Table(title="ratio to pyg-gcn fell by more than 30 %")
    for column in ("suite", "data", "system", "before", "now", "change"):
        table.add_column(column, no_wrap=True)
    for fall in falls:
        table.add_row(
            fall["suite"], fall["dataset"], fall["system"],
            f"{fall['before']:.2f}", f"{fall['now']:.2f}", f"{fall['change_percent']:.0f} %",
        )  # fmt: skip
    Console(width=120 if not Console().is_terminal else None).print(table)
