"""`kernode links` with default settings and PyTorch Geometric's GAE: time and figures, as processes.

    python benchmarks/links_beside_gae.py [cora citeseer pubmed] [--rounds 3] [--cores 2] [--results results]

Ours is the command: ten runs, from the start of the process to the saved model. Theirs is a process that
reads the same graph, makes the same split (5 % of the edges choose, 10 % test) and trains a GAE ten times:
PyG's own example, a GCN encoder 32 → 16, 200 epochs of Adam at 0.01 on all edges and as many sampled pairs,
AUC and AP on the validation edges after every epoch, the best epoch kept, rows of X that sum to 1. The two
take turns, so that a busy moment meets both. The test edges are scored once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

GRAPHS = ("cora", "citeseer", "pubmed")
OURS, THEIRS = "kernode links", "pyg-gae"
EPOCHS, HIDDEN, OUTPUTS, RATE = 200, 32, 16, 0.01


def train_gae(name: str, runs: int) -> dict[str, Any]:
    """Train a GAE for each seed; gives the mean of each figure in percent."""
    import torch  # here: a process that only starts others needs none of it
    from scipy import sparse
    from torch_geometric.nn import GAE, GCNConv

    from kernode.io import load_graph
    from kernode.io.edge_split import split_edges

    class Encoder(torch.nn.Module):
        """Two layers, as in PyG's example."""

        def __init__(self, features: int) -> None:
            super().__init__()
            self.first = GCNConv(features, HIDDEN, cached=True)
            self.second = GCNConv(HIDDEN, OUTPUTS, cached=True)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            """Embeddings of all nodes."""
            return self.second(self.first(x, edges).relu(), edges)

    graph = load_graph(name)
    split = split_edges(graph, 0)
    features: Any = graph.features
    features = features.toarray() if sparse.issparse(features) else features
    x = torch.tensor(features.astype(np.float32))
    x = torch.nn.functional.normalize(x, p=1, dim=1)
    upper = sparse.triu(split.graph.adjacency).tocoo()
    linked = torch.tensor(np.stack([upper.row, upper.col])).long()
    edges = torch.cat([linked, linked.flip(0)], dim=1)
    validation, test = (
        [torch.tensor(np.array(pairs)).T for pairs in both]
        for both in ((split.validation, split.validation_negatives), (split.test, split.test_negatives))
    )
    figures = []
    for seed in range(runs):
        torch.manual_seed(seed)
        model = GAE(Encoder(graph.n_features))
        adam = torch.optim.Adam(model.parameters(), lr=RATE)
        best, kept = (-1.0, -1.0), None
        for _ in range(EPOCHS):
            model.train()
            adam.zero_grad()
            model.recon_loss(model.encode(x, edges), linked).backward()
            adam.step()
            model.eval()
            with torch.no_grad():
                z = model.encode(x, edges)
                reached = model.test(z, *validation)
            if reached[0] > best[0]:
                best, kept = reached, z
        figures.append((*best, *model.test(kept, *test)))
    mean = 100 * np.mean(figures, axis=0)
    names = ("validation_auc", "validation_ap", "test_auc", "test_ap")
    return {key: round(float(value), 4) for key, value in zip(names, mean, strict=True)}


def run_ours(name: str, cores: int) -> dict[str, Any]:
    """What the command took, and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "model.safetensors")
        options = ("--variant", "fast", "--json", "--set", "run.device=cpu", "-o", out)
        words = ["-m", "kernode", "links", name, *options]
        taken, answer = _timed(words, cores)
    figures = {
        f"{part}_{what}": answer[part][f"{what}_mean"]
        for part in ("validation", "test")
        for what in ("auc", "ap")
    }
    return {**taken, "runs": answer["replicas"], **figures}


def run_theirs(name: str, cores: int, runs: int) -> dict[str, Any]:
    """What the process took, and its figures."""
    words = [__file__, name, "--only-gae", str(runs)]
    taken, answer = _timed(words, cores)
    return {**taken, "runs": runs, **answer}


def _timed(words: list[str], cores: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Wall-clock and CPU seconds of a Python process from start to end, and the JSON that it prints."""
    # Both get their threads from torch, which takes one per core that the process may use.
    these = ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:cores])
    started, busy = time.perf_counter(), _cpu_seconds()
    done = subprocess.run(
        ["taskset", "-c", these, sys.executable, *words], check=True, capture_output=True, text=True
    )
    taken = {"seconds": time.perf_counter() - started, "cpu_seconds": _cpu_seconds() - busy}
    return {name: round(value, 3) for name, value in taken.items()}, json.loads(done.stdout)


def _cpu_seconds() -> float:
    """Of all processes that were waited for: on a machine that others use, they say more than a clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, rounds: int, cores: int) -> list[dict[str, Any]]:
    """Rows of one graph, ours and theirs: all seconds, their median, and the figures."""
    found: dict[str, list[dict[str, Any]]] = {OURS: [], THEIRS: []}
    for _ in range(rounds):
        found[OURS].append(run_ours(name, cores))
        found[THEIRS].append(run_theirs(name, cores, found[OURS][0]["runs"]))
    rows = []
    for system, results in found.items():
        taken = {what: [one.pop(what) for one in results] for what in ("seconds", "cpu_seconds")}
        medians = {f"median_{what}": float(np.median(values)) for what, values in taken.items()}
        rows.append({"dataset": name, "system": system, **medians, **taken, **results[0]})
    return rows


def main() -> None:
    """Measure, print a table, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only-gae", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only_gae:
        print(json.dumps(train_gae(given.graphs[0], given.only_gae)))
        return
    from kernode.compute.machine import machine
    from kernode.storage import write_whole

    rows: list[dict[str, Any]] = []
    print("graph      system           seconds   of CPU  val AUC  val AP     AUC      AP")
    for name in given.graphs:
        for row in (found := measure(name, given.rounds, given.cores)):
            taken = " ".join(f"{row[f'median_{what}']:8.1f}" for what in ("seconds", "cpu_seconds"))
            figures = " ".join(
                f"{row[key]:7.2f}" for key in ("validation_auc", "validation_ap", "test_auc", "test_ap")
            )
            print(f"{name:<10} {row['system']:<15} {taken}  {figures}", flush=True)
        rows += found
    values = {"machine": machine("cpu"), "cores": given.cores, "rows": rows}
    text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
    if given.results:
        write_whole(given.results / "links-beside-gae.json", text.encode())
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
