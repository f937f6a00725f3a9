"""The default classifier, with nothing set: test figures, weights of the members, time.

    python benchmarks/default.py minesweeper.npz tolokers.npz squirrel_filtered.npz [--device auto]
    python benchmarks/default.py cora citeseer --random 10 [--variant instant] [--sizes 5-per-class]
    python benchmarks/default.py amazon_photo.npz --split fixed.npz [--replicas 10] [--results results]

The first graphs are those of Platonov et al. (ICLR 2023), whose files hold ten splits: members are trained
once for each of them, and each split has weights of its own. `--random` does the same on random splits, those
of `kernode compare`. `--split` trains replicas on one split, of a file or by name ("fastgcn"), as `kernode
fit` does. The figure is the accuracy, and with two classes the area under the ROC curve. Test nodes are
scored once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

import kernode as kn
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.io import Split, split_nodes
from kernode.search.baselines import compared_method
from kernode.search.compare import Trials, candidates_of, fit_choice, pick_candidates
from kernode.storage import write_whole
from kernode.tasks.classes.evaluation import retrieval_of_run
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.variants import CHOICES

SIZES = "0.6/0.2/0.2"


def read_official(path: str | Path) -> tuple[kn.Graph, list[Split]]:
    """A graph of Platonov et al. with its splits."""
    with np.load(path) as file:
        edges, x, labels = file["edges"], file["node_features"].astype(np.float32), file["node_labels"]
        masks = zip(file["train_masks"], file["val_masks"], file["test_masks"], strict=True)
        splits = [Split(*(np.flatnonzero(one) for one in roles)) for roles in masks]
    n = len(labels)
    adjacency = sparse.coo_matrix((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), (n, n))
    adjacency = ((adjacency + adjacency.T) > 0).astype(np.float32).tocsr()
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    names = [str(one) for one in range(int(labels.max()) + 1)]
    return kn.Graph(adjacency, x, labels, class_names=names, name=Path(path).stem), splits


def figure(on: NodeModelOnGraph, nodes: np.ndarray, replica: int = 0) -> float:
    """Test accuracy of a replica in percent, or AUC with two classes."""
    found, truth = on.probabilities(nodes[None])[replica], on.classes.known[nodes]
    if found.shape[-1] == 2:
        return 100 * float(roc_auc_score(truth, found[:, 1]))
    return 100 * float((found.argmax(axis=-1) == truth).mean())


def weights(on: NodeModelOnGraph) -> dict[str, list[float]]:
    """Weight of each member, and what it had alone on the validation nodes."""
    return {one.name: [round(one.weight, 4), one.validation] for one in on.model.method.members}


def on_splits(
    graph: kn.Graph, splits: Sequence[Split], variant: str = "auto", device: str = "auto"
) -> dict[str, Any]:
    """Figures on several splits, each with a sum of its own."""
    started, options = time.perf_counter(), TensorOptions.of(32, device)
    method = compared_method(variant)
    trials = Trials(graph, candidates_of(method, graph), list(splits), options, name=graph.name)
    found = (fit_choice(trials, variant) if variant in CHOICES else pick_candidates(trials, None)).trials
    figures = [round(figure(one.on, split.test), 4) for one, split in zip(found, splits, strict=True)]
    return {
        "dataset": graph.name,
        "variant": variant,
        "figure": "roc_auc" if graph.n_classes == 2 else "accuracy",
        "test": figures,
        "mean": round(float(np.mean(figures)), 4),
        "std": round(float(np.std(figures, ddof=1)), 4) if len(figures) > 1 else None,
        "map": [
            round((retrieval_of_run(one.on, 0, split.test) or [0.0])[0], 4)
            for one, split in zip(found, splits, strict=True)
        ],
        "members": [weights(one.on) for one in found] if variant == "auto" else [],
        "seconds": round(time.perf_counter() - started, 1),
        "machine": machine(options.device.type),
    }


def fixed(
    graph: kn.Graph, split: Split, replicas: int, variant: str = "auto", device: str = "auto"
) -> dict[str, Any]:
    """Figures of replicas on one split, with one sum for all of them."""
    started = time.perf_counter()
    model = kn.NodeKernelClassifier(variant, replicas=replicas, device=device)
    on = model.fit(graph=graph, split=[split] * replicas)._on()
    figures = [round(figure(on, split.test, i), 4) for i in range(replicas)]
    together = on.probabilities(split.test[None]).mean(axis=0).argmax(axis=-1)
    return {
        "dataset": graph.name,
        "variant": variant,
        "figure": "accuracy",
        "test": figures,
        "mean": round(float(np.mean(figures)), 4),
        "std": round(float(np.std(figures, ddof=1)), 4) if replicas > 1 else None,
        "together": round(100 * float((together == on.classes.known[split.test]).mean()), 4),
        "members": [weights(on)] if variant == "auto" else [],
        "seconds": round(time.perf_counter() - started, 1),
        "machine": machine(on.options.device.type),
    }


def main() -> None:
    """Measure what the command line names; store and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+", help=".npz files, or names of built-in data sets")
    parser.add_argument("--split", help="one split for replicas: a file, or fastgcn")
    parser.add_argument("--random", type=int, help="so many random splits")
    parser.add_argument("--sizes", default=SIZES, help="of random splits")
    parser.add_argument("--replicas", type=int, default=10)
    parser.add_argument("--variant", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    for name in given.graphs:
        if given.split:
            kind, (graph, split) = Path(given.split).stem, kn.load(name, given.split)
            found = fixed(graph, split, given.replicas, given.variant, given.device)
        elif given.random:
            kind, (graph, _) = "random" if given.sizes == SIZES else given.sizes, kn.load(name)
            splits = split_nodes(graph, given.sizes, range(given.random))
            found = on_splits(graph, splits, given.variant, given.device)
        else:
            kind, (graph, splits) = "official", read_official(name)
            found = on_splits(graph, splits, given.variant, given.device)
        path = given.results / "default" / f"{graph.name}-{kind}-{given.variant}.json"
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
        write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        print(f"{path.stem}: {found['mean']} ± {found['std']} %, {found['seconds']} s")


if __name__ == "__main__":
    main()
