"""Nodes that arrive later: exact answers, nothing trained again, in Python and on the command line.

    python examples/new_nodes.py

100 of Cora's papers are kept out. A model learns on the rest; then the 100 come in, one at a time, each with
its words and its citations of papers that are there. How many vectors are computed for each depends on how
far a map reaches: the neighbourhood of a new paper for one, the whole graph for the other. The answers are
compared with those computed anew on the whole graph, and the new papers are scored once.

Then the same at a prompt, with tables: a model that is saved with its graph, and new rows for it.
"""

from __future__ import annotations

import csv
import io
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from cora_as_tables import main as write_tables

import kernode as kn

ARRIVING = 100


def in_python() -> None:
    """Learn, grow, compare."""
    cora, split = kn.load("cora", split="fastgcn")
    random = np.random.Generator(np.random.PCG64(0))
    new = np.sort(random.permutation(split.test)[:ARRIVING])
    old = np.setdiff1d(np.arange(cora.n_nodes), new)
    order = np.concatenate([old, new])  # the old ones first, then those that arrive
    adjacency, features, labels = cora.adjacency[order][:, order], cora.features[order], cora.labels[order]

    n = len(old)
    graph = kn.from_scipy(adjacency[:n, :n], features[:n], labels[:n])
    train, validation = (np.searchsorted(old, nodes) for nodes in (split.train, split.validation))
    for variant in ("k3-tuned", "diffusion"):
        model = kn.NodeKernelClassifier(variant, random_state=0, epochs=100)
        model.fit(train, labels[train], graph=graph, validation=validation)
        grown, recomputed, started = model, [], time.perf_counter()
        for node in range(n, len(order)):
            neighbours = adjacency[[node]].indices
            edges = [(node, other) for other in neighbours if other < node]
            grown = grown.extend(None, features[[node]], edges)
            recomputed.append(len(grown.recomputed_) / grown.graph_.n_nodes)
        took = time.perf_counter() - started
        print(f"{variant}: {ARRIVING} papers arrived one by one, {1000 * took / ARRIVING:.0f} ms each")
        print(f"  vectors computed for each: {100 * np.median(recomputed):.0f} % of the graph's (median)")

        arrived = np.arange(n, len(order))
        anew = model.predict_proba(arrived, graph=grown.graph_)
        apart = abs(grown.predict_proba(arrived) - anew).max()
        print(f"  largest difference to all computed anew: {apart:.0e}")
        print(f"  new papers classified right: {100 * grown.score(arrived, labels[arrived]):.1f} %")


def at_a_prompt(folder: Path) -> None:
    """The same with files; and Python gives the same answers from them."""
    with redirect_stdout(io.StringIO()):
        write_tables(folder)
    method = "--variant k3-tuned --epochs 50 --replicas 1 --set run.device=cpu"
    kernode(
        folder, f"fit citations.csv --nodes papers.csv --label topic {method} --with-graph -o topics.st -q"
    )
    new = "--new-nodes new-papers.csv --new-edges new-citations.csv"
    kernode(folder, f"predict topics.st {new} -o new.csv --set run.device=cpu")
    with (folder / "new.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = [row["node"] for row in rows]
    written = [[float(value) for name, value in row.items() if name.startswith("p_")] for row in rows]
    model = kn.load_model(folder / "topics.st")
    grown = model.extend(None, folder / "new-papers.csv", folder / "new-citations.csv")
    same = grown.predict_proba(names).tolist() == written
    print(f"what the command wrote is what Python answers, to the last digit: {'yes' if same else 'no'}")


def kernode(folder: Path, line: str) -> None:
    """Type a command, and show it with the last line of what it says."""
    words = [sys.executable, "-m", "kernode", *shlex.split(line)]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    print(f"$ kernode {line}", *done.stdout.splitlines()[-1:], sep="\n")


if __name__ == "__main__":
    in_python()
    with tempfile.TemporaryDirectory() as temporary:
        at_a_prompt(Path(temporary))
