"""The share of a store that one of several processes reads: its own parts, and the labels of all."""

from __future__ import annotations

import numpy as np

from kernode.compute.ranks import Ranks
from kernode.data.store.store import Store
from kernode.graph.share import GraphShare


def read_share(store: Store, ranks: Ranks) -> GraphShare:
    """A rank's rows; labels and names come from the ranks that have read them."""
    shares = [store.share(rank, ranks.size) for rank in range(ranks.size)]
    own = shares[ranks.rank]
    part = store.rows(own.start, own.stop)
    labels = np.concatenate(ranks.of_all(part.labels))
    names = np.concatenate(ranks.of_all(part.names)) if store.named else None
    labels.setflags(write=False)
    return GraphShare(
        part.adjacency, part.features, labels, store.class_names, names, store.name, store.notes,
        ranks=ranks, bounds=np.array([0, *(share.stop for share in shares)]), of_whole=store.fingerprint,
        entries=store.entries,
    )  # fmt: skip
