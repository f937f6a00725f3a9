"""Which papers cite each other? LinkPredictor in scikit-learn's form, beside a plain count.

    python examples/links.py

A tenth of Cora's citations are kept out, with as many random pairs that are not linked. The predictor sees
the other citations, as many other pairs that are not linked, and all words; one citation in twenty of those
it sees chooses the epoch. AUC: how often a true pair is ranked above a false one.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

import kernode as kn


def main() -> None:
    """Split the pairs, learn from some, rank the others."""
    graph, _ = kn.load("cora")
    random = np.random.Generator(np.random.PCG64(0))
    linked = random.permutation(np.column_stack(sparse.triu(graph.adjacency).nonzero()))
    test = len(linked) // 10
    drawn = np.sort(random.integers(0, graph.n_nodes, (3 * len(linked), 2)), axis=1)
    strangers = random.permutation(np.unique(drawn, axis=0))  # each pair once: none is in both parts
    unlinked = strangers[(strangers[:, 0] != strangers[:, 1]) & (graph.adjacency[*strangers.T] == 0)]
    pairs = np.concatenate([linked[test:], unlinked[: len(linked) - test]])
    y = np.repeat([1, 0], len(linked) - test)
    held_out, truth = np.concatenate([linked[:test], unlinked[-test:]]), np.repeat([1, 0], test)

    # Cora's papers have integers for names, so positions must say that they are some.
    pairs, held_out = kn.positions(pairs), kn.positions(held_out)
    # Only the pairs with y = 1 are edges here, whatever others the graph has.
    links = kn.LinkPredictor(random_state=0, epochs=100).fit(pairs, y, graph=graph)
    print(f"{len(pairs):,} pairs to learn from, {len(held_out):,} to test")
    print(f"learned kernel         AUC {100 * roc_auc_score(truth, links.decision_function(held_out)):.1f} %")

    ends = np.concatenate([linked[test:], linked[test:, ::-1]])
    known = sparse.csr_array((np.ones(len(ends)), ends.T), shape=graph.adjacency.shape)
    common = np.array((known[held_out[:, 0]] * known[held_out[:, 1]]).sum(axis=1)).ravel()
    print(f"common neighbours      AUC {100 * roc_auc_score(truth, common):.1f} %")

    dropouts = {"training": [{"input_dropout": 0.0}, {"input_dropout": 0.4}]}
    search = GridSearchCV(kn.LinkPredictor(epochs=30), dropouts, cv=2, scoring="roc_auc")
    search.fit(pairs, y, graph=graph)
    print(f"GridSearchCV chose     {search.best_params_}, AUC of the folds {100 * search.best_score_:.1f} %")

    paper = graph.node_names[linked[0, 0]]  # one of its citations was kept out
    print(f"likeliest missing links of {paper}:")
    for other, probability in links.missing_links(paper, k=3):
        there = "kept out" if graph.adjacency[*graph.find([paper, str(other)])] else "not in Cora"
        print(f"  {other}  {probability:.2f}  {there}")


if __name__ == "__main__":
    main()
