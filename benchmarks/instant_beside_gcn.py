"""Seconds of the untrained kernel, and of PyTorch Geometric's GCN trained for 200 epochs, in turns.

    python benchmarks/instant_beside_gcn.py cora citeseer pubmed photo.npz … [--repeat 3] [--results results]

"instant" is fitted and asked about all nodes; nothing that an earlier turn prepared is used. The GCN has two
layers, 64 hidden units, dropout 0.5 and Adam (rate 0.01, decay 5e-4), with an evaluation after each epoch and
dense features. Medians are kept, on the first random split 60/20/20.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from own_graphs import EPOCHS, Data, train_gcn

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import split_nodes
from kernode.storage import write_whole


def timed(graph: kn.Graph, repeat: int) -> dict[str, Any]:
    """Medians of seconds."""
    split = split_nodes(graph, "0.6/0.2/0.2", range(1))[0]
    seconds: dict[str, list[float]] = {"instant": [], "gcn": []}
    for turn in range(repeat + 1):  # the first turn imports and compiles
        started = time.perf_counter()
        fresh = kn.Graph(graph.adjacency, graph.features, graph.labels, name=f"turn {turn}")
        kn.NodeKernelClassifier("instant").fit(graph=fresh, split=split).predict_proba(
            kn.positions(range(graph.n_nodes))
        )
        middle = time.perf_counter()
        train_gcn(Data(fresh, "cpu"), split.train, split.validation, 0, EPOCHS, scaled=True, rate=0.01)
        ended = time.perf_counter()
        if turn:
            seconds["instant"].append(middle - started)
            seconds["gcn"].append(ended - middle)
    return {name: round(statistics.median(values), 2) for name, values in seconds.items()}


def main() -> None:
    """Measure what the command line names; store and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", help=".npz files, or names of built-in data sets")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    rows = []
    for path in given.graphs:
        graph = kn.io.load_graph(path)
        rows.append({"dataset": graph.name, **timed(graph, given.repeat)})
        print(rows[-1], flush=True)
    values = {"rows": rows, "epochs": EPOCHS, "machine": machine("cpu")}
    write_whole(given.results / "instant-beside-gcn-cpu.json", (json.dumps(values, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
