"""What ``kernode fit`` says of a run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from kernode.cli.console import say

if TYPE_CHECKING:
    from kernode.data import Split


def print_report(report: dict[str, Any], splits: list[Split], files: list[str]) -> None:
    """Print figures, cost, and the next command, which needs to be told of some files."""
    sizes = " / ".join(f"{len(part):,}" for part in (splits[0].train, splits[0].validation, splits[0].test))
    name, runs = escape(report["dataset"]), runs_and_seeds(report)
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    _print_figures(report)
    cost = f"{report['seconds_total']:.1f} s, {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    if report["peak_memory_mb"]:
        cost += f", {report['peak_memory_mb']:.0f} MB at most"
    say(f"  {'time and memory':<20} {cost}")
    again = report["trained_again_on"]
    trained = f" (trained again on all {again:,} labelled nodes)" if again else ""
    say(f"  {'model':<20} {escape(report['model'])}{trained}")
    if report["predictions"]:
        say(f"  {'predictions':<20} {escape(report['predictions'])}")
    else:
        words = ["kernode", "predict", report["model"], *files, "-o", "predictions.csv"]
        say(f"Next: [bold]{escape(shlex.join(words))}[/]")


def runs_and_seeds(report: dict[str, Any]) -> str:
    """How many runs, and from which seeds."""
    r, seed = report["replicas"], report["seed"]
    return f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"


def _print_figures(report: dict[str, Any]) -> None:
    r = report["replicas"]
    if report["chosen_by_validation"]:
        tried = ", ".join(f"{name} {figure:.2f} %" for name, figure in report["chosen_by_validation"].items())
        say(f"  {'chosen by validation':<20} {tried}")
    for part in ("test", "validation"):
        values = report[part]
        if values["accuracy_mean"] is None:
            continue
        together = values["ensemble_accuracy"]
        note = f"   (all runs together: {together:.2f} %)" if r > 1 and together is not None else ""
        figure = _figure(values, "accuracy_mean", "accuracy_std", r)
        say(f"  {part + ' accuracy':<20} [bold]{figure}[/]{note}")
    if alike := report["test"]["similarity"]:
        precision = _figure(alike, "precision_at_10", "precision_at_10_std", r)
        ranked = _figure(alike, "map", "map_std", r)
        say(f"  {'similar nodes':<20} [bold]{ranked}[/] mAP, {precision} precision at 10")
    if report["hop_weights"]:
        weights = "  ".join(f"{weight:.2f}" for weight in report["hop_weights"])
        say(f"  {'hop weights ω':<20} {weights}   (at 0, 1, … hops; mean of the runs)")


def _figure(values: dict[str, Any], mean: str, std: str, runs: int) -> str:
    spread = f" ± {values[std]:.2f}" if runs > 1 else ""
    return f"{values[mean]:.2f}{spread} %"
