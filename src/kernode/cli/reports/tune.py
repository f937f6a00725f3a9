"""Report of ``kernode tune``, and the command that uses the settings found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from kernode.cli.console import new_table, print_table, say

if TYPE_CHECKING:
    from kernode.search.space import Problem
    from kernode.search.tune import Found

METRICS = {"accuracy": "accuracy", "map": "mean average precision", "auc": "AUC"}
_SHOWN = 5  # trials


def command_of(problem: Problem) -> str:
    """Return the command that takes the settings."""
    return "links" if problem.of_links else "fit"


def has_random_split(problem: Problem) -> bool:
    """Whether the test nodes of another seed took part in this search."""
    from kernode.io.split_file import is_split_file

    split = problem.split_name
    return split is None or (split not in ("fastgcn", "public") and not is_split_file(split))


def next_command(problem: Problem, data: list[str], out: Path) -> str:
    """Return the command that uses the file on test data that the search has not seen."""
    command = command_of(problem)
    words = ["kernode", command, *data, "--settings", str(out)]
    if problem.split:
        words += ["--split", problem.split]
    if has_random_split(problem):
        words += ["--seed", str(problem.seed)]
        words += ["--replicas", "1"] if command == "fit" else []  # replicas on links share the first's split
    return shlex.join(words)


def validated_on(problem: Problem) -> str:
    """Describe the validation data."""
    split, folds = problem.split_name, problem.folds
    parts = [f"split {split}"] if split else []
    parts += [f"{folds} folds"] if folds else []
    parts += [f"{problem.replicas} runs" if problem.replicas > 1 else "1 run", f"seed {problem.seed}"]
    return ", ".join(parts)


def report_of(problem: Problem, found: Found) -> dict[str, Any]:
    """Return a search as plain values."""
    return {
        "dataset": problem.graph.name,
        "command": command_of(problem),
        "variant": problem.variant,
        "metric": problem.metric,
        "split": problem.split_name,
        "folds": problem.folds,
        "replicas": problem.replicas,
        "seed": problem.seed,
        "trials": found.count,
        "failed": found.failures,
        "best": [
            {"trial": one.number, "value": round(one.value, 4), "runs": one.runs, "settings": one.settings}
            for one in found.trials[:_SHOWN]
        ],
    }


def print_report(report: dict[str, Any], following: str) -> None:
    """Print the best trials, the files, and the next command."""
    failed = f" ({len(report['failed'])} failed: {report['failed'][-1]})" if report["failed"] else ""
    name = escape(report["dataset"])
    say(f"[bold]{name}[/] · {report['variant']} · {report['trials']} trials{escape(failed)}")
    table = new_table(("trial", f"validation {report['metric']}"), box=None, pad_edge=False)
    table.add_column("settings")
    for one in report["best"]:
        values = ", ".join(f"{key} {_short(value)}" for key, value in one["settings"].items())
        table.add_row(str(one["trial"]), f"{one['value']:.2f} %", escape(values))
    print_table(table)
    say(f"  {'time':<20} {report['seconds_total']:.1f} s")
    say(f"  {'search':<20} {escape(report['study'])}   (more --trials go on from it)")
    say(f"  {'settings':<20} {escape(report['settings'])}")
    say(f"Next: [bold]{escape(following)}[/]")


def _short(value: Any) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
