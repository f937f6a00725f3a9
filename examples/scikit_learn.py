"""scikit-learn's own tools on a graph: cross_val_score, GridSearchCV, a Pipeline, and links as pairs.

    python examples/scikit_learn.py

X is a list of nodes, the graph a keyword of ``fit``. Everything about nodes is chosen on Cora's training
nodes; the search's choice and the pipeline score the test nodes once each. Links have folds only.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

import kernode as kn
from kernode.io.edge_split import split_edges


def main() -> None:
    """Nodes, then links."""
    graph, split = kn.load("cora", split="fastgcn")
    nodes, y = split.train, graph.labels[split.train]
    test, truth = split.test, graph.labels[split.test]

    model = kn.NodeKernelClassifier("k3", epochs=40, learning_rate=0.05, loss={"triplets": 1000})
    folds = 100 * cross_val_score(model, nodes, y, params={"graph": graph}, cv=3)
    print(f"cross_val_score, three folds {folds.mean():.1f} ± {folds.std(ddof=1):.1f} %")

    grid = {"hops": [1, 2], "kernel": [kn.kernels.Normalized(kn.kernels.Linear()), kn.kernels.RBF()]}
    search = GridSearchCV(model, grid, cv=3).fit(nodes, y, graph=graph)
    print(f"GridSearchCV chose           {search.best_params_}")
    print(f"  test nodes                 {100 * search.score(test, truth):.1f} %")

    pipeline = Pipeline([("embed", kn.NodeKernelTransformer("k1")), ("classify", LogisticRegression())])
    pipeline.fit(nodes, y, embed__graph=graph)
    print(f"vectors into a Pipeline      {100 * pipeline.score(test, truth):.1f} %")

    # Links: pairs and whether they are linked; here half of Cora's edges, and as many pairs that are none.
    # The other half is never seen, and the pairs that a fold is scored on are not seen in training.
    edges = split_edges(graph, seed=0, validation=0.05, test=0.5)
    pairs = np.concatenate([edges.test, edges.test_negatives])
    linked = np.repeat([1, 0], len(edges.test))
    links = kn.LinkPredictor("fast", epochs=30)
    auc = 100 * cross_val_score(links, pairs, linked, params={"graph": graph}, cv=3, scoring="roc_auc")
    spread = f"{auc.mean():.1f} ± {auc.std(ddof=1):.1f} %"
    print(f"links, AUC of three folds    {spread}, each trained on a third of the edges")


if __name__ == "__main__":
    main()
