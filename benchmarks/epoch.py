"""Time one K3 epoch of 10 replicas, evaluation included, against training steps of PyG's GCN.

Both run interleaved in one process with the same number of threads; medians are compared, and the ratio
is what counts, since machines differ. `make bench` installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional
from torch_geometric.nn import GCNConv

import kernode as kn
from kernode.graph import Graph
from kernode.lesson import Lesson
from kernode.sparse import Place
from kernode.training import Stack
from kernode.variants import configure


class GCN(nn.Module):
    """Kipf & Welling's two layers, with PyG's own normalisation cached."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(features, 16, cached=True)
        self.second = GCNConv(16, classes, cached=True)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        hidden = functional.dropout(torch.relu(self.first(x, edges)), training=self.training)
        return self.second(hidden, edges)


def gcn_step(graph: Graph, train: np.ndarray) -> Callable[[], object]:
    """One training step of PyG's GCN on dense row-normalised features."""
    x = graph.features.toarray() if sparse.issparse(graph.features) else np.asarray(graph.features)
    x = torch.tensor(x / np.maximum(x.sum(axis=1, keepdims=True), 1e-12), dtype=torch.float32)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    labels, nodes = torch.tensor(graph.labels), torch.tensor(train)
    model = GCN(graph.n_features, graph.n_classes)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step() -> None:
        adam.zero_grad()
        functional.cross_entropy(model(x, edges)[nodes], labels[nodes]).backward()
        adam.step()

    return step


def kernode_epoch(graph: Graph, split: kn.Split, variant: str, replicas: int) -> Callable[[], object]:
    """One epoch of a stack: a training step and the evaluation of every replica."""
    method, training = configure(variant, graph.name)
    method = method.for_classes(graph.n_classes)
    nodes = split.train[None], split.validation[None]
    lesson = Lesson(nodes[0], graph.labels[nodes[0]], nodes[1], graph.labels[nodes[1]], graph.n_classes)
    place = Place.of(32)
    prepared = method.map.prepare(graph, place)
    stack = Stack(prepared, method, training, lesson, list(range(replicas)), place)
    epoch = 0

    def one() -> None:
        nonlocal epoch
        epoch += 1
        stack.advance(epoch)

    return one


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="cora")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--replicas", type=int, default=10)
    options = parser.parse_args()
    graph, split = kn.load(options.data)
    systems = {
        "pyg-gcn step": gcn_step(graph, split.train),
        "k3 epoch": kernode_epoch(graph, split, "k3", 1),
        "n1 epoch": kernode_epoch(graph, split, "n1", 1),
        f"k3x{options.replicas} epoch": kernode_epoch(graph, split, "k3", options.replicas),
        f"n1x{options.replicas} epoch": kernode_epoch(graph, split, "n1", options.replicas),
    }
    times: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(options.rounds + 5):
        for name, once in systems.items():
            started = time.perf_counter()
            once()
            if turn >= 5:  # the first rounds warm up
                times[name].append(1000 * (time.perf_counter() - started))
    gcn = float(np.median(times["pyg-gcn step"]))
    print(f"{options.data}, {torch.get_num_threads()} threads, median of {options.rounds} interleaved rounds")
    for name, values in times.items():
        print(f"  {name:<16} {np.median(values):8.2f} ms   {np.median(values) / gcn:6.2f} GCN steps")


if __name__ == "__main__":
    main()
