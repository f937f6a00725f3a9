"""Tables in memory to classes: dictionaries of columns, text, gaps, a class for about a tenth of the nodes.

    python examples/own_tables.py

Cora as it might lie in a database: a table of papers (id, words, number of words, topic) and one of
citations. About a tenth of the papers keep their topic. They choose method and number of epochs by
cross-validation, and then all of them train. The topics of the other papers are the answers that predictions
are compared with at the end, once. Data frames of pandas work as the dictionaries here do.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import kernode as kn

LABELLED = 0.1
NO_TEXT = 0.02  # of the papers lose their words, as happens


def tables() -> tuple[dict[str, list], dict[str, list], np.ndarray]:
    """Citations, papers, and every paper's topic."""
    cora, _ = kn.load("cora")
    random = np.random.Generator(np.random.PCG64(0))
    ids = [f"paper-{node:05}" for node in range(cora.n_nodes)]
    topics = np.array(cora.class_names)[cora.labels]
    known, lost = (random.random(cora.n_nodes) < share for share in (LABELLED, NO_TEXT))
    words = [cora.features[[node]].indices for node in range(cora.n_nodes)]
    papers = {
        "id": ids,
        "words": [None if lost[i] else " ".join(f"w{w:04}" for w in row) for i, row in enumerate(words)],
        "n_words": [None if lost[i] else len(row) for i, row in enumerate(words)],
        "topic": [topic if known[i] else None for i, topic in enumerate(topics)],
    }
    pairs = sparse.tril(cora.adjacency).tocoo()
    citations = {"citing": [ids[i] for i in pairs.row], "cited": [ids[i] for i in pairs.col]}
    return citations, papers, topics


def main() -> None:
    """Read, learn, predict, compare."""
    citations, papers, topics = tables()
    graph = kn.read_table(citations, papers, label="topic")
    print(graph)
    print(*(f"  {note}" for note in graph.notes), sep="\n")

    known = graph.labels >= 0
    names, y = graph.node_names[known], np.array(graph.class_names)[graph.labels[known]]
    # One of six methods, in seconds. Without a variant a sum of kernels is learned, which takes longer.
    model = kn.NodeKernelClassifier("fast", random_state=0).fit(names, y, graph=graph)
    found = model.model_.chosen_by_validation
    tried = ", ".join(f"{name} {accuracy:.1f} %" for name, accuracy in found.items())
    print(f"{len(names)} papers have a topic; folds of them, each held out once, chose: {tried}")
    print(f"  kept: {model.model_.variant}, trained again on all {model.model_.train.shape[1]}")

    others = graph.node_names[~known]
    probabilities = model.predict_proba(others)
    right = model.classes_[probabilities.argmax(axis=1)] == topics[~known]
    sure = probabilities.max(axis=1) > np.median(probabilities.max(axis=1))
    print(f"the other {len(others):,} papers: {100 * right.mean():.1f} % right")
    print(f"  the surer half {100 * right[sure].mean():.1f} %, the other {100 * right[~sure].mean():.1f} %")

    blank = np.array([text is None for text in papers["words"]])[~known]
    print(f"  those without words ({blank.sum()}) {100 * right[blank].mean():.1f} %")


if __name__ == "__main__":
    main()
