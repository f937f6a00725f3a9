"""``python -m experiments bench``: our training measured against PyTorch Geometric's, on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from experiments.bench import record
from experiments.bench.suites import SUITES, Options, run_suite
from kernode.cli.console import new_table, print_json, print_table, progress, say, warned
from kernode.cli.files import check_folder
from kernode.cli.options.settings import DeviceSettings
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError


def bench(
    *,
    suites: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(SUITES)}; several may be named.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data sets or .npz files; may be repeated. Default: those of the suite."),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Turns of each system; medians are taken.", min=1)
    ] = None,
    largest: Annotated[float, typer.Option(help="scale: adjacency entries of the largest graph.")] = 2e7,
    results: Annotated[
        Path | None, typer.Option(help="Folder for bench-SUITE-DEVICE.json.", show_default=False)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Folder with such files: fail if a ratio fell by over 30 %.", show_default=False),
    ] = None,
    device: DeviceSettings,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Measure training steps and memory against PyTorch Geometric's, on the same data and settings.

    step: one training step of every system. scale: time and memory against the size of a graph.
    replicas: the cost of more runs in one stack. memory: the peak of training. complexity: the paper's
    claims about cost, each with a verdict. stages: an epoch of the default's deep members beside SAGE's.

    Example: [bold]python -m experiments bench step replicas --data cora --results results[/]
    """
    warned.shown = not (quiet or json)
    names = tuple(dict.fromkeys(name.lower() for name in suites or ["step"]))
    if unknown := [name for name in names if name not in SUITES]:
        raise InputError(
            f"{unknown[0]!r} is not a suite. Choose one of {', '.join(SUITES)}.",
            "unknown",
            what="suite",
            name=unknown[0],
        )
    if results is not None:
        check_folder(results)
    kind = TensorOptions.of(32, device.device).device.type  # each suite sets the threads by itself
    before = {name: record.stored(check, name, kind) for name in names} if check else {}
    options = Options(kind, tuple(dict.fromkeys(data or [])), rounds, device.threads, largest)
    records = []
    for name in names:
        with progress(f"bench {name}", quiet=quiet or json) as begin:
            outcome = run_suite(name, options, begin)
        values = record.record(outcome, _command(name, options))
        if results is not None:
            values |= {"results": str(record.save(results, values))}
        records.append(values)
        if not json:
            print_suite(values)
    falls = [fall for values in records if check for fall in record.falls(before[values["suite"]], values)]
    if json:
        print_json(_together(records) | ({"falls": falls} if check else {}))
    elif check:
        print_falls(falls)
    if falls:
        raise typer.Exit(1)


def _command(suite: str, options: Any) -> str:
    """Return the command that measures this again."""
    words = ["python", "-m", "experiments", "bench", suite, "--device", options.device]
    for name in options.data:
        words += ["--data", name]
    for name in ("rounds", "threads"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    if suite == "scale":
        words += ["--largest", f"{options.largest:g}"]
    return shlex.join(words)


def _together(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one object for all suites."""
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
        "results": [values["results"] for values in records if "results" in values],
    }


# Columns after system and data set: title, unit, digits.
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


def print_suite(values: dict[str, Any]) -> None:
    """Print what was measured, and what follows from it."""
    _print_rows(values)
    for row in values["rows"]:
        if row.get("note"):
            say(f"  {escape(row['system'])} {_size(row)}: {escape(row['note'])}")
    for one in values["exponents"]:
        powers = _number(one["all_sizes"], 1, 2), _number(one["upper_decade"], 1, 2)
        grows = f"{one['cost']} grows with entries to the power {powers[0]}"
        say(f"  {one['system']} (hidden {one['hidden']}): {grows}, in the upper decade {powers[1]}")
    for claim in values["claims"]:
        say(f"  [bold]{claim['verdict']}[/]: {escape(claim['claim'])}. {escape(claim['sentence'])}")
    if "results" in values:
        say(f"  saved in {escape(values['results'])}")


def _print_rows(values: dict[str, Any]) -> None:
    machine, rows = values["machine"], values["rows"]
    where = machine["gpu"] or f"{machine['processor']}, threads: {machine['threads']}"
    shown = [name for name in _COLUMNS if any(row.get(name) is not None for row in rows)]
    which = [name for name in _WHICH if any(row.get(name) is not None for row in rows)]
    sized = any("entries" in row for row in rows)
    table = new_table(
        ("entries" if sized else "data", "system", *which, *(_COLUMNS[name][0] for name in shown)),
        left=("data", "system"),
        title=escape(f"{values['suite']} · {where}"),
        caption=escape(values["command"]),
    )
    last = None
    for row in rows:
        tensor_options = f"{row['entries']:,}" if sized else escape(_short(row["dataset"]))
        cells = [str(row[name]) if row.get(name) is not None else "" for name in which]
        cells += [_number(row.get(name), *_COLUMNS[name][1:]) for name in shown]
        table.add_row(tensor_options if tensor_options != last else "", escape(row["system"]), *cells)
        last = tensor_options
    print_table(table)


def _short(name: str) -> str:
    return name.partition(":")[0]  # of a synthetic graph's long name


def _size(row: dict[str, Any]) -> str:
    where = f"{row['entries']:,} entries" if "entries" in row else escape(_short(row["dataset"]))
    return f"(hidden {row['hidden']}) on {where}" if "hidden" in row else f"on {where}"


def _number(value: float | None, unit: float, digits: int) -> str:
    return "–" if value is None else f"{value / unit:,.{digits}f}"


def print_falls(falls: list[dict[str, Any]]) -> None:
    """Print which systems are slower than they were."""
    if not falls:
        say("No system's ratio to pyg-gcn fell by more than 30 %.")
        return
    table = new_table(
        ("suite", "data", "system", "before", "now", "change"),
        left=("suite", "data", "system"),
        title="ratio to pyg-gcn fell by more than 30 %",
    )
    for fall in falls:
        table.add_row(
            fall["suite"], escape(fall["dataset"]), escape(fall["system"]),
            f"{fall['before']:.2f}", f"{fall['now']:.2f}", f"{fall['change_percent']:.0f} %",
        )  # fmt: skip
    print_table(table)
