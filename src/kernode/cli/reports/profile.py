"""Where the seconds of a command went."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from kernode.cli.console import new_table
from kernode.progress import Stopwatch


def profile_of(watch: Stopwatch) -> dict[str, Any]:
    """Seconds by name, and all of them."""
    parts = watch.seconds()
    return {"parts": {name: round(value, 3) for name, value in parts.items()},
            "total": round(sum(parts.values()), 3)}  # fmt: skip


def print_profile(profile: dict[str, Any]) -> None:
    """Print it on stderr, in the order in which things began."""
    table = new_table(("where", "seconds", "%"), left=("where",), box=None, pad_edge=False)
    total = profile["total"]
    for name, seconds in (profile["parts"] | {"all": total}).items():
        table.add_row(name, f"{seconds:.2f}", f"{100 * seconds / total:.0f}" if total else "")
    Console(stderr=True, highlight=False, emoji=False, markup=False).print(table)
