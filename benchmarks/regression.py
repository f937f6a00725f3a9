"""NodeKernelRegressor with nothing set, beside baselines: R², coverage of intervals, seconds.

    python benchmarks/regression.py county_2012.npz ChicagoSketch.npz chameleon.npz [--splits 5]

The files have ``edges`` once for each pair, ``node_features`` or ``attr_*``, ``targets`` with
``target_names``. Where there are several targets, each of TARGETS is predicted from the others. 60 % of the
numbers are known, at random; all others are scored once. Baselines know the same numbers. Twins are nodes
with the same neighbours and number as a known one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import random_split
from kernode.storage import write_whole

TARGETS = ("income", "education", "unemployment", "election")


def read_graphs(path: Path) -> Iterator[kn.Graph]:
    """The graph of a file, for each of its targets."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    names, numbers = arrays["target_names"].tolist(), arrays["targets"]
    if "node_features" in arrays:
        features: Any = arrays["node_features"]
    else:
        parts = (arrays[f"attr_{name}"] for name in ("data", "indices", "indptr"))
        features = sparse.csr_array(tuple(parts), shape=tuple(arrays["attr_shape"]))
    for at, name in enumerate(names):
        x = features
        if len(names) > 1:
            if name not in TARGETS:
                continue
            x = np.delete(features, at, axis=1)
        about = {"targets": numbers[:, at], "target_name": name, "name": f"{path.stem}-{name}"}
        yield kn.Graph.from_edges(arrays["edges"], x, **about)


def deduplicated(graph: kn.Graph) -> kn.Graph:
    """The graph with one node of all that have the same neighbours and the same number."""
    a, targets = graph.adjacency, graph.targets
    assert targets is not None
    ends = [a.indices[a.indptr[i] : a.indptr[i + 1]] for i in range(graph.n_nodes)]
    first: dict[Any, int] = {}
    for node, own in enumerate(ends):
        first.setdefault((np.sort(own).tobytes(), targets[node]) if len(own) else node, node)
    kept = np.array(sorted(first.values()))
    about = {"targets": targets[kept], "target_name": graph.target_name, "name": f"{graph.name}-deduplicated"}
    return kn.Graph(a[kept][:, kept], graph.features[kept], np.full(len(kept), -1), **about)


def measured(graph: kn.Graph, splits: int) -> dict[str, Any]:
    """Figures of random splits."""
    rows: list[dict[str, Any]] = []
    seconds = []
    assert graph.targets is not None
    for seed in range(splits):
        split = random_split(graph.targets, (0.6, 0.0, 0.4), seed)
        started = time.perf_counter()
        model = kn.NodeKernelRegressor(random_state=seed)
        model.fit(split.train, graph.targets[split.train], graph=graph)
        seconds.append(round(time.perf_counter() - started, 1))
        rows.append(model.report(split.test, graph.targets[split.test])["test"])
        print(f"{graph.name}, split {seed}: R² {rows[-1]['r2']:.4f}, {seconds[-1]} s", flush=True)

    def of_all(*path: str) -> list[Any]:
        found: list[Any] = rows
        for name in path:
            found = [one[name] for one in found]
        return found

    return {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "r2": of_all("r2"),
        "baselines": {name: of_all("baselines", name, "r2") for name in rows[0]["baselines"]},
        "coverage": {name: of_all("coverage", name) for name in rows[0]["coverage"]},
        "twins": of_all("twins"),
        "seconds": seconds,
        "machine": machine("cpu"),
    }


def main() -> None:
    """Measure what the command line names; store and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=Path, help=".npz files")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--deduplicate", action="store_true", help="keep one of nodes that are twins")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    for path in given.graphs:
        for graph in read_graphs(path):
            graph = deduplicated(graph) if given.deduplicate else graph
            found = measured(graph, given.splits)
            lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
            out = given.results / "numbers" / f"{graph.name}.json"
            write_whole(out, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


if __name__ == "__main__":
    main()
