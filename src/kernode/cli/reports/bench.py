"""What ``kernode bench`` says: a table for each suite, growth, claims, and what became slower."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from kernode.cli.console import new_table, print_table, say

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
        place = f"{row['entries']:,}" if sized else escape(_short(row["dataset"]))
        cells = [str(row[name]) if row.get(name) is not None else "" for name in which]
        cells += [_number(row.get(name), *_COLUMNS[name][1:]) for name in shown]
        table.add_row(place if place != last else "", escape(row["system"]), *cells)
        last = place
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
