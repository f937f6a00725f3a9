"""Unseen classes: retrieval of their nodes, and accuracy after five examples.

    python benchmarks/unseen_classes.py cora citeseer [--runs 1] [--development] [--results results]

Every pair of classes is left out once: no node of either trains or validates (FastGCN's split otherwise).
Then each kernel ranks the test nodes for every test node of the pair (mean average precision by K̄), and
five training nodes of each left-out class are given to `add_labels`: the share of the pair's test nodes that
are answered rightly, among all classes. With --development the training and validation nodes are dealt anew,
and no test node has a part: that is how settings are chosen.
"""

from __future__ import annotations

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kernode as kn
from kernode.compute.machine import machine
from kernode.graph import Graph, positions
from kernode.io import Split, load_graph, split_nodes
from kernode.maps import DiffusedComponents, Smoother
from kernode.metrics.ranking import retrieval
from kernode.storage import write_whole

SHOTS = 5
SYSTEMS: dict[str, dict[str, Any]] = {
    "words smoothed over two hops": {"variant": "smoother", "map": Smoother(2)},
    "diffused components": {"variant": "smoother", "map": DiffusedComponents()},
    "K1": {"variant": "k1"},
    "similarity-diffusion": {"variant": "similarity-diffusion"},
    "similarity-open": {"variant": "similarity-open"},
}


def main() -> None:
    """Leave out every pair on every graph, and store each graph as it ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--runs", type=int, default=1, help="replicas; their mean kernel answers")
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    for name in given.graphs:
        graph = load_graph(name)
        (split,) = split_nodes(graph, "fastgcn", [0])
        if given.development:
            split = dealt_anew(graph, split)
        found = {title: measure(graph, split, SYSTEMS[title], given.runs, title) for title in given.systems}
        if given.results:
            record = {
                "dataset": graph.name, "shots": SHOTS, "runs": given.runs, "systems": found,
                "machine": machine("cpu"),
            }  # fmt: skip
            path = given.results / "unseen-classes" / f"{graph.name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def dealt_anew(graph: Graph, split: Split) -> Split:
    """A split of the training and validation nodes: 60 %, 15 % and 25 %."""
    nodes = np.concatenate([split.train, split.validation])
    nodes = np.random.Generator(np.random.PCG64(1)).permutation(nodes[graph.labels[nodes] >= 0])
    first, second = int(0.6 * len(nodes)), int(0.75 * len(nodes))
    return Split(nodes[:first], nodes[first:second], nodes[second:])


def measure(graph: Graph, split: Split, system: dict[str, Any], runs: int, title: str) -> dict[str, Any]:
    """mAP and five-shot accuracy of every pair."""
    pairs = []
    for pair in combinations(range(graph.n_classes), 2):
        pairs.append(of_pair(graph, split, system, runs, pair))
        print(f"{graph.name}, {title}: {len(pairs)} pairs", end="\r", flush=True)
    means = {key: round(float(np.mean([one[key] for one in pairs])), 4) for key in ("map", "accuracy")}
    print(f"{graph.name}, {title}: mAP {means['map']:.2f}, five-shot {means['accuracy']:.2f}", flush=True)
    return means | {"pairs": pairs}


def of_pair(
    graph: Graph, split: Split, system: dict[str, Any], runs: int, pair: tuple[int, int]
) -> dict[str, Any]:
    """One pair of classes left out."""
    labels = graph.labels
    known = {
        name: nodes[~np.isin(labels[nodes], pair) & (labels[nodes] >= 0)]
        for name, nodes in (("train", split.train), ("validation", split.validation))
    }
    model = kn.NodeKernelClassifier(**system, replicas=runs, random_state=0, device="cpu")
    train, validation = positions(known["train"]), positions(known["validation"])
    chooses = {} if system["variant"] == "smoother" else {"validation": validation}
    model.fit(train, labels[known["train"]], graph=graph, **chooses)
    test = split.test[labels[split.test] >= 0]
    similarity = torch.from_numpy(model.kernel_.directions.gram(positions(test)))[None]
    # Nodes outside the pair keep their class: they can be retrieved, but are no queries.
    alone = np.where(np.isin(labels[test], pair), labels[test], graph.n_classes + np.arange(len(test)))
    found, _ = retrieval(similarity, torch.from_numpy(alone))
    draw = np.random.Generator(np.random.PCG64(pair))
    shots = np.concatenate([draw.permutation(split.train[labels[split.train] == c])[:SHOTS] for c in pair])
    extended = model.add_labels(positions(shots), labels[shots])
    queries = test[np.isin(labels[test], pair)]
    right = extended.predict(positions(queries)) == labels[queries]
    return {"classes": list(pair), "map": round(float(found), 4), "accuracy": round(100 * right.mean(), 4)}


if __name__ == "__main__":
    main()
