"""Faults found and missed by the tests, from what scripts/mutants.py stored."""

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
    return "\n".join(["| package | killed | share |", "| --- | --- | --- |", *lines])


def survivors() -> list[tuple[dict[str, Any], str | None]]:
    """Each mutant that no test sees, and why that is."""
    reasons = json.loads(REASONS.read_text())
    left = [one for one in json.loads(RESULTS.read_text())["each"] if one["killed_by"] is None]
    return [(one, reasons.get(f"{one['file']}: {one['before']} → {one['after']}")) for one in left]


def _survivors() -> str:
    """A list: lines of code are too long for a table."""
    lines = []
    for one, why in survivors():
        before, after = _differing(one["before"], one["after"])
        where = f"`{one['file'].removeprefix('src/kernode/')}:{one['line']}`"
        lines.append(f"- {where}: {_code(before)} → {_code(after)}. {str(why)[:1].upper()}{str(why)[1:]}.")
    return "\n".join(lines)


_AROUND = 24  # characters around a change


def _differing(before: str, after: str) -> tuple[str, str]:
    """The difference between two lines, with some context."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])

    def part(text: str) -> str:
        first, last = max(0, start - _AROUND), min(len(text), len(text) - end + _AROUND)
        return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"

    return part(before), part(after) if after else ""


def _alike(one: str, other: str) -> int:
    """How many characters two texts share from their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _code(text: str) -> str:
    return f"`{text}`" if text else "nothing"
