"""What L_K adds to a similarity: one map, several losses, the same splits in pairs.

    python benchmarks/kernel_loss.py cora photo.npz … [--splits 30] [--device cuda] [--results results]

Random splits, 60/20/20, and one map for all: K3's, 64 wide. Where a fifth is more than 1,500 nodes, 1,500
validate and the others of the fifth are left out, for in every epoch all of them rank each other. L_Y alone
(λ = 0), both together with λ = 0.1, 1 and 3, and L_K alone, with margin 0.5; each keeps the epoch that
validates best by mean average precision. Stored are mAP of K̄ among the test nodes and accuracy, split by
split, and the difference in mAP to λ = 0 in pairs, corrected as Nadeau and Bengio do for
splits that overlap.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runs import train_nodes
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.io import load_graph
from kernode.losses import Hinge, Joint, Softmax
from kernode.metrics.significance import paired
from kernode.storage import write_whole
from kernode.tasks.classes.variants import configure
from kernode.training.run import Run

TRAIN, TEST = 0.6, 0.2
VALIDATION, AT_MOST = 0.2, 1_500  # a share, and nodes
MARGIN = 0.5
LOSSES = {
    "λ = 0": Softmax(),
    "λ = 0.1": Joint(kernel=Hinge(margin=MARGIN), kernel_weight=0.1),
    "λ = 1": Joint(kernel=Hinge(margin=MARGIN), kernel_weight=1.0),
    "λ = 3": Joint(kernel=Hinge(margin=MARGIN), kernel_weight=3.0),
    "L_K alone": Hinge(margin=MARGIN),
}


def main() -> None:
    """Train every loss on every graph, and store each graph as it ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    options = TensorOptions.of(32, given.device)
    for name in given.graphs:
        graph = load_graph(name)
        validation = min(VALIDATION, AT_MOST / int((graph.labels >= 0).sum()))
        split = f"{TRAIN}/{validation:.4g}/{TEST}"
        found: dict[str, Any] = {}
        for title, loss in LOSSES.items():
            method, training = configure(
                "k3", "", hidden=(64,), epochs=given.epochs, select_by="map", tuned=False
            )
            method = replace(method, loss=loss)  # type: ignore[call-arg]
            run = Run(tuple(range(given.splits)), options)
            test = train_nodes(graph, method, training, run.options, run.seeds, split=split).report["test"]
            found[title] = {
                "map": [one["map"] for one in test["similarity"]["runs"]],
                "accuracy": test["runs"],
            }
            first = found["λ = 0"]["map"]
            pair = asdict(
                paired(np.subtract(found[title]["map"], first).tolist(), test_to_train=TEST / TRAIN)
            )
            found[title]["adds"] = pair
            mean, accuracy = np.mean(found[title]["map"]), np.mean(test["runs"])
            print(
                f"{graph.name} {title}: mAP {mean:.2f}, accuracy {accuracy:.2f}, adds {pair['mean']:+.2f}",
                flush=True,
            )
        if given.results:
            record = {
                "dataset": graph.name, "split": split, "splits": given.splits, "losses": found,
                "machine": machine(options.device.type),
            }  # fmt: skip
            path = given.results / "kernel-loss" / f"{graph.name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
