"""``kernode bench``: our training beside PyTorch Geometric's, measured here."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from kernode.cli.console import check_folder, print_json, progress
from kernode.cli.options import DeviceOptions, OutputOptions
from kernode.cli.reports.bench import print_falls, print_suite
from kernode.errors import InputError

SUITES = ("step", "scale", "replicas", "memory", "complexity")  # known before torch is imported


def bench(
    *,
    suites: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(SUITES)}; several may be named.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Data sets or .npz files; as the suite has it where left out.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Turns of each system; medians are taken.")] = None,
    largest: Annotated[float, typer.Option(help="scale: adjacency entries of the largest graph.")] = 2e7,
    hidden: Annotated[int, typer.Option(help="scale: our hidden width.")] = 128,
    results: Annotated[
        Path | None, typer.Option(help="Folder for bench-SUITE-DEVICE.json.", show_default=False)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Folder with such files: fail if a ratio fell by over 30 %.", show_default=False),
    ] = None,
    device: DeviceOptions,
    output: OutputOptions,
) -> None:
    """Measure training steps and memory beside PyTorch Geometric's, on the same data and settings.

    step: one training step of every system. scale: time and memory against the size of a graph.
    replicas: what more runs in one stack cost. memory: the peak of training. complexity: the paper's
    claims about cost, each with a verdict.

    Example: [bold]kernode bench step replicas --data cora --results results[/]
    """
    names, sets = _sorted_out(suites or [], data or [])
    if results is not None:
        check_folder(results)

    from kernode.compute.place import Place
    from kernode.studies.bench import record
    from kernode.studies.bench.rows import Options
    from kernode.studies.bench.suites import run_suite

    kind = Place.of(32, device.device).device.type  # each suite sets the threads by itself
    before = {name: record.stored(check, name, kind) for name in names} if check else {}
    options = Options(kind, sets, rounds, device.threads, largest, hidden)
    records = []
    for name in names:
        with progress(f"bench {name}", quiet=output.silent) as begin:
            outcome = run_suite(name, options, begin)
        values = record.record(outcome, _command(name, options))
        if results is not None:
            values |= {"results": str(record.save(results, values))}
        records.append(values)
        if not output.json:
            print_suite(values)
    falls = [fall for values in records if check for fall in record.falls(before[values["suite"]], values)]
    if output.json:
        print_json(_together(records) | ({"falls": falls} if check else {}))
    elif check:
        print_falls(falls)
    if falls:
        raise typer.Exit(1)


def _sorted_out(words: list[str], data: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Suites and data sets. After --data, words that are no suite go on with its list."""
    words = [word.lower() if word.lower() in SUITES else word for word in words]
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
        "results": [values["results"] for values in records if "results" in values],
    }
