"""Cost of "fast" and of a tuned GCN, on a graph from a file and on a generated one.

    python benchmarks/cost_beside_gcn.py [graph.npz --split split.npz] [--device auto] [--repeat 3]
                                         [--timed-epochs 0] [--results results]

The GCN is that of "Classic GNNs are strong baselines" (Luo et al., NeurIPS 2024) from PyTorch Geometric's
layers: three convolutions of width 512, each with a linear residual, LayerNorm, relu and dropout, then a
linear head; 1,000 epochs of Adam, an evaluation after each, features dense as in PyG's examples. It is
trained once, with one setting. Ours is `NodeKernelClassifier("fast", random_state=0)` with nothing else set,
one run, its choice among all candidates included; and the time of training the chosen candidate alone.

The second graph is made here: 14,000 nodes with 36 neighbours on average, ten classes and 700 words, of
which a node has a third: the size of Amazon Computers. Both systems take turns in one process, and medians
are kept.
`--timed-epochs E` times E epochs of the GCN and multiplies: on a CPU 1,000 can take an hour.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

import kernode as kn
from experiments.bench.pyg import edge_index, layers_of_pyg
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.io import Split, load_graph, random_split, read_split
from kernode.storage import write_whole

EPOCHS, HIDDEN, LAYERS = 1000, 512, 3
MADE = "synthetic:nodes=14000,degree=36,classes=10,features=700"
RARE = 0.4  # what a synthetic feature must exceed to be a word that a node has: a third of them do
MOST = 3.0  # times the training of the winner alone: what a choice may cost


class GCN(nn.Module):
    """Three convolutions with residuals and LayerNorm, then a linear head."""

    def __init__(self, features: int, classes: int, dropout: float) -> None:
        super().__init__()
        convolution, self.dropout = layers_of_pyg().GCNConv, dropout
        widths = [features, *[HIDDEN] * (LAYERS - 1)]
        self.convolutions = nn.ModuleList(convolution(width, HIDDEN, cached=True) for width in widths)
        self.residuals = nn.ModuleList(nn.Linear(width, HIDDEN) for width in widths)
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in widths)
        self.head = nn.Linear(HIDDEN, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores of all nodes."""
        for convolution, residual, norm in zip(self.convolutions, self.residuals, self.norms, strict=True):
            x = functional.relu(norm(convolution(x, edges) + residual(x)))
            x = functional.dropout(x, self.dropout, self.training)
        out: Tensor = self.head(x)
        return out


class Rival:
    """The GCN in training on a graph."""

    def __init__(self, graph: kn.Graph, split: Split, device: str, dropout: float) -> None:
        torch.manual_seed(0)
        x: Any = graph.features
        x = x.toarray() if sparse.issparse(x) else x
        self.x = torch.tensor(x, dtype=torch.float32, device=device)
        self.edges = edge_index(graph, TensorOptions.of(32, device))
        self.labels = torch.tensor(graph.labels, device=device)
        self.train, self.validation, self.test = (
            torch.tensor(nodes, device=device) for nodes in (split.train, split.validation, split.test)
        )
        self.model = GCN(self.x.shape[1], graph.n_classes, dropout).to(device)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001, weight_decay=5e-5)

    def epoch(self) -> tuple[float, float]:
        """Learn, then evaluate: accuracy on validation and test nodes in percent."""
        self.model.train()
        self.adam.zero_grad()
        scores = self.model(self.x, self.edges)[self.train]
        functional.cross_entropy(scores, self.labels[self.train]).backward()
        self.adam.step()
        self.model.eval()
        with torch.no_grad():
            right = (self.model(self.x, self.edges).argmax(dim=1) == self.labels).float()
        return tuple(100 * float(right[nodes].mean()) for nodes in (self.validation, self.test))  # type: ignore[return-value]


@dataclass
class Row:
    """Of one graph: seconds of every turn, and what came out at its last."""

    dataset: str
    nodes: int
    edges: int
    ours: list[float]
    winner_alone: list[float]
    gcn: list[float]
    chosen: str = ""
    accuracy: float = 0.0
    gcn_accuracy: float | None = None  # none where it did not train for all of its epochs
    timed_epochs: int = EPOCHS

    def medians(self) -> dict[str, float]:
        """Seconds, how many times faster ours is, and how many trainings of the winner the choice costs."""
        ours, alone, gcn = (statistics.median(times) for times in (self.ours, self.winner_alone, self.gcn))
        return {
            "ours": round(ours, 3),
            "winner_alone": round(alone, 3),
            "gcn": round(gcn, 3),
            "gcn_to_ours": round(gcn / ours, 3),
            "ours_to_winner_alone": round(ours / alone, 3),
        }


def fit_ours(graph: kn.Graph, split: Split, device: str, variant: str = "fast") -> tuple[float, Any]:
    """Seconds of a fit of "fast", or with one variant named, and the classifier."""
    started = time.perf_counter()
    model = kn.NodeKernelClassifier(variant, random_state=0, device=device)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    return time.perf_counter() - started, model


def train_gcn(graph: kn.Graph, split: Split, device: str, dropout: float, epochs: int) -> tuple[float, float]:
    """Seconds of all epochs, and the test accuracy at the best one on validation nodes.

    Where fewer are timed, the first is not: caches fill in it.
    """
    started = time.perf_counter()
    rival = Rival(graph, split, device, dropout)
    first = rival.epoch()
    _wait(device)
    begun = time.perf_counter()
    reached = [first, *(rival.epoch() for _ in range(epochs - 1 if epochs == EPOCHS else epochs))]
    _wait(device)
    took = time.perf_counter() - begun
    # The first of the best epochs: of equals the one that early stopping would keep.
    best = max(reached, key=lambda accuracies: accuracies[0])[1]
    if epochs == EPOCHS:
        return time.perf_counter() - started, best
    return begun - started + (EPOCHS - 1) / epochs * took, best


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def words_graph() -> tuple[kn.Graph, Split]:
    """A graph with words as features, 60 % of whose nodes train."""
    made = load_graph(MADE)
    words = sparse.csr_array((made.features > RARE).astype(np.float32))
    graph = kn.Graph(made.adjacency, words, made.labels, name="synthetic, 14,000 nodes of degree 36")
    return graph, random_split(graph.labels, (0.6, 0.2, 0.2), 0)


def measure(graph: kn.Graph, split: Split, given: argparse.Namespace) -> Row:
    """Turns of all three."""
    row = Row(graph.name, graph.n_nodes, graph.adjacency.nnz // 2, [], [], [])
    row.timed_epochs = given.timed_epochs or EPOCHS
    for _ in range(given.repeat):  # in turn, so that a busy moment meets all of them
        seconds, model = fit_ours(graph, split, given.device)
        row.ours.append(round(seconds, 3))
        row.chosen = model.model_.variant
        row.accuracy = round(100 * model.score(split.test, graph.labels[split.test]), 4)
        row.winner_alone.append(round(fit_ours(graph, split, given.device, row.chosen)[0], 3))
        if len(row.gcn) < (given.gcn_repeat or given.repeat):
            seconds, accuracy = train_gcn(graph, split, given.device, given.dropout, row.timed_epochs)
            row.gcn.append(round(seconds, 3))
            row.gcn_accuracy = round(accuracy, 4) if row.timed_epochs == EPOCHS else None
    return row


def printed(rows: list[Row]) -> str:
    """A table for people."""
    lines = ["graph | default, s | chosen, test % | winner alone, s | times | GCN, s | GCN to default"]
    for row in rows:
        found = row.medians()
        beyond = " (more than three)" if found["ours_to_winner_alone"] > MOST else ""
        timed = "" if row.timed_epochs == EPOCHS else f" ({row.timed_epochs} epochs timed)"
        lines.append(
            f"{row.dataset} | {found['ours']:.1f} | {row.chosen}, {row.accuracy:.2f} | "
            f"{found['winner_alone']:.1f} | {found['ours_to_winner_alone']:.2f}{beyond} | "
            f"{found['gcn']:.1f}{timed} | {found['gcn_to_ours']:.1f}"
        )
    return "\n".join(lines)


def save(rows: list[Row], given: argparse.Namespace) -> None:
    """What was measured, and on what."""
    values = {
        "suite": "cost-beside-gcn",
        "device": given.device,
        "repeat": given.repeat,
        "gcn": {"layers": LAYERS, "hidden": HIDDEN, "epochs": EPOCHS, "dropout": given.dropout},
        "machine": machine(given.device),
        "rows": [asdict(row) | {"medians": row.medians()} for row in rows],
    }
    text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
    write_whole(given.results / f"cost-beside-gcn-{given.device}.json", text.encode())


def warm_up(device: str) -> None:
    """Import and compile what is imported and compiled once, outside of what is timed."""
    graph, split = kn.load("cora", "0.6/0.2/0.2")
    # By another name, so that nothing found for it by a search is used: all candidates are compiled.
    graph = kn.Graph(graph.adjacency, graph.features, graph.labels, name="warm-up")
    fit_ours(graph, split, device)
    train_gcn(graph, split, device, 0.5, epochs=2)


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graph", nargs="?", help="an .npz file, in addition to the generated graph")
    parser.add_argument("--split", help="its split; 60/20/20 at random otherwise")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dropout", type=float, default=0.5, help="of the GCN: 0.5 to 0.7 as published")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--gcn-repeat", type=int, default=0, help="turns of the GCN, if fewer")
    parser.add_argument("--timed-epochs", type=int, default=0)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    if given.device == "auto":
        given.device = "cuda" if torch.cuda.is_available() else "cpu"
    warm_up(given.device)
    rows = []
    for path in filter(None, (given.graph, MADE)):
        if path == MADE:
            graph, split = words_graph()
        else:
            graph = load_graph(path)
            split = (
                read_split(given.split, graph)
                if given.split
                else random_split(graph.labels, (0.6, 0.2, 0.2), 0)
            )
        rows.append(measure(graph, split, given))
        if given.results:
            save(rows, given)
    print(printed(rows))


if __name__ == "__main__":
    main()
