"""The default classifier beside PyTorch Geometric's GCN on graphs from files: accuracy and time.

    python benchmarks/own_graphs.py graph.npz … [--seeds 5] [--device auto] [--results results]

For every graph, two tasks: 60/20/20, where validation nodes choose, and 10 % of the nodes labelled without
any validation node. Ours is `NodeKernelClassifier()` with nothing set, and with ten
runs together, as `kernode fit` trains them. The GCN has two layers, hidden 64,
dropout 0.5 on inputs and hidden units, 200 epochs of Adam (0.01, decay 5e-4), on X as it is and with rows
that sum to 1; with validation nodes its best epoch is taken, else the last. Both see the same splits; test
nodes are scored once. `--timed-epochs E` trains the GCN for E epochs only and multiplies its time: for
machines on which 200 would take too long. Then only the time of the GCN is kept, not its accuracy.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional

import kernode as kn
from kernode.compute.machine import machine
from kernode.data import Split, load_graph, random_split
from kernode.storage import write_whole
from kernode.studies.bench.rivals import layers_of_pyg

TASKS = {"60/20/20": (0.6, 0.2, 0.2), "10 %, no validation": (0.1, 0.0, 0.9)}
OURS = {"kernode": 1, "kernode, ten runs": 10}
SYSTEMS = (*OURS, "pyg-gcn", "pyg-gcn, rows scaled")
EPOCHS, HIDDEN, DROPOUT = 200, 64, 0.5


class GCN(nn.Module):
    """PyTorch Geometric's two layers."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        convolution = layers_of_pyg().GCNConv
        self.first = convolution(features, HIDDEN, cached=True)
        self.second = convolution(HIDDEN, classes, cached=True)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Class scores of all nodes."""
        x = functional.dropout(x, DROPOUT, self.training)
        x = functional.relu(self.first(x, edges))
        return self.second(functional.dropout(x, DROPOUT, self.training), edges)


def train_gcn(
    graph: kn.Graph, split: Split, seed: int, device: str, *, scaled: bool, epochs: int
) -> tuple[float, float]:
    """Test accuracy in percent, and seconds."""
    started = time.perf_counter()
    torch.manual_seed(seed)
    x: Any = graph.features
    x = torch.tensor((x.toarray() if sparse.issparse(x) else x).astype(np.float32), device=device)
    x = functional.normalize(x, p=1, dim=1) if scaled else x
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()), device=device).long()
    labels = torch.tensor(graph.labels, device=device)
    train, validation, test = (
        torch.tensor(part, device=device) for part in (split.train, split.validation, split.test)
    )
    model = GCN(graph.n_features, graph.n_classes).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept = -1.0, None
    for epoch in range(epochs):
        model.train()
        adam.zero_grad()
        functional.cross_entropy(model(x, edges)[train], labels[train]).backward()
        adam.step()
        if not len(validation) and epoch < epochs - 1:
            continue
        model.eval()
        with torch.no_grad():
            answers = model(x, edges).argmax(dim=1)
        reached = float((answers == labels)[validation].float().mean()) if len(validation) else float(epoch)
        if reached > best:
            best, kept = reached, answers
    assert kept is not None
    accuracy = 100 * float((kept == labels)[test].float().mean())
    return accuracy, time.perf_counter() - started


def train_ours(
    graph: kn.Graph, split: Split, seed: int, device: str, replicas: int = 1
) -> tuple[float, float, str]:
    """Test accuracy in percent, seconds, and which method validation chose."""
    started = time.perf_counter()
    model = kn.NodeKernelClassifier(random_state=seed, replicas=replicas, device=device)
    validation = split.validation if len(split.validation) else None
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=validation)
    accuracy = 100 * model.score(split.test, graph.labels[split.test])
    return accuracy, time.perf_counter() - started, model.model_.variant


def measure(path: str, wanted: list[str], seeds: int, device: str, timed_epochs: int) -> list[dict[str, Any]]:
    """Rows of one graph: a dictionary for every task and system."""
    graph = load_graph(path)
    epochs = timed_epochs or EPOCHS
    rows = []
    for task, sizes in TASKS.items():
        splits = [random_split(graph.labels, sizes, seed) for seed in range(seeds)]
        systems: dict[str, list[tuple[Any, ...]]] = {name: [] for name in wanted}
        for seed, split in enumerate(splits):  # in turn, so that a busy moment meets all of them
            for name, runs in systems.items():
                if name in OURS:
                    runs.append(train_ours(graph, split, seed, device, OURS[name]))
                else:
                    scaled = name == "pyg-gcn, rows scaled"
                    runs.append(train_gcn(graph, split, seed, device, scaled=scaled, epochs=epochs))
        for system, runs in systems.items():
            whole = system in OURS or not timed_epochs
            accuracies = [round(run[0], 4) for run in runs] if whole else []
            factor = 1 if whole else EPOCHS / timed_epochs
            row = {
                "dataset": graph.name,
                "task": task,
                "system": system,
                "accuracies": accuracies,
                "seconds": [round(factor * run[1], 3) for run in runs],
                "chosen": [run[2] for run in runs if len(run) > 2],
                "timed_epochs": EPOCHS if whole else timed_epochs,
            }
            rows.append(row)
            mean = f"{np.mean(accuracies):.2f}" if accuracies else "–"
            print(graph.name, task, system, mean, f"{np.median(row['seconds']):.1f} s", flush=True)
    return rows


def _warm_up(device: str) -> None:
    """Import and compile what is imported and compiled once, outside of what is timed."""
    graph, split = kn.load("cora", "0.6/0.2/0.2")
    train_ours(graph, split, 0, device)
    train_gcn(graph, split, 0, device, scaled=True, epochs=2)


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--timed-epochs", type=int, default=0)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    device = given.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows: list[dict[str, Any]] = []
    _warm_up(device)
    for path in given.graphs:
        rows += measure(path, given.systems, given.seeds, device, given.timed_epochs)
        if given.results:
            values = {"device": device, "machine": machine(device), "seeds": given.seeds, "rows": rows}
            text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
            write_whole(given.results / f"own-graphs-{device}.json", text.encode())


if __name__ == "__main__":
    main()
