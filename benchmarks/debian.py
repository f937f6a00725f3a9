"""Debian's packages: the section of a fifth of them, hidden at random, from texts and dependencies.

    python benchmarks/debian.py [--packages 3000] [--draws 5] [--variants instant auto] [--results results]

Packages as `apt-cache dumpavail` has them, read as examples/debian_packages.py does. A tenth validates, a
fifth is tested once; the rest trains. Beside every variant: a linear SVC on the same columns and packages,
and with the names of dependencies as words, C chosen from 0.1, 0.3, 1, 3 by the validation packages.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import Split, random_split
from kernode.storage import write_whole

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from debian_packages import DEPENDENCY, FEWEST, read_packages

STRENGTHS = (0.1, 0.3, 1.0, 3.0)


def packages_graph(most: int) -> kn.Graph:
    """The first packages, as many as are there."""
    packages = read_packages(most)
    needed = {name: set(DEPENDENCY.findall(one.get("Depends", ""))) for name, one in packages.items()}
    pairs = [(name, other) for name in packages for other in sorted(needed[name] & packages.keys())]
    edges = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    columns = ("Package", "Description", "Maintainer", "Section")
    nodes = {key: [one.get(key) for one in packages.values()] for key in columns}
    sizes = Counter(nodes["Section"])
    nodes["Section"] = [one if sizes[one] >= FEWEST else None for one in nodes["Section"]]
    kinds = {"Package": "text", "Description": "text", "Maintainer": "category"}
    return kn.read_table(edges, nodes, id="Package", label="Section", features=kinds, name="debian")


def linear_svc(x: Any, labels: np.ndarray, split: Split) -> float:
    """Test accuracy in percent."""
    x = sparse.csr_array(x)

    fitted = [LinearSVC(C=strength).fit(x[split.train], labels[split.train]) for strength in STRENGTHS]
    best = max(fitted, key=lambda one: one.score(x[split.validation], labels[split.validation]))
    return 100 * float(best.score(x[split.test], labels[split.test]))


def main() -> None:
    """Measure what the command line names; store and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--packages", type=int, default=10**6)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--variants", nargs="*", default=["instant", "auto"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    graph = packages_graph(given.packages)
    words = sparse.hstack([graph.features, graph.adjacency])
    found: dict[str, dict[str, list[float]]] = {}

    def record(name: str, accuracy: float, started: float) -> None:
        one = found.setdefault(name, {"accuracy": [], "seconds": []})
        one["accuracy"].append(round(accuracy, 4))
        one["seconds"].append(round(time.perf_counter() - started, 1))
        print(f"{name}: {accuracy:.2f} %, {one['seconds'][-1]} s", flush=True)

    for draw in range(given.draws):
        split = random_split(graph.labels, (0.7, 0.1, 0.2), seed=draw)
        for name, x in (("linear SVC", graph.features), ("linear SVC, dependencies as words", words)):
            started = time.perf_counter()
            record(name, linear_svc(x, graph.labels, split), started)
        for variant in given.variants:
            started = time.perf_counter()
            model = kn.NodeKernelClassifier(variant, random_state=draw, device=given.device)
            model.fit(graph=graph, split=split)
            truth = np.array(graph.class_names)[graph.labels[split.test]]
            accuracy = 100 * float((model.predict(kn.positions(split.test)) == truth).mean())
            record(variant, accuracy, started)
    values = {
        "packages": graph.n_nodes,
        "edges": graph.adjacency.nnz // 2,
        "classes": graph.n_classes,
        "methods": found,
        "machine": machine(given.device),
    }
    path = given.results / "debian" / f"{graph.n_nodes}.json"
    write_whole(path, (json.dumps(values, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
