"""Data of the figures as plain JSON values: embeddings and Gram matrices."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from sklearn.metrics import silhouette_samples

from experiments.runs import NodeRun
from kernode.errors import InputError, MissingExtraError
from kernode.metrics.accuracy import mean_and_std
from kernode.viz.pictures.gram import block_means

_MOST_PIXELS = 4096**2  # of a stored picture
LEVELS = 127  # on either side of 0, so that −1, 0 and 1 are packed without error


def embedding(
    run: NodeRun, nodes: np.ndarray, *, perplexity: float, seed: int, iterations: int
) -> dict[str, Any]:
    """Return where t-SNE puts run 0's nodes, and how compact the classes of every run are before that.

    A silhouette is (b − a) / max(a, b) with 1 − K̄ between nodes, in [−1, 1]: a to the own class and b to the
    nearest other one. Nodes without a class are left out.
    """
    nodes, labels = _labelled(run.graph.labels, nodes)
    units = run.embeddings(nodes)
    points = _t_sne(units[0], perplexity, seed, iterations)
    names = list(run.graph.class_names)
    by_node = np.stack([silhouette_samples(one, labels, metric="cosine") for one in units])  # r × m
    mean, std = mean_and_std(by_node.mean(axis=1))
    averaged = by_node.mean(axis=0)
    return {
        "points": points.tolist(),
        "labels": labels.tolist(),
        "class_names": names,
        "silhouette": {
            "mean": round(mean, 4),
            "std": round(std, 4),
            "runs": _rounded(by_node.mean(axis=1)),
            "sampling_error": round(float(averaged.std(ddof=1)) / math.sqrt(len(nodes)), 4),
        },
        "silhouette_by_class": [_mean_or_none(averaged[labels == label]) for label in range(len(names))],
        "silhouette_in_plane": round(float(silhouette_samples(points, labels).mean()), 4),
    }


def gram(before: NodeRun, after: NodeRun, nodes: np.ndarray, pixels: int = 250) -> dict[str, Any]:
    """Return K̄ among nodes in the order of their classes before and after training, as small pictures.

    The means within and between classes are those of all pairs u ≠ v, not of the pictures' pixels.
    """
    nodes, labels = _labelled(after.graph.labels, nodes)
    order = labels.argsort(kind="stable")
    return {
        "class_names": list(after.graph.class_names),
        "class_counts": np.bincount(labels, minlength=after.graph.n_classes).tolist(),
        "before": _gram_picture(before, nodes[order], labels[order], pixels),
        "after": _gram_picture(after, nodes[order], labels[order], pixels),
    }


def pack(matrix: np.ndarray) -> str:
    """Write a square matrix over [−1, 1] as text; each value moves by at most 1/254.

    >>> unpack(pack(np.array([[1.0, -0.5], [0.0, -1.0]]))).round(2)
    array([[ 1. , -0.5],
           [ 0. , -1. ]])
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"only a square matrix can be packed. Got one of shape {matrix.shape}.", "shape")
    levels = (matrix.clip(-1, 1) * LEVELS).round() + LEVELS
    return base64.b64encode(zlib.compress(levels.astype(np.uint8).tobytes(), 9)).decode()


def unpack(text: str) -> np.ndarray:
    """Read what :func:`pack` wrote."""
    # No more is unfolded than a picture has, whatever the text would give.
    unfolded = zlib.decompressobj().decompress(base64.b64decode(text), _MOST_PIXELS)
    levels = np.frombuffer(unfolded, dtype=np.uint8)
    side = math.isqrt(len(levels))
    return (levels.reshape(side, side).astype(np.float64) - LEVELS) / LEVELS


def _labelled(labels: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that have a class, and their classes."""
    labels = labels[nodes]
    nodes, labels = nodes[labels >= 0], labels[labels >= 0]
    if not 2 <= len(np.unique(labels)) < len(labels):
        raise InputError(
            "a figure compares nodes of one class with those of others, so it needs two classes, and two "
            f"nodes in one of them. Got {len(labels)} labelled nodes of {len(np.unique(labels))} classes.",
            "too-few",
        )
    return nodes, labels


def _t_sne(x: np.ndarray, perplexity: float, seed: int, iterations: int) -> np.ndarray:
    """The plane that t-SNE finds for the rows of x: m × 2."""
    try:
        from openTSNE import TSNE  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError(
            "this figure needs openTSNE: pip install 'kernode[plots]'.",
            "extra",
            package="openTSNE",
            extra="plots",
        ) from None
    # Exact neighbours and one thread: nothing but the seed decides, so the same call gives the same bits.
    found = TSNE(
        perplexity=perplexity,
        metric="cosine",
        initialization="pca",
        neighbors="exact",
        negative_gradient_method="bh",
        n_iter=iterations,
        n_jobs=1,
        random_state=seed,
    )
    return np.asarray(found.fit(x)).round(2)


def _gram_picture(run: NodeRun, nodes: np.ndarray, labels: np.ndarray, pixels: int) -> dict[str, Any]:
    full = run.gram(nodes)
    same_class = labels[:, None] == labels
    others = ~np.eye(len(nodes), dtype=bool)
    return {
        "image": pack(block_means(full, pixels)),
        "within": round(float(full[same_class & others].mean()), 4),
        "between": round(float(full[~same_class].mean()), 4),
    }


def _mean_or_none(values: np.ndarray) -> float | None:
    """None, null in JSON, for a class that no node has."""
    return round(float(values.mean()), 4) if len(values) else None


def _rounded(values: np.ndarray) -> list[Any]:
    return np.asarray(values, dtype=np.float64).round(4).tolist()
