"""Learning the classes of nodes where several processes hold a share of the graph each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.ranks import Exchange
from kernode.compute.stack import part
from kernode.graph.share import GraphShare
from kernode.kernels import NodeKernel
from kernode.kernels.node_kernel import SimilarNodes
from kernode.node_classification.task import LabelledNodes

if TYPE_CHECKING:
    from kernode.node_classification.model_on_graph import ModelOnGraph


def known_nodes(
    share: GraphShare, nodes: LabelledNodes, device: torch.device
) -> tuple[Exchange, LabelledNodes]:
    """What brings g of the nodes that train or validate to all ranks, and where they then stand."""
    wanted = np.concatenate([nodes.train.ravel(), nodes.validation.ravel()])
    known = Exchange(share.ranks, share.bounds, wanted, device, "known nodes")
    return known, replace(nodes, train=known.at(nodes.train), validation=known.at(nodes.validation))


def first_of(share: GraphShare, prepared: Any) -> dict[str, int]:
    """Where a share's rows, and its entries of X, begin among all: dropout draws by these numbers."""
    x = prepared.features
    entry = share.start * x.shape[1] if isinstance(x, Tensor) else share.features_before
    return {"first_row": share.start, "first_entry": entry}


def similar_in_shares(
    on: ModelOnGraph, queries: np.ndarray, k: int, among: np.ndarray | None = None
) -> list[SimilarNodes]:
    """As :meth:`NodeKernel.similar`: every rank looks among its own nodes, and the best of all are kept."""
    share = on.graph
    assert isinstance(share, GraphShare)
    here = _similar_here(on, share, queries, k, among)
    found = []
    for query, *shares in zip(queries.tolist(), *share.ranks.of_all(here), strict=True):
        others = [pair for one in shares for pair in one if pair[0] != query]
        best = sorted(others, key=lambda pair: (-pair[1], pair[0]))[:k]
        names = share.node_names
        found.append(SimilarNodes([(node if names is None else names[node], value) for node, value in best]))
    return found


def _similar_here(
    on: ModelOnGraph, share: GraphShare, queries: np.ndarray, k: int, among: np.ndarray | None
) -> list[list[tuple[int, float]]]:
    """One more than k of a rank's own nodes for each query: a node itself is no answer."""
    asked, at = on.together(queries)
    own = share.stop - share.start
    rows = (
        np.arange(own)
        if among is None
        else among[(among >= share.start) & (among < share.stop)] - share.start
    )
    if not len(rows):
        return [[] for _ in queries]
    method: Any = on.model.method
    # The rank's own nodes, and after them those that are asked about.
    g = torch.cat([on.g, asked[:, torch.from_numpy(at).to(on.g.device)]], dim=1)
    kernel = NodeKernel(method.kernel, g, part(on.parameters, "kernel."))
    found = kernel.similar(own + np.arange(len(queries)), k + 1, among=rows, exact=True)
    return [[(share.start + node, value) for node, value in one] for one in found]
