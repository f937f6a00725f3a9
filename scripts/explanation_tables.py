"""The table of faithful explanations, from what benchmarks/faithfulness.py stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from comparison_tables import TITLES

from experiments import RESULTS


def explanation_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {"faithfulness": faithfulness}


def faithfulness() -> str:
    """A line for each method on each model; bold is the largest fall, and the least time."""
    records = [json.loads(path.read_text()) for path in sorted((RESULTS / "faithfulness").glob("*.json"))]
    ways = list(records[0]["methods"]["kernode"]["falls"])
    lines = [f"| the score falls by | {' | '.join(ways)} | ms |", f"|{' --- |' * (len(ways) + 2)}"]
    for record in records:
        methods = record["methods"]
        best = {way: max(_shown(one["falls"][way]["mean"]) for one in methods.values()) for way in ways}
        least = min(one["seconds"] for one in methods.values())
        for name, one in methods.items():
            falls = [_bold(_shown(one["falls"][way]["mean"]), best[way]) for way in ways]
            time = _bold(f"{1000 * one['seconds']:.1f}", f"{1000 * least:.1f}")
            model = f"{TITLES.get(record['dataset'], record['dataset'])}, `{record['variant']}`"
            lines.append(f"| {model}, {record['nodes']} nodes: {name} | {' | '.join([*falls, time])} |")
    return "\n".join(lines)


def _shown(value: float) -> str:
    return f"{value:.3f}"


def _bold(text: Any, best: Any) -> str:
    return f"**{text}**" if text == best else str(text)
