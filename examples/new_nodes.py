"""Nodes that arrive one by one: exact answers, few vectors computed, nothing trained again.

    python examples/new_nodes.py

200 of Cora's papers are kept out. A model learns on the rest; then the 200 come in, one at a time, each with
its words and its citations of papers that are there. The last lines compare the answers with those computed
anew on the whole graph, and score the new papers once.
"""

from __future__ import annotations

import time

import numpy as np

import kernode as kn

ARRIVING = 200


def main() -> None:
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
            recomputed.append(len(grown.recomputed_))
        took = time.perf_counter() - started
        print(f"{variant}: {ARRIVING} papers arrived, {1000 * took / ARRIVING:.0f} ms each")
        print(f"  vectors computed for each: {np.median(recomputed):.0f} of {n:,} (median)")

        arrived = np.arange(n, len(order))
        anew = model.predict_proba(arrived, graph=grown.graph_)
        apart = abs(grown.predict_proba(arrived) - anew).max()
        print(f"  largest difference to all computed anew: {apart:.0e}")
        print(f"  new papers classified right: {100 * grown.score(arrived, labels[arrived]):.1f} %")


if __name__ == "__main__":
    main()
