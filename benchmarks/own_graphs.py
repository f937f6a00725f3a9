"""The classifier "fast" and baselines on graphs from files: accuracy and time.

    python benchmarks/own_graphs.py graph.npz … [--seeds 5] [--device auto] [--results results]

For every graph, two tasks: 60/20/20, where validation nodes choose, and 10 % of the nodes labelled without
any validation node. Ours is `NodeKernelClassifier("fast")` with nothing else set, and with ten
runs together, as `kernode fit` trains them. The rivals are PyTorch Geometric's:

- GCN: two layers, hidden 64, dropout 0.5 on inputs and hidden units, 200 epochs of Adam (decay 5e-4). Four
  settings: X as it is or with rows that sum to 1, learning rate 0.01 or 0.05.
- Label propagation: 50 steps, four shares that neighbours have in a step.

As with ours, validation nodes choose a rival's setting on every split, and the GCN's epoch. Where there are
none, three folds of the training nodes choose the setting, the same folds as ours, and the GCN trains for all
of its epochs. All see the same splits; test nodes are scored once. A rival's seconds are of one training with
the setting that was chosen; `seconds_of_choice` is the time of all that was trained. `--timed-epochs E`
trains the GCN with its first setting for E epochs only and multiplies its time: for machines on which 200
would take too long. Then only the time of the GCN is kept, not its accuracy.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from plain_gcn import EPOCHS, GCN
from scipy import sparse
from torch.nn import functional

import kernode as kn
from experiments.bench.pyg import layers_of_pyg
from kernode.compute.machine import machine
from kernode.io import Split, load_graph, random_split
from kernode.storage import write_whole
from kernode.tasks.classes.labels import in_folds
from kernode.tasks.classes.task import LabelledNodes

TASKS = {"60/20/20": (0.6, 0.2, 0.2), "10 %, no validation": (0.1, 0.0, 0.9)}
OURS = {"kernode": 1, "kernode, ten runs": 10}
HIDDEN = 64


class Data:
    """A graph's tensors, made once."""

    def __init__(self, graph: kn.Graph, device: str) -> None:
        x: Any = graph.features
        x = torch.tensor((x.toarray() if sparse.issparse(x) else x).astype(np.float32), device=device)
        self.x = {False: x, True: functional.normalize(x, p=1, dim=1)}  # by whether rows are scaled
        self.edges = torch.tensor(np.stack(graph.adjacency.nonzero()), device=device).long()
        self.labels = torch.tensor(graph.labels, device=device)
        self.classes = graph.n_classes

    def nodes(self, nodes: np.ndarray) -> torch.Tensor:
        """Indices on the device."""
        return torch.tensor(np.asarray(nodes), device=self.edges.device)

    def accuracy(self, answers: torch.Tensor, nodes: np.ndarray) -> float:
        """In percent."""
        return 100 * float((answers == self.labels)[self.nodes(nodes)].float().mean())


def train_gcn(
    data: Data,
    train: np.ndarray,
    validation: np.ndarray,
    seed: int,
    epochs: int,
    *,
    scaled: bool,
    rate: float,
) -> torch.Tensor:
    """The classes of all nodes at the best epoch on the validation nodes, or at the last without any.

    As with ours, best is the highest accuracy, and of equals the lowest loss.
    """
    torch.manual_seed(seed)
    x, labels = data.x[scaled], data.labels
    train_nodes, validation_nodes = data.nodes(train), data.nodes(validation)
    model = GCN(x.shape[1], HIDDEN, data.classes).to(x.device)
    adam = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=5e-4)
    best, kept = (-1.0, 0.0), torch.empty(0)
    for epoch in range(1, epochs + 1):
        model.train()
        adam.zero_grad()
        functional.cross_entropy(model(x, data.edges)[train_nodes], labels[train_nodes]).backward()
        adam.step()
        if not len(validation) and epoch < epochs:
            continue
        model.eval()
        with torch.no_grad():
            scores = model(x, data.edges)
        answers = scores.argmax(dim=1)
        reached = (0.0, 0.0)
        if len(validation):
            loss = functional.cross_entropy(scores[validation_nodes], labels[validation_nodes])
            reached = (data.accuracy(answers, validation), -float(loss))
        if reached > best:
            best, kept = reached, answers
    return kept


def propagate(
    data: Data, train: np.ndarray, validation: np.ndarray, seed: int, epochs: int, *, share: float
) -> torch.Tensor:
    """The classes of all nodes by label propagation, which draws nothing and has no epochs."""
    steps = layers_of_pyg().LabelPropagation(num_layers=50, alpha=share)
    with torch.no_grad():
        return steps(data.labels.clamp(min=0), data.edges, mask=data.nodes(train)).argmax(dim=1)


Train = Callable[[Data, np.ndarray, np.ndarray, int, int], torch.Tensor]
RIVALS: dict[str, dict[str, Train]] = {
    "pyg-gcn": {
        f"{'scaled' if scaled else 'raw'} rows, rate {rate}": partial(train_gcn, scaled=scaled, rate=rate)
        for scaled in (False, True)
        for rate in (0.01, 0.05)
    },
    "pyg-label-propagation": {
        f"share {share}": partial(propagate, share=share) for share in (0.5, 0.8, 0.9, 0.99)
    },
}
SYSTEMS = (*OURS, *RIVALS)


class Outcome(NamedTuple):
    """Of one system on one split."""

    accuracy: float  # on test nodes, percent
    seconds: float
    chosen: str
    seconds_of_choice: float = 0.0


def train_rival(
    settings: dict[str, Train], data: Data, split: Split, seed: int, epochs: int = EPOCHS
) -> Outcome:
    """Choose a setting by validation nodes, or by three folds, and score the test nodes with it once."""
    started = time.perf_counter()
    judged, answers, seconds = {}, {}, {}
    for name, train in settings.items():
        if len(split.validation):
            began = time.perf_counter()
            answers[name] = train(data, split.train, split.validation, seed, epochs)
            judged[name] = data.accuracy(answers[name], split.validation)
            seconds[name] = time.perf_counter() - began
        else:
            held_out = [
                data.accuracy(train(data, rest, split.validation, seed, epochs), fold)
                for rest, fold in folds(data, split, seed)
            ]
            judged[name] = float(np.mean(held_out))
    chosen = max(judged, key=lambda name: judged[name])  # the first of equals
    if chosen not in answers:
        began = time.perf_counter()
        answers[chosen] = settings[chosen](data, split.train, split.validation, seed, epochs)
        seconds[chosen] = time.perf_counter() - began
    accuracy = data.accuracy(answers[chosen], split.test)
    return Outcome(accuracy, seconds[chosen], chosen, time.perf_counter() - started)


def folds(data: Data, split: Split, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Three times the training nodes without a part of them, and that part; as ours."""
    labels = data.labels.cpu().numpy()[split.train]
    parts = in_folds(LabelledNodes.without_validation(np.asarray(split.train), labels), 3, seed)
    return list(zip(parts.train, parts.validation, strict=True))


def time_rival(settings: dict[str, Train], data: Data, split: Split, seed: int, epochs: int) -> Outcome:
    """The seconds of a whole training by those of a few epochs; no accuracy."""
    started = time.perf_counter()
    next(iter(settings.values()))(data, split.train, split.validation, seed, epochs)
    return Outcome(float("nan"), EPOCHS / epochs * (time.perf_counter() - started), "")


def train_ours(graph: kn.Graph, split: Split, seed: int, device: str, replicas: int = 1) -> Outcome:
    """Nothing set: which method validation chose is its own doing, and its time is all in."""
    started = time.perf_counter()
    model = kn.NodeKernelClassifier("fast", random_state=seed, replicas=replicas, device=device)
    validation = split.validation if len(split.validation) else None
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=validation)
    accuracy = 100 * model.score(split.test, graph.labels[split.test])
    seconds = time.perf_counter() - started
    return Outcome(accuracy, seconds, model.model_.variant, seconds)


def measure(path: str, wanted: list[str], seeds: int, device: str, timed_epochs: int) -> list[dict[str, Any]]:
    """Rows of one graph: a dictionary for every task and system."""
    graph = load_graph(path)
    data = Data(graph, device)
    rows = []
    for task, sizes in TASKS.items():
        splits = [random_split(graph.labels, sizes, seed) for seed in range(seeds)]
        systems: dict[str, list[Outcome]] = {name: [] for name in wanted}
        for seed, split in enumerate(splits):  # in turn, so that a busy moment meets all of them
            for name, runs in systems.items():
                if name in OURS:
                    runs.append(train_ours(graph, split, seed, device, OURS[name]))
                elif timed_epochs and name == "pyg-gcn":
                    runs.append(time_rival(RIVALS[name], data, split, seed, timed_epochs))
                else:
                    runs.append(train_rival(RIVALS[name], data, split, seed))
        for system, runs in systems.items():
            accuracies = [round(run.accuracy, 4) for run in runs if not np.isnan(run.accuracy)]
            row = {
                "dataset": graph.name,
                "task": task,
                "system": system,
                "accuracies": accuracies,
                "seconds": [round(run.seconds, 3) for run in runs],
                "seconds_of_choice": [round(run.seconds_of_choice, 3) for run in runs] if accuracies else [],
                "chosen": [run.chosen for run in runs] if accuracies else [],
                "timed_epochs": EPOCHS if accuracies else timed_epochs,
            }
            rows.append(row)
            mean = f"{np.mean(accuracies):.2f}" if accuracies else "–"
            print(graph.name, task, system, mean, f"{np.median(row['seconds']):.1f} s", flush=True)
    return rows


def _warm_up(device: str) -> None:
    """Import and compile what is imported and compiled once, outside of what is timed."""
    graph, split = kn.load("cora", "0.6/0.2/0.2")
    train_ours(graph, split, 0, device)
    data = Data(graph, device)
    for settings in RIVALS.values():
        time_rival(settings, data, split, 0, epochs=2)


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
