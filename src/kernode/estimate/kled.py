"""KLED's parts: no map and no epochs, but candidates that are tried one after the other."""

from __future__ import annotations

import math

from kernode.baselines.kled import KLED, MOST_NODES_OF_SVC, MOST_STEPS_OF_SUMS
from kernode.estimate.parts import Parts, feature_bytes, graph_bytes
from kernode.estimate.sizes import Sizes
from kernode.estimate.work import NOTHING, Work, dense_product, sparse_product

_EIGENVECTORS = 13  # multiply-adds of a dense product that take as long as one of n³ in a decomposition


def kled_parts(kled: KLED, sizes: Sizes, replicas: int) -> Parts:
    """Diffusion by sparse products, and all eigenvectors of a graph that is small enough."""
    n, splits = sizes.nodes, replicas if sizes.own_splits else 1
    decomposed = "svc" in kled.classifiers and n <= MOST_NODES_OF_SVC
    work = (
        sum((_sums(sizes, scale) for scale in kled.scales), NOTHING)
        if "sums" in kled.classifiers
        else NOTHING
    )
    answering = _sums(sizes, max(kled.scales))
    if decomposed:
        columns = dense_product(2 * n * n * sizes.training, 8.0 * n * n, 8.0 * n * sizes.training)
        machine = Work(walks=2.0 * sizes.training**2)
        work += len(kled.scales) * (columns + machine)
        answering += columns
    return Parts(
        graph=graph_bytes(sizes),
        features=feature_bytes(sizes),
        splits=float(splits * 24 * n),
        features_at_place=0.0,
        operator=0.0,
        building=32.0 * n * n if decomposed else 36.0 * sizes.step_entries,
        parameters=0.0,
        activations=0.0,
        triplets=0.0,
        evaluation=8.0 * n * (4 * sizes.classes + (3 * sizes.training if decomposed else 0)),
        preparing=dense_product(_EIGENVECTORS * n**3, 0, 0) if decomposed else NOTHING,
        epoch=splits * work,
        evaluating=splits * answering,
        epochs=1,
    )


def _sums(sizes: Sizes, scale: float) -> Work:
    """One product with the walk's matrix for every term of the Poisson series."""
    mean = scale * sizes.largest_degree
    if mean > MOST_STEPS_OF_SUMS:
        return NOTHING
    terms = mean + 23 + math.sqrt(529 + 138 * mean)
    block = 8.0 * sizes.nodes * sizes.classes
    return terms * (4 * sparse_product(sizes.step_entries, sizes.classes, block, block))
