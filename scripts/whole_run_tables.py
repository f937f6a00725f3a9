"""Whole commands and trainings beside PyTorch Geometric's, from what benchmarks/ stored in results/."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench_tables import DEVICES, measured_with
from comparison_tables import TITLES


def whole_run_tables(results: Path) -> dict[str, Callable[[], str]]:
    """All tables by name."""
    files = {
        "first_answer": ("first-answer-cpu", first_answer, "benchmarks/first_answer.py"),
        "similar": ("bench-similar-cpu", similar, "benchmarks/similar.py"),
        "links_beside_gae": ("links-beside-gae", links_beside_gae, "benchmarks/links_beside_gae.py"),
    } | {
        f"cost_beside_gcn_{device}": (
            f"cost-beside-gcn-{device}", cost_beside_gcn, f"benchmarks/cost_beside_gcn.py --device {device}",
        )
        for device in DEVICES
    }  # fmt: skip
    return {name: partial(_stored, results, *parts) for name, parts in files.items()}


def _stored(results: Path, file: str, table: Callable[[dict[str, Any]], str], command: str) -> str:
    path = results / f"{file}.json"
    if not path.exists():
        return f"*Not measured yet: `python {command} --results results`.*"
    values = json.loads(path.read_text())
    return f"{measured_with(values, f'python {command}')}\n\n{table(values)}"


def first_answer(values: dict[str, Any]) -> str:
    """`kernode fit` beside ten GCNs: medians, and of how many turns."""
    lines = ["|  | `kernode fit`, s | ten GCNs, s | ratio | turns |", "|" + " --- |" * 5]
    for row in values["rows"]:
        found = row["medians"]
        seconds = _shorter_bold(found["ours"], found["gcns"])
        lines.append(
            f"| {TITLES[row['dataset']]} | {seconds} | {row['ours_to_gcns']:.2f} | {len(row['ours'])} |"
        )
    return "\n".join(lines)


def similar(values: dict[str, Any]) -> str:
    """Comparing with all nodes beside asking the index, on models and on the first nodes of the largest."""
    lines = [
        "|  | nodes | kernel, numbers of a vector | recall@10 | one at a time: all, index, ms | ratio "
        "| 256 at once: all, index, ms | ratio | making it, s |",
        "|" + " --- |" * 9,
    ]
    for row in (*values["rows"], *values["sizes"]):
        name = TITLES.get(row.get("dataset"), row.get("dataset", "first nodes"))
        kernel = "RBF" if "RBF" in row["kernel"] else "dot product"
        times = " | ".join(
            f"{row[how]['exact']:.2f}, {row[how]['index']:.2f} | {row[how]['ratio']:.1f} "
            f"({row[how]['fastest_ratio']:.1f})"
            for how in ("alone_ms", "together_ms")
        )
        lines.append(
            f"| {name} | {row['nodes']:,} | {kernel}, {row['numbers']} | {row['recall_at_10']:.4f} | {times} "
            f"| {row['build_s']:.1f} |"
        )
    return "\n".join(lines)


def _shorter_bold(*seconds: float) -> str:
    return " | ".join(f"**{one:.1f}**" if one == min(seconds) else f"{one:.1f}" for one in seconds)


def links_beside_gae(values: dict[str, Any]) -> str:
    """`kernode links` beside as many GAEs: seconds and test figures of both."""
    lines = [
        "|  | `kernode links`, s | GAE, s | ratio | AUC, AP | GAE's AUC, AP | runs of each | turns |",
        "|" + " --- |" * 8,
    ]
    by = {(row["dataset"], row["system"]): row for row in values["rows"]}
    for dataset in dict.fromkeys(row["dataset"] for row in values["rows"]):
        ours, theirs = by[dataset, "kernode links"], by[dataset, "pyg-gae"]
        seconds = [row["median_seconds"] for row in (ours, theirs)]
        figures = [f"{row['test_auc']:.2f}, {row['test_ap']:.2f}" for row in (ours, theirs)]
        lines.append(
            f"| {TITLES[dataset]} | {_shorter_bold(*seconds)} | {seconds[0] / seconds[1]:.2f} | "
            f"{figures[0]} | {figures[1]} | {ours['runs']} | {len(ours['seconds'])} |"
        )
    return "\n".join(lines)


def cost_beside_gcn(values: dict[str, Any]) -> str:
    """The default, its winner alone, and the GCN that people tune today."""
    lines = [
        "|  | the default, s | chosen | winner alone, s | times | tuned GCN, s | ratio | accuracy | GCN's |",
        "|" + " --- |" * 9,
    ]
    for row in values["rows"]:
        found = row["medians"]
        timed = "" if row["gcn_accuracy"] is not None else f" ({row['timed_epochs']} epochs timed)"
        theirs = "–" if row["gcn_accuracy"] is None else f"{row['gcn_accuracy']:.2f}"
        alone = f"{found['winner_alone']:.1f} | {found['ours_to_winner_alone']:.2f}"
        lines.append(
            f"| {TITLES.get(row['dataset'], row['dataset'])} | {found['ours']:.1f} | {row['chosen']} | "
            f"{alone} | {found['gcn']:.1f}{timed} | {1 / found['gcn_to_ours']:.2f} | "
            f"{row['accuracy']:.2f} | {theirs} |"
        )
    return "\n".join(lines)
