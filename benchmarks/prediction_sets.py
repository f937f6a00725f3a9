"""Do 90 % sets have the true class of 90 % of the test nodes? Coverage and size of prediction sets.

    python benchmarks/prediction_sets.py cora citeseer pubmed photo.npz … [--splits 5] [--how auto]

Built-in graphs are fitted on FastGCN's split and on random splits 60/20/20, others on random splits alone,
with one replica on each: "instant", whose sets are made by leave-one-out scores of the training nodes;
"fast" and "auto", by the validation nodes, which also choose; and "fast" with half of the validation nodes
held out for the sets alone. Kept of each split are the figures of the sets of the test nodes, as in a report,
the smallest set, and the accuracy.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import Split, load_graph, split_nodes
from kernode.io.registry import is_registered
from kernode.storage import write_whole
from kernode.tasks.classes.prediction_sets import sets_report

HOW = {
    "instant": ("instant", 0),
    "fast": ("fast", 0),
    "fast, half held out": ("fast", 2),
    "auto": ("auto", 0),
}
RANDOM = "0.6/0.2/0.2"


def measured(graph: kn.Graph, variant: str, every: int, split: Split, seed: int) -> dict[str, Any]:
    """Fit a variant on a split; return the figures of its sets of the test nodes.

    ``every``: one of so many validation nodes is held out for the sets alone, none if 0.
    """
    started, held_out = time.perf_counter(), split.validation[::every] if every else split.validation[:0]
    validation = np.setdiff1d(split.validation, held_out)
    model = kn.NodeKernelClassifier(variant, random_state=seed, device="cpu")
    model = model.fit(graph=graph, split=Split(split.train, validation, split.test))
    if every:
        nodes = kn.positions(held_out)
        model = model.calibrate(nodes, np.array(graph.class_names)[graph.labels[nodes]])
    seconds, test = time.perf_counter() - started, kn.positions(split.test)
    truth = np.array(graph.class_names)[graph.labels[test]]
    figures = sets_report(
        model.model_,
        model.model_.on(graph).probabilities(test),
        test[None],
        np.array([[model.model_.classes.index(one) for one in truth]]),
    )
    assert figures is not None
    return figures | {
        "smallest": min(map(len, model.predict_set(test))),
        "accuracy": round(100 * float((model.predict(test) == truth).mean()), 4),
        "seconds": round(seconds, 1),
    }


def rows(graph: kn.Graph, count: int, ways: list[str]) -> list[dict[str, Any]]:
    """Rows of a graph: one for each kind of split and each variant."""
    kinds = {RANDOM: split_nodes(graph, RANDOM, range(count))}
    if is_registered(graph.name):
        kinds = {"fastgcn": split_nodes(graph, "fastgcn", range(1))} | kinds
    found = []
    for kind, splits in kinds.items():
        for variant in ways:
            runs = [measured(graph, *HOW[variant], split, seed) for seed, split in enumerate(splits)]
            found.append({"dataset": graph.name, "split": kind, "variant": variant, "runs": runs})
            covered = ", ".join(f"{run['covered']:.1f}" for run in runs)
            sizes = ", ".join(f"{run['mean_size']:.2f}" for run in runs)
            print(f"{graph.name} {kind} {variant}: cover {covered} %, {sizes} classes each", flush=True)
    return found


def main() -> None:
    """Measure, print, and save; what is not measured keeps what is stored of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", help=".npz files, or names of built-in data sets")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--how", nargs="*", choices=HOW, default=list(HOW))
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    for name in given.graphs:
        graph = load_graph(name)
        found = rows(graph, given.splits, given.how)
        if given.results:
            path = given.results / "prediction-sets.json"
            others = json.loads(path.read_text())["rows"] if path.exists() else []
            new = {(one["dataset"], one["variant"]) for one in found}
            others = [one for one in others if (one["dataset"], one["variant"]) not in new]
            values = {"rows": others + found, "machine": machine("cpu")}
            write_whole(path, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
