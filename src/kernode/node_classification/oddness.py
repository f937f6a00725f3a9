"""How odd a node is: how far from every training node, as the kernel sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from kernode.compute.stack import part, replica
from kernode.kernels.normalized import normalized
from kernode.node_classification.centroids import GRAM_BLOCK
from kernode.node_classification.method import Method

if TYPE_CHECKING:
    from kernode.node_classification.model_on_graph import ModelOnGraph


@torch.no_grad()
def oddness(on: ModelOnGraph, nodes: np.ndarray, k: int = 5) -> np.ndarray:
    """1 − the mean K̄ to the k training nodes most alike, the mean over replicas: m.

    A training node is not compared with itself. With fewer training nodes than k, all of them count.
    """
    method = on.model.method
    assert isinstance(method, Method)
    kernel = normalized(method.kernel)
    parameters = part(on.parameters, "kernel.")
    asked = torch.from_numpy(np.asarray(nodes)).to(on.place.device)
    scores = []
    for i in range(len(on.g)):
        train = torch.from_numpy(on.model.train[min(i, len(on.model.train) - 1)]).to(on.place.device)
        x = kernel.embed(on.g[i : i + 1])
        step = max(1, GRAM_BLOCK // max(1, len(train)))
        parts = []
        for some in asked.split(step):
            alike = kernel.gram(x[:, some], x[:, train], replica(parameters, i))[0]
            alike = alike.masked_fill(some[:, None] == train, -torch.inf)
            nearest = alike.topk(min(k, len(train)), dim=1).values
            there = nearest.isfinite()  # a node that trains alone is like nobody
            parts.append(nearest.where(there, 0).sum(dim=1) / there.sum(dim=1).clamp_min(1))
        scores.append(1 - torch.cat(parts))
    return torch.stack(scores).mean(dim=0).cpu().numpy()
