"""Vectors of nodes without a single label: ours, Deep Graph Infomax and node2vec.

    pip install gensim          # for node2vec; and kernode[pyg]
    python benchmarks/without_labels.py [cora citeseer pubmed] [--systems links dgi …] [--runs 10]
        [--device cuda] [--jobs 4] [--results results]

Every system sees the graph and its features, node2vec only the edges; none uses classes. What is learned
is judged by classes afterwards: a logistic regression on the vectors of the training nodes, on the public
split (20 labels per class) and on FastGCN's. On vectors of length 1 or on standardised columns, and with
which C, is chosen on the validation nodes, from one list for all. Retrieval is mAP among the test nodes by
cosine: every one ranks all others, and those of its class are to be found.

Ours has one setting for all graphs, `kn.LinkKernelTransformer()`, found among some 140 by the classes of
nodes that are in no test set here. Of each rival the candidates are tried
with the first seed, and the one with the best mean validation accuracy on both splits is run with all seeds.
DGI is PyTorch Geometric's, with its paper's encoder (one convolution, 512 wide, PReLU), Adam and patience 20
on its loss; its candidates are features as they are and with rows that sum to 1, and a rate of 0.0003 next to
its paper's 0.001. node2vec has its paper's 128 numbers, ten walks of 80 steps per node, window 10 and
p = q = 1, trained by gensim's skip-gram; its candidates are 1 and 3 passes over the walks. Smoothed features
are Ā^h X, h = 2, 4 or 10. The test nodes are scored once, by what was chosen.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from kernode.compute.machine import machine
from kernode.compute.sparse import SparseMatrix
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.hops import normalized_adjacency
from kernode.io import Split, load
from kernode.metrics.ranking import retrieval
from kernode.storage import write_whole

GRAPHS = ("cora", "citeseer", "pubmed")
SPLITS = ("public", "fastgcn")
PARTS = ("validation", "test")
READINGS = {"unit": (1.0, 10.0, 100.0, 1000.0), "standardised": (1e-4, 1e-3, 1e-2, 1e-1)}  # and their C
Embed = Callable[[Graph, int, str], np.ndarray]  # a graph, a seed and a device


def ours(graph: Graph, seed: int, device: str) -> np.ndarray:
    """The kernel learned from links."""
    from kernode.estimators.links import LinkKernelTransformer

    return LinkKernelTransformer(random_state=seed, threads=1, device=device).fit_transform(graph)


def features(graph: Graph, seed: int, device: str) -> np.ndarray:
    """X."""
    return _dense(graph.features)


def smoothed(hops: int) -> Embed:
    """Ā^h X, rows of X scaled to length 1: what SGC regresses on."""

    def embed(graph: Graph, seed: int, device: str) -> np.ndarray:
        step, x = normalized_adjacency(graph), normalize(_dense(graph.features).astype(np.float64))
        for _ in range(hops):
            x = step @ x
        return x

    return embed


def infomax(
    rows: str | None, rate: float, width: int = 512, patience: int = 20, epochs: int = 10_000
) -> Embed:
    """Deep Graph Infomax (Veličković et al. 2019), with rows of X scaled by a norm or not."""

    def embed(graph: Graph, seed: int, device: str) -> np.ndarray:
        from torch_geometric.nn import DeepGraphInfomax

        torch.manual_seed(seed)
        options = TensorOptions.of(32, device)
        x: Any = graph.features if rows is None else normalize(sparse.csr_matrix(graph.features), rows)
        sparse_enough = x.nnz < 0.05 * np.prod(x.shape)
        x = SparseMatrix.of(sparse.csr_array(x), options) if sparse_enough else _tensor(x).to(options.device)
        step = SparseMatrix.of(normalized_adjacency(graph), options, symmetric=True)
        start = torch.nn.init.xavier_uniform_(torch.empty(graph.n_features, width))
        weight = torch.nn.Parameter(start.to(options.device))
        # The encoder begins after the product with X: shuffled rows of XW are the XW of shuffled rows.
        model = DeepGraphInfomax(
            width,
            _Convolution(step, width),
            summary=lambda z, *_: z.mean(dim=0).sigmoid(),
            corruption=lambda z: z[torch.randperm(len(z), device=z.device)],
        ).to(options.device)
        adam = torch.optim.Adam([weight, *model.parameters()], lr=rate)
        best, since, kept = np.inf, 0, None
        for _ in range(epochs):
            adam.zero_grad()
            found = model(x @ weight)
            loss = model.loss(*found)
            if loss.item() < best:
                best, since, kept = loss.item(), 0, found[0].detach()
            else:
                since += 1
            if since == patience:
                break
            loss.backward()
            adam.step()
        assert kept is not None
        return kept.cpu().numpy()

    return embed


class _Convolution(torch.nn.Module):
    """PReLU(Ā z + b): PyTorch Geometric's GCNConv from XW on."""

    def __init__(self, step: SparseMatrix, width: int) -> None:
        super().__init__()
        self.step = step
        self.bias = torch.nn.Parameter(torch.zeros(width))
        self.prelu = torch.nn.PReLU(width)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Vectors of all nodes."""
        return self.prelu(self.step @ z + self.bias)


def node2vec(passes: int, walks: int = 10, steps: int = 80, width: int = 128, window: int = 10) -> Embed:
    """node2vec (Grover & Leskovec 2016) with p = q = 1: skip-gram on uniform random walks."""

    def embed(graph: Graph, seed: int, device: str) -> np.ndarray:
        from gensim.models import Word2Vec

        words = [[str(node) for node in walk] for walk in uniform_walks(graph, walks, steps, seed)]
        model = Word2Vec(
            words,
            vector_size=width,
            window=window,
            min_count=0,
            sg=1,
            workers=1,  # several threads take turns as they like, and no run can be repeated
            epochs=passes,
            seed=seed,
        )
        return model.wv[[str(node) for node in range(graph.n_nodes)]]

    return embed


def uniform_walks(graph: Graph, walks: int, steps: int, seed: int) -> np.ndarray:
    """Random walks from every node in turn: walks·n × steps; a node without neighbours stays where it is."""
    random = np.random.default_rng(seed)
    starts, neighbours = graph.adjacency.indptr, graph.adjacency.indices
    degrees = np.diff(starts)
    found = np.empty((walks * graph.n_nodes, steps), np.int64)
    found[:, 0] = np.concatenate([random.permutation(graph.n_nodes) for _ in range(walks)])
    for step in range(1, steps):
        at = found[:, step - 1]
        chosen = starts[at] + (random.random(len(at)) * degrees[at]).astype(np.int64)
        found[:, step] = np.where(degrees[at] > 0, neighbours[np.minimum(chosen, len(neighbours) - 1)], at)
    return found


# Candidates of each system. What draws nothing is run once.
SYSTEMS: dict[str, dict[str, Embed]] = {
    "links": {"": ours},
    "dgi": {
        f"{title}, rate {rate}": infomax(rows, rate)
        for title, rows in (("features as they are", None), ("rows of sum 1", "l1"))
        for rate in (0.001, 0.0003)
    },
    "node2vec": {f"passes: {passes}": node2vec(passes) for passes in (1, 3)},
    "smoothed": {f"hops: {hops}": smoothed(hops) for hops in (2, 4, 10)},
    "features": {"": features},
}
WITHOUT_DRAWS = ("smoothed", "features")


def judge(vectors: np.ndarray, graph: Graph, split: Split) -> tuple[dict[str, Any], tuple[Any, np.ndarray]]:
    """The logistic regression that validates best: how well, with what, and itself with its inputs."""
    best: dict[str, Any] = {"validation": -1.0}
    y, kept = graph.labels, None
    for reading, strengths in READINGS.items():
        x = normalize(vectors) if reading == "unit" else vectors
        if reading == "standardised":
            x = StandardScaler().fit(x[split.train]).transform(x)
        for c in strengths:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                regression = LogisticRegression(C=c, max_iter=300).fit(x[split.train], y[split.train])
            reached = 100 * regression.score(x[split.validation], y[split.validation])
            if reached > best["validation"]:
                best, kept = {"validation": reached, "reading": reading, "C": c}, (regression, x)
    assert kept is not None
    return best, kept


def cosine_retrieval(vectors: np.ndarray, graph: Graph, nodes: np.ndarray) -> float:
    """mAP in percent among some nodes."""
    x = torch.from_numpy(normalize(np.asarray(vectors[nodes], np.float64)))
    return float(retrieval((x @ x.T)[None], torch.tensor(graph.labels[nodes]))[0][0])


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sparse.issparse(x) else np.asarray(x)


def _tensor(x: Any) -> torch.Tensor:
    return torch.from_numpy(_dense(x).astype(np.float32))


def measure(name: str, system: str, runs: int, device: str, jobs: int) -> dict[str, Any]:
    """Figures of a system on a graph: its candidates with the first seed, then the best one with all."""
    candidates = SYSTEMS[system]
    parallel = joblib.Parallel(jobs)
    tried: dict[str, float] = {}
    if len(candidates) > 1:
        first = parallel(
            joblib.delayed(run)(name, system, one, 0, device, ("validation",)) for one in candidates
        )
        for one, (found, _) in zip(candidates, first, strict=True):
            tried[one] = round(float(np.mean([found[f"{split}_validation"] for split in SPLITS])), 4)
            print(f"{name} {system}, {one}: validation {tried[one]:.2f}", flush=True)
    chosen = max(tried, key=tried.__getitem__) if tried else next(iter(candidates))
    seeds = range(1 if system in WITHOUT_DRAWS else runs)
    done = parallel(joblib.delayed(run)(name, system, chosen, seed, device) for seed in seeds)
    figures = [found for found, _ in done]
    for seed, found in zip(seeds, figures, strict=True):
        print(f"{name} {system} {seed}: {json.dumps(found)}", flush=True)
    return {
        "dataset": name,
        "system": system,
        "candidate": chosen,
        "tried": tried,
        "dimensions": done[0][1],
        "runs": len(figures),
        "machine": machine(device),
        **{key: [one[key] for one in figures] for key in figures[0]},
    }


def run(
    name: str, system: str, candidate: str, seed: int, device: str, parts: tuple[str, ...] = PARTS
) -> tuple[dict[str, float], int]:
    """One seed of one candidate: its figures on validation nodes and, on request, test nodes; its width."""
    by_split = {split: load(name, split=split) for split in SPLITS}
    graph = by_split[SPLITS[0]][0]
    vectors = SYSTEMS[system][candidate](graph, seed, device)
    splits = {split: of_graph for split, (_, of_graph) in by_split.items()}
    return scored(vectors, graph, splits, parts), vectors.shape[1]


def scored(
    vectors: np.ndarray, graph: Graph, splits: dict[str, Split], parts: tuple[str, ...]
) -> dict[str, float]:
    """Accuracies on validation and test nodes of each split, and mAP among the test nodes."""
    found: dict[str, float] = {}
    for name, split in splits.items():
        validation, (regression, x) = judge(vectors, graph, split)
        found |= {f"{name}_{key}": value for key, value in validation.items()}
        if "test" in parts:
            found[f"{name}_test"] = 100 * regression.score(x[split.test], graph.labels[split.test])
    if "test" in parts:
        found["retrieval"] = cosine_retrieval(vectors, graph, splits[SPLITS[0]].test)
    return found


def main() -> None:
    """Measure, print, and save; what is not measured keeps its stored figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="seeds and candidates at a time")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    for system in given.systems:
        for name in given.graphs:
            row = measure(name, system, given.runs, given.device, given.jobs)
            if given.results:
                save(row, given.results / "without-labels.json")


def save(row: dict[str, Any], path: Path) -> None:
    """Put a row in the place of its earlier one."""
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    rows = [one for one in rows if (one["dataset"], one["system"]) != (row["dataset"], row["system"])]
    order = [(name, system) for name in GRAPHS for system in SYSTEMS]
    rows = sorted([*rows, row], key=lambda one: order.index((one["dataset"], one["system"])))
    values = {"rows": rows}
    write_whole(path, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
