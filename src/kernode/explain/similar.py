"""Similar nodes: which are searched, and how unlike the training nodes a node is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from kernode.compute.stack import replica, under_prefix
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.lookup import Positions, as_nodes
from kernode.io.tables.columns import nodes_where
from kernode.kernels.normalized import normalized
from kernode.tasks.classes.method import GRAM_BLOCK
from kernode.tasks.classes.on_graph import NodeModelOnGraph

_SHOWN = 12  # classes in a sentence


def restricted(
    graph: Graph,
    among: Any = None,
    of_class: Any = None,
    where: Mapping[str, Any] | None = None,
    *,
    unlisted: bool = False,
) -> Positions | None:
    """Positions of the nodes that meet all of it; None for all nodes.

    Nodes that only edges mention are left out, unless they are ``unlisted=True`` or named in ``among``.
    """
    every = unlisted or among is not None or graph.listed is None
    if every and among is None and of_class is None and where is None:
        return None
    kept = np.ones(graph.n_nodes, dtype=bool) if every or graph.listed is None else graph.listed.copy()
    if among is not None:
        kept[:] = False
        kept[np.asarray(graph.find(as_nodes(among)))] = True
    if of_class is not None:
        kept &= graph.labels == class_number(graph, of_class)
    if where is not None:
        kept &= nodes_where(graph, where)
    if not kept.any():
        raise InputError(
            f"no node of {graph.name!r} meets the conditions. Drop or widen one of them.", "too-few"
        )
    return positions(kept)


def class_number(graph: Graph, name: Any) -> int:
    """The number of a class of a graph by its name, or by the number itself.

    >>> graph = Graph.from_edges([(0, 1)], np.eye(2), [0, 1], class_names=("light", "dark"))
    >>> class_number(graph, "dark"), class_number(graph, 1)
    (1, 1)
    """
    if str(name) in graph.class_names:
        return graph.class_names.index(str(name))
    if isinstance(name, int | np.integer) and 0 <= name < graph.n_classes:
        return int(name)
    known = ", ".join(map(repr, graph.class_names[:_SHOWN])) + ", …" * (graph.n_classes > _SHOWN)
    raise InputError(
        f"{graph.name!r} has no class {name!r}. Its classes are {known}.", "unknown", what="class", name=name
    )


@torch.no_grad()
def outlier_scores(on: NodeModelOnGraph, nodes: np.ndarray, k: int = 5) -> np.ndarray:
    """1 − the mean K̄ to the k training nodes most similar, the mean over replicas: m.

    A training node is not compared with itself. With fewer training nodes than k, all of them count.
    """
    g, parameters = on.g, under_prefix(on.parameters, "kernel.")
    kernel = normalized(on.model.method.kernel)
    queries = torch.from_numpy(np.asarray(nodes)).to(on.options.device)
    scores = []
    for i in range(len(g)):
        train = torch.from_numpy(on.model.train[min(i, len(on.model.train) - 1)]).to(on.options.device)
        x = kernel.embed(g[i : i + 1])
        step = max(1, GRAM_BLOCK // max(1, len(train)))
        parts = []
        for some in queries.split(step):
            similar = kernel.gram(x[:, some], x[:, train], replica(parameters, i))[0]
            similar = similar.masked_fill(some[:, None] == train, -torch.inf)
            nearest = similar.topk(min(k, len(train)), dim=1).values
            there = nearest.isfinite()  # the only training node has no other to compare with
            parts.append(nearest.where(there, 0).sum(dim=1) / there.sum(dim=1).clamp_min(1))
        scores.append(1 - torch.cat(parts))
    return torch.stack(scores).mean(dim=0).cpu().numpy()
