"""What the tests see of faults that were put in on purpose, from what scripts/mutants.py stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results/mutants.json"
REASONS = ROOT / "scripts/mutant_reasons.json"  # by what mutations.py calls a mutant


def mutant_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"mutants": _counts, "surviving_mutants": _survivors}


def _counts() -> str:
    found = json.loads(RESULTS.read_text())
    rows = [(room, one["killed"], one["mutants"]) for room, one in found["by_room"].items()]
    first, now = found["first_run"], (found["killed"], found["mutants"])
    rows.append(("**all**", *now))
    rows.append(("all, before tests were written for survivors", first["killed"], first["mutants"]))
    lines = [f"| {room} | {killed} of {mutants} | {killed / mutants:.1%} |" for room, killed, mutants in rows]
    return "\n".join(["| room | killed | share |", "| --- | --- | --- |", *lines])


def survivors() -> list[tuple[dict[str, Any], str | None]]:
    """Each mutant that no test sees, and why that is."""
    reasons = json.loads(REASONS.read_text())
    left = [one for one in json.loads(RESULTS.read_text())["each"] if one["killed_by"] is None]
    return [(one, reasons.get(f"{one['file']}: {one['before']} → {one['after']}")) for one in left]


def _survivors() -> str:
    lines = ["| where | change | why no test sees it |", "| --- | --- | --- |"]
    for one, why in survivors():
        where = f"`{one['file'].removeprefix('src/kernode/')}:{one['line']}`"
        change = f"{_code(one['before'])} → {_code(one['after'])}"
        lines.append(f"| {where} | {change} | {why} |")
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if text else "nothing"
