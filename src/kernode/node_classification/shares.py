"""Learning the classes of nodes where several processes hold a share of the graph each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.exchange import Exchange
from kernode.graph.share import GraphShare
from kernode.node_classification.task import LabelledNodes


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
