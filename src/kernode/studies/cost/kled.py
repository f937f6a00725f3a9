"""KLED's parts: no map and no epochs, but candidates that are tried one after the other."""

from __future__ import annotations

import math

from kernode.node_classification.kled import KLED, MOST_NODES_OF_SVC, MOST_STEPS_OF_SUMS
from kernode.studies.cost.parts import Parts, feature_bytes, graph_bytes
from kernode.studies.cost.sizes import Sizes
from kernode.studies.cost.work import NOTHING, Work, dense_product, sparse_product

_DECOMPOSITION = 13  # n³ multiply-adds of a dense product take as long as all eigenvectors
_IN_SCIPY = 4  # times as long as torch's sparse product: float64, one thread


def kled_parts(kled: KLED, sizes: Sizes, replicas: int) -> Parts:
    """Diffusion by sparse products, and all eigenvectors of a graph that is small enough."""
    n, splits = sizes.nodes, replicas if sizes.own_splits else 1
    trying = NOTHING
    if "sums" in kled.classifiers:
        trying = sum((_sums(sizes, scale) for scale in kled.scales), trying)
    decomposing, columns = NOTHING, 0.0
    if decomposed := has_spectrum(kled, sizes):
        columns = 8.0 * n * sizes.training
        machine = dense_product(2 * n * n * sizes.training, 8.0 * n * n, 3 * columns)
        trying += len(kled.scales) * (machine + Work(walks=2.0 * sizes.training**2))
        decomposing = dense_product(_DECOMPOSITION * n**3, 0, 0)
    return Parts(
        graph=graph_bytes(sizes),
        features=feature_bytes(sizes),
        splits=24.0 * splits * n,
        building=spectrum_bytes(sizes) if decomposed else 36.0 * sizes.step_entries,
        evaluation=32.0 * n * sizes.classes + 3 * columns + (16.0 * n * n if decomposed else 0.0),
        preparing=decomposing,
        epoch=splits * trying,
        evaluating=splits * _sums(sizes, max(kled.scales)),
        epochs=1,
    )


def has_spectrum(kled: KLED, sizes: Sizes) -> bool:
    """Whether all eigenvectors are computed."""
    return "svc" in kled.classifiers and sizes.nodes <= MOST_NODES_OF_SVC


def spectrum_bytes(sizes: Sizes) -> float:
    """Memory while the eigenvectors are sought."""
    return 32.0 * sizes.nodes**2


def _sums(sizes: Sizes, scale: float) -> Work:
    """One product with the walk's matrix for every term of the Poisson series."""
    mean = scale * sizes.largest_degree
    if mean > MOST_STEPS_OF_SUMS:
        return NOTHING
    terms = mean + 23 + math.sqrt(529 + 138 * mean)
    block = 8.0 * sizes.nodes * sizes.classes
    return terms * _IN_SCIPY * sparse_product(sizes.step_entries, sizes.classes, block, block)
