"""Similar nodes: exact search and the index, and from how many nodes on the index pays.

    python benchmarks/similar.py [pubmed graph.npz=model.safetensors …] [--threads 1] [--results results]

A model is read where one is named after a graph; otherwise n1 is trained (three runs, 30 epochs, a random
split 0.6/0.2/0.2). Ten nodes per query. Alone: one node at a time, the two ways in turns; medians of all
turns, and the ratio of the fastest ones, since other work on the machine slows down comparing with all, which
waits for memory, more than it does the index. Together: 256 nodes in one call, also in turns. Recall counts
a node of equal similarity as found. Then the same on the first nodes of the largest graph.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kernode as kn
from kernode.compute.machine import machine
from kernode.io import load_graph, split_nodes
from kernode.kernels import NodeKernel
from kernode.storage import write_whole

K, ALONE, TOGETHER, TURNS = 10, 200, 256, 5
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)


def learned(data: str) -> tuple[str, NodeKernel]:
    """A graph's name, and the kernel of a model that was read or is trained now."""
    place, _, model = data.partition("=")
    graph = load_graph(place)
    if model:
        return graph.name, kn.load_model(model, graph=graph).kernel_
    (split,) = split_nodes(graph, "0.6/0.2/0.2", (0,))
    estimator = kn.NodeKernelClassifier("n1", epochs=30, replicas=3, device="cpu")
    estimator.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    return graph.name, estimator.kernel_


def measure(kernel: NodeKernel) -> dict[str, Any]:
    """Both ways on one kernel."""
    started = time.perf_counter()
    lists = kernel.directions.index.inverted.nlist
    built = time.perf_counter() - started
    queries = kn.positions(np.random.default_rng(0).choice(kernel.n_nodes, TOGETHER, replace=False))
    exact = kernel.similar(queries, K, exact=True)
    found = kernel.similar(queries, K, exact=False)
    alone, together = in_turns(kernel, queries[:ALONE], 1), in_turns(kernel, queries, TOGETHER)
    return {
        "nodes": kernel.n_nodes,
        "kernel": repr(kernel.base),
        "replicas": len(kernel.embedded),
        "numbers": int(kernel.embedded.shape[0] * kernel.embedded.shape[2]),
        "lists": lists,
        "build_s": round(built, 2),
        "recall_at_10": round(recall(exact, found), 4),
        "alone_ms": alone,
        "together_ms": together,
    }


def recall(exact: list[Any], found: list[Any]) -> float:
    """Share of answers that are as similar as the last of the exact ones."""
    return float(
        np.mean([value >= of[-1][1] for of, one in zip(exact, found, strict=True) for _, value in one])
    )


def in_turns(kernel: NodeKernel, queries: np.ndarray, at_once: int) -> dict[str, float]:
    """Milliseconds for each node, the two ways in turns."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(TURNS if at_once > 1 else 1):
        for start in range(0, len(queries), at_once):
            some = queries[start : start + at_once]
            for exact, times in took.items():
                times.append(_milliseconds(lambda e=exact, s=some: kernel.similar(s, K, exact=e)) / len(some))
    middle = {exact: statistics.median(times) for exact, times in took.items()}
    return {
        "exact": round(middle[True], 3),
        "index": round(middle[False], 3),
        "ratio": round(middle[True] / middle[False], 1),
        "fastest_ratio": round(min(took[True]) / min(took[False]), 1),
    }


def _milliseconds(ask: Callable[[], Any]) -> float:
    started = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - started)


def first_nodes(kernel: NodeKernel, n: int) -> NodeKernel:
    """The same kernel on its first n nodes."""
    return NodeKernel(kernel.base, kernel.g[:, :n].clone(), kernel.parameters)


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=["pubmed"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    import faiss

    rows, sizes, kernels = [], [], []
    print("graph | nodes | recall@10 | alone: exact, index, ratio | together: exact, index, ratio | build, s")
    for data in given.datasets:
        name, kernel = learned(data)
        torch.set_num_threads(given.threads)
        faiss.omp_set_num_threads(given.threads)
        kernels.append(kernel)
        rows.append({"dataset": name, **measure(kernel)})
        _print(name, rows[-1])
    largest = max(kernels, key=lambda kernel: kernel.n_nodes)
    for n in (*(size for size in SIZES if size < largest.n_nodes), largest.n_nodes):
        sizes.append(measure(first_nodes(largest, n)))
        _print("first nodes", sizes[-1])
    if given.results:
        values = {
            "suite": "similar",
            "device": "cpu",
            "threads": given.threads,
            "k": K,
            "faiss": faiss.__version__,
            "machine": machine("cpu"),
            "rows": rows,
            "sizes": sizes,
        }
        text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
        write_whole(given.results / "bench-similar-cpu.json", text.encode())


def _print(name: str, row: dict[str, Any]) -> None:
    ways = " | ".join(
        f"{row[how]['exact']:.2f}, {row[how]['index']:.2f} ms, {row[how]['ratio']:.1f} × "
        f"(fastest {row[how]['fastest_ratio']:.1f} ×)"
        for how in ("alone_ms", "together_ms")
    )
    print(
        f"{name} | {row['nodes']:,} | {row['recall_at_10']:.4f} | {ways} | {row['build_s']:.1f}", flush=True
    )


if __name__ == "__main__":
    main()
