"""Cross-validation: each node that may be seen validates once and trains otherwise."""

from __future__ import annotations

import numpy as np

from kernode.errors import InputError
from kernode.io import Split


def fold_splits(nodes: np.ndarray, labels: np.ndarray, folds: int, seed: int) -> list[Split]:
    """Deal nodes out to folds, class by class; split i validates on fold i and trains on all others.

    Replicas of a stack need parts of equal size: nodes that do not go up in the folds always train.

    >>> fold_splits(np.arange(7), np.array([0, 0, 0, 1, 1, 1, 1]), folds=3, seed=0)[0]
    Split(5 training, 2 validation, 0 test nodes)
    """
    if not 2 <= folds <= len(nodes) // 2:
        raise InputError(
            f"--folds must be 0 or an integer from 2 to {len(nodes) // 2}, half the nodes. Got {folds}."
        )
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(nodes))
    dealt = order[: len(nodes) // folds * folds]
    dealt = nodes[dealt[np.argsort(labels[dealt], kind="stable")]]
    parts = [dealt[fold::folds] for fold in range(folds)]
    return [Split(np.setdiff1d(nodes, part), part, []) for part in parts]
