"""How faithful explanations are: what is left of a class's score without the nodes that they name.

    python benchmarks/faithfulness.py cora [--variant k3] [--nodes 100] [--results results]
    python benchmarks/faithfulness.py photo.npz --split split.npz --variant fast

A model is trained, and for some test nodes each method ranks the other nodes within reach by what they add to
the score of the predicted class. Then the first 1, 3 and 5 are taken away in two ways: their features
blanked, and the nodes deleted with all their edges, so that degrees change as well. The score is computed
anew each time: the more it falls, the better the nodes were chosen. Rivals see no more of the graph than the
part around a node, which counts in their time: PyTorch Geometric's GNNExplainer with a mask per node (200
epochs, as it comes), gradient × input, and integrated gradients (50 steps from zero).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import kernode as kn
from kernode.compute.machine import machine
from kernode.compute.stack import part
from kernode.explain.parts import Row
from kernode.graph import Graph, positions
from kernode.graph.edits import Edit
from kernode.graph.neighbourhoods import ball, induced
from kernode.io import load_graph, split_nodes
from kernode.storage import write_whole

TAKEN = (1, 3, 5)
STEPS = 50  # of integrated gradients
EPOCHS = 200  # of GNNExplainer


class Scores(torch.nn.Module):
    """Class scores of a part of the graph as a function of its features, as explainers want it."""

    def __init__(self, on: Any, around: Graph) -> None:
        super().__init__()
        self.map, self.own = on.model.method.map, part(on.parameters, "map.")
        self.prepared, self.bias = self.map.prepare(around, on.options), on.parameters["class_bias"]
        x = self.prepared.features
        self.x = x if isinstance(x, Tensor) else x.matrix.to_dense()
        self.edges = around.adjacency.nonzero()

    def forward(self, x: Tensor, edge_index: Tensor | None = None) -> Tensor:
        """n × c."""
        return self.map(self.own, replace(self.prepared, features=x))[0] + self.bias


def ours(on: Any, node: int, target: int) -> np.ndarray:
    """What each node adds, exactly."""
    row = Row.of(on, node)
    towards = torch.zeros(1, len(on.model.classes), dtype=torch.float64)
    towards[0, target] = 1
    adds = np.zeros(on.graph.n_nodes)
    adds[row.nodes] = row.by_node(towards)[0]
    return adds


def on_a_part(method: Callable[[Scores, int, int], Tensor]) -> Callable[[Any, int, int], np.ndarray]:
    """A method that explains by the part of the graph around a node."""

    def explain(on: Any, node: int, target: int) -> np.ndarray:
        near = ball(on.graph, [node], on.model.method.map.reach + 1)
        scores = Scores(on, induced(on.graph, near))
        adds = np.zeros(on.graph.n_nodes)
        adds[near] = method(scores, int(np.searchsorted(near, node)), target).detach().cpu().numpy()
        return adds

    return explain


@on_a_part
def gradient_times_input(scores: Scores, v: int, target: int) -> Tensor:
    """Σ_f x_uf ∂score/∂x_uf."""
    x = scores.x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(scores(x)[v, target], x)
    return (slope * x).sum(dim=1)


@on_a_part
def integrated_gradients(scores: Scores, v: int, target: int) -> Tensor:
    """The mean slope on the way from zero (Sundararajan et al. 2017)."""
    total = torch.zeros_like(scores.x)
    for step in range(STEPS):
        x = (scores.x * ((step + 0.5) / STEPS)).requires_grad_()
        (slope,) = torch.autograd.grad(scores(x)[v, target], x)
        total += slope
    return (total / STEPS * scores.x).sum(dim=1)


@on_a_part
def gnn_explainer(scores: Scores, v: int, target: int) -> Tensor:
    """PyTorch Geometric's, with a mask per node."""
    from torch_geometric.explain import Explainer, GNNExplainer

    explainer = Explainer(
        scores, GNNExplainer(epochs=EPOCHS), explanation_type="model", node_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )  # fmt: skip
    edges = torch.from_numpy(np.stack(scores.edges)).to(scores.x.device)
    mask: Tensor = explainer(scores.x, edges, index=v).node_mask[:, 0]
    return mask


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "kernode": ours,
    "gradient × input": gradient_times_input,
    "integrated gradients": integrated_gradients,
    "GNNExplainer": gnn_explainer,
}


def left(on: Any, around: Graph, v: int, target: int, edit: Edit) -> float:
    """The score in an edited graph."""
    rows = on.model.method.map.rows(part(on.parameters, "map."), edit(around), np.array([v]), on.options)
    return float(rows[0, 0, target] + on.parameters["class_bias"][0, target])


def blanked(around: Graph, nodes: np.ndarray) -> Edit:
    """Without the features of some nodes."""
    return Edit(features={(int(u), f): 0.0 for u in nodes for f in range(around.n_features)})


def deleted(around: Graph, nodes: np.ndarray) -> Edit:
    """Without all edges of some nodes."""
    pairs = {tuple(sorted((int(u), int(w)))) for u in nodes for w in around.adjacency[[u]].indices}
    return Edit(remove=tuple(sorted(pairs)))  # type: ignore[arg-type]


def measure(on: Any, nodes: np.ndarray) -> dict[str, Any]:
    """Falls of the score, node by node, and seconds."""
    falls = {name: {f"{way} {k}": [] for way in ("blanked", "deleted") for k in TAKEN} for name in METHODS}
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    reach = on.model.method.map.reach
    for number, node in enumerate(nodes.tolist()):
        near = ball(on.graph, [node], reach + 1)
        around, v = induced(on.graph, near), int(np.searchsorted(near, node))
        scores = Scores(on, around)
        before = scores(scores.x)[v].detach()
        target = int(before.argmax())
        others = ball(around, [v], reach)
        others = others[others != v]
        if len(others) < max(TAKEN):
            continue
        for name, method in METHODS.items():
            started = time.perf_counter()
            adds = method(on, node, target)[near]
            seconds[name].append(time.perf_counter() - started)
            order = others[np.argsort(-adds[others], kind="stable")]
            for k in TAKEN:
                for way, edit in (("blanked", blanked), ("deleted", deleted)):
                    after = left(on, around, v, target, edit(around, order[:k]))
                    falls[name][f"{way} {k}"].append(float(before[target]) - after)
        print(f"{number + 1} of {len(nodes)}", end="\r", flush=True)
    return {"falls": falls, "seconds": seconds}


def main() -> None:
    """Train, explain, take away."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph")
    parser.add_argument("--split", default=None)
    parser.add_argument("--variant", default="k3")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    graph = load_graph(given.graph)
    (split,) = split_nodes(graph, given.split, [0])
    model = kn.NodeKernelClassifier(given.variant, random_state=0, device=given.device)
    train = positions(split.train)
    model.fit(train, graph.labels[split.train], graph=graph, validation=positions(split.validation))
    chosen = np.random.Generator(np.random.PCG64(0)).permutation(split.test)[: given.nodes]
    torch.set_num_threads(1)
    found = measure(model._on(None), chosen)
    record: dict[str, Any] = {
        "dataset": graph.name, "variant": model.model_.variant, "map": model.model_.method.to_json()["map"],
        "nodes": len(found["seconds"]["kernode"]), "methods": {}, "machine": machine(given.device),
    }  # fmt: skip
    for name in METHODS:
        falls = {
            way: {
                "mean": round(statistics.mean(values), 5),
                "behind": _behind(found["falls"]["kernode"][way], values),
            }
            for way, values in found["falls"][name].items()
        }
        record["methods"][name] = {
            "falls": falls,
            "seconds": round(statistics.median(found["seconds"][name]), 5),
        }
        shown = "  ".join(f"{way}: {one['mean']:.3f}" for way, one in falls.items())
        print(f"{name}: {shown}  {record['methods'][name]['seconds'] * 1000:.1f} ms")
    if given.results:
        path = given.results / "faithfulness" / f"{graph.name}-{given.variant}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def _behind(ours: list[float], others: list[float]) -> dict[str, float]:
    """How much less another method's nodes take away, with the standard error over nodes."""
    differences = np.subtract(ours, others)
    error = differences.std(ddof=1) / len(differences) ** 0.5
    return {"mean": round(float(differences.mean()), 5), "error": round(float(error), 5)}


if __name__ == "__main__":
    main()
