"""Draw what learning does to a kernel: Cora's test nodes, ordered by class, before and after.

    pip install 'kernode[plots]' && python examples/gram_picture.py

writes gram.png. Before: similarity of the words alone. After: K̄ of a trained K3, the mean of ten runs. The
training never saw these nodes' classes.
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import kernode as kn


def main(path: str) -> None:
    """Train, order, draw."""
    graph, split = kn.load("cora", split="fastgcn")
    labels = graph.labels[split.test]
    nodes = split.test[np.argsort(labels, kind="stable")]
    classes = graph.labels[split.train]
    words = kn.NodeKernelClassifier(map=kn.maps.Smoother(hops=0), loss={"objective": "kernel"})
    trained = kn.NodeKernelClassifier("k3", replicas=10)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
    counts = np.bincount(labels)
    names = [name.replace("_", " ") for name in graph.class_names]
    titles = ("before: words alone", "after: K3, mean of 10 runs")
    for axis, model, title in zip(axes, (words, trained), titles, strict=True):
        model.fit(split.train, classes, graph=graph, validation=split.validation)
        shown = axis.imshow(model.kernel_.gram(nodes), cmap="magma", vmin=-0.5, vmax=1)  # one scale for both
        axis.set_yticks(np.cumsum(counts) - counts / 2, names if axis is axes[0] else [""] * len(names))
        axis.set_xticks([])
        axis.tick_params(length=0, labelsize=8)
        axis.set_title(title, fontsize=10)
    figure.colorbar(shown, ax=axes, shrink=0.9, label="similarity K̄(u, v)")
    figure.suptitle("Cora's 1,000 test nodes, ordered by class", fontsize=11)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gram.png")
