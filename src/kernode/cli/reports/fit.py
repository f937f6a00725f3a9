"""What ``kernode fit`` says of a run."""

from __future__ import annotations

import shlex
from typing import Any

from rich.markup import escape

from kernode.cli.console import new_table, print_table, say

_SHOWN = 12  # classes


def print_report(report: dict[str, Any], files: list[str]) -> None:
    """Print figures, cost, and the next command, which needs to be told of some files."""
    sizes = " / ".join(f"{report['sizes'][part]:,}" for part in ("train", "validation", "test"))
    name, runs = escape(report["dataset"]), runs_and_seeds(report)
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    _print_figures(report)
    _print_classes(report["test"])
    cost = f"{report['seconds_total']:.1f} s, {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    cost += said_threads(report)
    if report["peak_memory_mb"]:
        cost += f", {report['peak_memory_mb']:.0f} MB at most"
    say(f"  {'time and memory':<20} {cost}")
    again = report["trained_again_on"]
    trained = f" (trained again on all {again:,} labelled nodes)" if again else ""
    say(f"  {'model':<20} {escape(report['model'])}{trained}{said_replaced(report)}")
    if report["predictions"]:
        say(f"  {'predictions':<20} {escape(report['predictions'])}")
    else:
        words = ["kernode", "predict", report["model"], *files, "-o", "predictions.csv"]
        say(f"Next: [bold]{escape(shlex.join(words))}[/]")


def runs_and_seeds(report: dict[str, Any]) -> str:
    """How many runs, and from which seeds."""
    r, seed = report["replicas"], report["seed"]
    return f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"


def said_threads(report: dict[str, Any]) -> str:
    """How many threads a CPU had: the same seed gives the same bits only for the same number."""
    if report["device"] != "cpu" or report["threads"] is None:
        return ""
    return f", {report['threads']} thread{'s' * (report['threads'] > 1)}"


def said_replaced(report: dict[str, Any]) -> str:
    """Whether the model's file took the place of another, which may have been of other data or methods."""
    return ", which replaced a file of that name" if report["replaced"] else ""


def _print_figures(report: dict[str, Any]) -> None:
    from kernode.tasks.classes.evaluation import (  # here: it waits for torch
        FEW,
        baseline_lines,
        calibration_lines,
        percent,
        uncertain,
    )

    r = report["replicas"]
    if report["chosen_by_validation"]:
        by = "mAP" if report["select_by"] == "map" else "accuracy"
        _print_choice(report["variant"], report["chosen_by_validation"], report["epochs_tried"], by)
        if r > 1 and report["test"]["accuracy_mean"] is not None and _own_splits(report):
            say(f"  {'':<20} [dim]one choice for all runs: nodes that validate one are tested in another[/]")
    for part in ("test", "validation"):
        values = report[part]
        if values["accuracy_mean"] is None:
            if part == "test":
                say(f"  {'test accuracy':<20} none: no node was kept for a test")
            continue
        together = values["ensemble_accuracy"]
        note = f"   (all runs together: {together:.2f} %)" if r > 1 and together is not None else ""
        unsure = uncertain(values) if part == "test" else ""
        say(f"  {part + ' accuracy':<20} [bold]{percent(values, 'accuracy', r)}[/]{note}{unsure}")
        if part == "test":
            for line, is_ahead in baseline_lines(values):
                say(f"  {'':<20} [{'bold yellow' if is_ahead else 'dim'}]{line}[/]")
            say(f"  {'macro F1':<20} {percent(values, 'macro_f1', r)}")
            for name, line in calibration_lines(values["calibration"], r):
                say(f"  {name:<20} {line}")
    if alike := report["test"]["similarity"]:
        precision = _figure(alike, "precision_at_10", "precision_at_10_std", r)
        ranked = _figure(alike, "map", "map_std", r)
        # Among few nodes hardly ten are of one class: even the best order would seem imprecise.
        among_ten = f", {precision} precision at 10" if report["test"]["nodes"] >= FEW else ""
        together = alike.get("ensemble_map")
        note = "" if together is None else f"   (all runs together: {together:.2f} % mAP)"
        say(f"  {'similar nodes':<20} [bold]{ranked}[/] mAP{among_ten}{note}")
    if report["hop_weights"]:
        shown = ["–" if weight is None else f"{weight:.2f}" for weight in report["hop_weights"]]
        empty = "; –: no such term" if "–" in shown else ""
        say(f"  {'hop weights ω':<20} {'  '.join(shown)}   (at 0, 1, … hops; mean of the runs{empty})")


def _own_splits(report: dict[str, Any]) -> bool:
    """Whether each run had nodes of its own, so that no two can answer for one together."""
    return bool(report["test"]["ensemble_accuracy"] is None)


def _print_choice(chosen: str, validated: dict[str, float], epochs: dict[str, int], by: str) -> None:
    """The method that was kept, and below it the others, each after as many epochs as it was tried for."""
    after = {name: f"{figure:.2f} % after {epochs[name]}" for name, figure in validated.items()}
    s = "s" * (epochs[chosen] != 1)
    say(f"  {'chosen by validation':<20} {chosen}, {by} {after.pop(chosen)} epoch{s}")
    others = ", ".join(f"{name} {said}" for name, said in after.items())
    say(f"  {'':<20} [dim]not: {others}[/]")


def _print_classes(test: dict[str, Any]) -> None:
    """A line for each class; of many, the rarest and the hardest are a matter for --json."""
    if not test.get("classes"):
        return
    words = ("  class", "mostly taken for")
    columns = (words[0], "precision", "recall", "F1", "nodes", words[1])
    table = new_table(columns, left=words, box=None, pad_edge=False)
    names = [one["class"] for one in test["classes"]]
    for i, one in enumerate(test["classes"][:_SHOWN]):
        others = [0 if j == i else count for j, count in enumerate(test["confusion"][i])]
        wrong = names[max(range(len(others)), key=others.__getitem__)] if any(others) else ""
        figures = (f"{one[name]:.1f}" for name in ("precision", "recall", "f1"))
        table.add_row(
            f"  {escape(str(one['class']))}", *figures, f"{one['support']:,.0f}", escape(str(wrong))
        )
    print_table(table)
    if len(names) > _SHOWN:
        say(f"  … and {len(names) - _SHOWN} classes more; all of them with --json")


def _figure(values: dict[str, Any], mean: str, std: str, runs: int) -> str:
    spread = f" ± {values[std]:.2f}" if runs > 1 else ""
    return f"{values[mean]:.2f}{spread} %"
