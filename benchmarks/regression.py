"""NodeKernelRegressor with nothing set, beside baselines: R², coverage of intervals, seconds.

    python benchmarks/regression.py county_2012.npz ChicagoSketch.npz chameleon.npz [--splits 5] [--exact 0]
    python benchmarks/regression.py --made 100000

The files have ``edges`` once for each pair, ``node_features`` or ``attr_*``, ``targets`` with
``target_names``. Where there are several targets, each of TARGETS is predicted from the others. 60 % of the
numbers are known, at random; all others are scored once. Baselines know the same numbers. Twins are nodes
with the same neighbours and number as a known one. `--exact 0`: as if there were too many numbers for an
exact posterior. `--made`: a graph of so many nodes on a plane, each linked to its three nearest and to
others at random, whose numbers follow the place, the features and noise; without baselines.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import random_split
from kernode.storage import write_whole
from kernode.tasks.numbers.evaluation import figures

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


def made_graph(n: int) -> kn.Graph:
    """Nodes on a plane, with eight features."""
    rng = np.random.default_rng(0)
    place = rng.random((n, 2))
    _, near = cKDTree(place).query(place, k=4)
    edges = np.stack([np.repeat(np.arange(n), 3), near[:, 1:].ravel()], axis=1)
    edges = np.concatenate([edges, rng.integers(0, n, (int(1.65 * n), 2))])
    x = rng.standard_normal((n, 8))
    waves = np.sin(6 * place[:, 0]) + np.cos(8 * place[:, 1])
    y = waves + np.tanh(x[:, 0] * x[:, 1]) + x[:, 2] / 2 + rng.standard_normal(n) / 2
    edges = edges[edges[:, 0] != edges[:, 1]]
    return kn.Graph.from_edges(edges, x, targets=y, target_name="made", name=f"made-{n}")


def timed(graph: kn.Graph) -> dict[str, Any]:
    """Seconds and memory of a fit, of predictions with deviations, and of conformal intervals."""
    assert graph.targets is not None
    split = random_split(graph.targets, (0.6, 0.0, 0.4), 0)
    truth, seconds = graph.targets[split.test], {}
    started = time.perf_counter()
    model = kn.NodeKernelRegressor().fit(split.train, graph.targets[split.train], graph=graph)
    seconds["fit"] = time.perf_counter() - started
    started = time.perf_counter()
    predicted, _ = model.predict(split.test, return_std=True)
    seconds["predict"] = time.perf_counter() - started
    started = time.perf_counter()
    low, high = model.predict_interval(split.test).T
    seconds["intervals"] = time.perf_counter() - started
    return {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "r2": [figures(truth, predicted)["r2"]],
        "coverage": [100 * float(((low <= truth) & (truth <= high)).mean())],
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
        "machine": machine("cpu"),
    }


def measured(graph: kn.Graph, splits: int, exact: int) -> dict[str, Any]:
    """Figures of random splits."""
    rows: list[dict[str, Any]] = []
    seconds = []
    assert graph.targets is not None
    for seed in range(splits):
        split = random_split(graph.targets, (0.6, 0.0, 0.4), seed)
        started = time.perf_counter()
        model = kn.NodeKernelRegressor(random_state=seed, exact=exact)
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
    parser.add_argument("graphs", nargs="*", type=Path, help=".npz files")
    parser.add_argument("--made", type=int, help="nodes of a made graph")
    parser.add_argument("--exact", type=int, default=5000)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--deduplicate", action="store_true", help="keep one of nodes that are twins")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()

    def store(name: str, found: dict[str, Any]) -> None:
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
        out = given.results / "numbers" / f"{name}.json"
        write_whole(out, ("{\n" + ",\n".join(lines) + "\n}\n").encode())

    if given.made:
        graph = made_graph(given.made)
        store(graph.name, found := timed(graph))
        print(found)
    for path in given.graphs:
        for graph in read_graphs(path):
            graph = deduplicated(graph) if given.deduplicate else graph
            found = measured(graph, given.splits, given.exact)
            store(graph.name + ("" if given.exact else "-approximate"), found)


if __name__ == "__main__":
    main()
