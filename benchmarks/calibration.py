"""Do probabilities mean what they say? Calibration error of "fast", before and after scaling.

    python benchmarks/calibration.py cora citeseer pubmed photo.npz=split.npz [--runs 10] [--results results]

Each graph is trained as `kernode fit GRAPH --variant fast --split SPLIT --replicas 10` does, on "fastgcn"
where no split is named. Kept are the calibration error of the runs, each by itself, averaged, and of all runs
together, on test and on validation nodes, with the probabilities as they were trained and calibrated. Next to
each is what chance explains: the same figure of confidences that are right exactly as often as they claim,
its mean and the most in 19 of 20 draws. What is fitted sees validation nodes only. Which family of maps is
fitted was settled with Cora's and Citeseer's test figures in view, so that these flatter.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runs import NodeRun, train_variant
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.io import Split, load_graph
from kernode.storage import write_whole
from kernode.tasks.classes.calibration import Calibration
from kernode.tasks.classes.evaluation import calibration_report

KEPT = ("error_mean", "error_std", "runs", "by_chance", "by_chance_at_most", "brier", "nll", "coverage")
OF_ENSEMBLE = tuple(name for name in KEPT if name not in ("error_std", "runs"))


def measure(name: str, split: str, runs: int, device: str) -> dict[str, Any]:
    """Train on a graph and look at what its probabilities are worth."""
    graph = load_graph(name)
    options = TensorOptions.of(32, device)
    outcome = train_variant(graph, "fast", options, tuple(range(runs)), split)
    return row(outcome, graph) | {"machine": machine(device)}


def row(outcome: NodeRun, graph: Graph) -> dict[str, Any]:
    """What is kept of an experiment."""
    model = outcome.model
    calibration = model.calibration
    assert calibration is not None
    numbers = np.array([[*model.classes, name].index(name) for name in graph.class_names])
    figures = {}
    for part in ("test", "validation"):
        nodes = rows_of(outcome.splits, part)
        by_run = outcome.on.probabilities(nodes)
        figures[part] = before_and_after(calibration, by_run, nodes, numbers[graph.labels[nodes]])
    return {
        "dataset": graph.name,
        "split": model.split,
        "variant": model.variant,
        "accuracy": outcome.report["test"]["accuracy_mean"],
        "sizes": outcome.sizes,
        "calibration": replace(calibration, true_probabilities=()).to_json(),
        **figures,
    }


def before_and_after(
    calibration: Calibration, by_run: np.ndarray, nodes: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    """Figures of the probabilities as they were trained, and calibrated."""
    found = {}
    for when, how in (("before", None), ("after", calibration)):
        figures = calibration_report(how, by_run, nodes, truth)
        found[when] = {name: figures[name] for name in KEPT}
        if figures["ensemble"] is not None:
            found[when]["ensemble"] = {name: figures["ensemble"][name] for name in OF_ENSEMBLE}
    return found


def rows_of(splits: list[Split], part: str) -> np.ndarray:
    """A part's nodes: 1 × t where all runs share them, else r × t."""
    parts = [getattr(split, part) for split in splits]
    return np.stack(parts[:1] if all(one is parts[0] for one in parts) else parts)


def main() -> None:
    """Measure, print, and save; graphs that are not named keep what is stored of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="GRAPH[=SPLIT]")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    for one in given.graphs:
        name, _, split = one.partition("=")
        found = measure(name, split or "fastgcn", given.runs, given.device)
        report(found)
        if given.results:
            save(found, given.results / "calibration.json")


def report(found: dict[str, Any]) -> None:
    """The figures in two lines."""
    for when in ("before", "after"):
        one = found["test"][when]
        print(
            f"{found['dataset']} {when}: {one['error_mean']:.2f} %, chance {one['by_chance']:.2f} to "
            f"{one['by_chance_at_most']:.2f}; all runs together: {one.get('ensemble', {}).get('error_mean')}",
            flush=True,
        )


def save(found: dict[str, Any], path: Path) -> None:
    """Put a graph's figures in the place of its earlier ones."""
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    rows = [row for row in rows if row["dataset"] != found["dataset"]]
    rows = sorted([*rows, found], key=lambda row: str(row["dataset"]))
    write_whole(path, (json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
