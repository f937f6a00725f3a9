"""Runs of `similarity` by themselves, and five or ten of them as one kernel: a mean of kernels is a kernel.

    python benchmarks/kernels_together.py cora citeseer [--device cuda] [--results results]

Fifty runs, seeds 0 to 49, as `kernode fit GRAPH --variant similarity` trains them on FastGCN's split. Five
consecutive ones are a group, as `--replicas 5 --seed 0`, `--seed 5`, … gives them; ten likewise. Figures are
mAP among the test nodes, in percent; which map it is validation nodes have chosen.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.runs import NodeRun, train_variant
from kernode.compute.machine import machine
from kernode.compute.stack import part
from kernode.compute.tensor_options import TensorOptions
from kernode.io import load_graph
from kernode.kernels.node_kernel import retrieval_together
from kernode.storage import write_whole

RUNS, GROUPS = 50, (1, 5, 10)


def measure(name: str, device: str) -> dict[str, Any]:
    """Figures of all groups on a graph."""
    graph = load_graph(name)
    outcome = train_variant(graph, "similarity", TensorOptions.of(32, device), tuple(range(RUNS)))
    groups = {str(size): grouped(outcome, size) for size in GROUPS}
    said = ", ".join(
        f"{size}: {np.mean(found):.2f} ± {np.std(found, ddof=1):.2f}" for size, found in groups.items()
    )
    print(f"{name} {outcome.model.variant}, {said}", flush=True)
    return {"dataset": name, "variant": outcome.model.variant, "groups": groups, "machine": machine(device)}


def grouped(outcome: NodeRun, size: int) -> list[float]:
    """mAP of each group of so many runs as one kernel."""
    nodes, found = outcome.splits[0].test, []
    labels = torch.tensor(outcome.on.graph.labels[nodes], device=outcome.on.options.device)
    for first in range(0, RUNS, size):
        on = outcome.on.of_replicas(list(range(first, first + size)))
        method: Any = on.model.method
        own = part(on.parameters, "kernel.")
        found.append(
            round(retrieval_together(method.kernel, own, on.g[:, torch.tensor(nodes)], labels)[0], 4)
        )
    return found


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    rows = [measure(name, given.device) for name in given.graphs]
    if given.results:
        content = json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n"
        write_whole(given.results / "kernels-together.json", content.encode())


if __name__ == "__main__":
    main()
