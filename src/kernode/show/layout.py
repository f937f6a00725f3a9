"""Where nodes lie in a picture: a plane in which alike nodes are near each other."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np

from kernode.errors import FileError, InputError, MissingExtraError, warn
from kernode.io.archive import open_archive
from kernode.node_classification.index_file import owner
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.progress import tell
from kernode.storage import cache_folder, write_whole

Plane = Literal["tsne", "umap", "pca"]
DIMENSIONS = 50  # of vectors that a plane is found for: what is left beyond is noise, and costs time
ALL_AT_ONCE = 30_000  # nodes; of more, some are laid out and the others placed among those most alike
SOME = 20_000
ITERATIONS = 500
_EARLY = 250  # iterations of exaggeration before: openTSNE's own


def layout(on: ModelOnGraph, plane: Plane = "tsne", *, seed: int = 0, perplexity: float = 30) -> np.ndarray:
    """Coordinates of every node, in which K̄ is about nearness: n × 2, float32, within [−1, 1].

    Computed once for a model on a graph, then read from the cache folder. Nearness counts, not direction or
    scale: t-SNE and UMAP keep neighbours, PCA keeps the two directions that vary most.
    """
    checked_plane(plane)
    if not on.model.method.has_kernel:
        raise InputError(f"{on.model.method.title} has no kernel whose nodes could be drawn.")
    key = hashlib.sha256(repr((sorted(owner(on).items()), plane, seed, perplexity, 1)).encode()).hexdigest()
    path = cache_folder() / "layouts" / f"{key[:32]}.npz"
    n = on.graph.n_nodes
    found = _kept(path)
    if found is not None and found.shape == (n, 2):
        return found
    points = _within(place(on.kernel.directions.vectors(), plane, seed, perplexity))
    content = io.BytesIO()
    np.savez_compressed(content, points=points)
    try:
        write_whole(path, content.getvalue())
    except FileError as error:
        warn(f"the layout is not kept, and will be computed again: {error}")
    return points


def _kept(path: Path) -> np.ndarray | None:
    """What the cache has; None where that is nothing, or damaged: it is computed again."""
    try:
        with open_archive(path) as archive:
            points = archive.read("points") if "points" in archive.names else None
    except FileError:
        return None
    return points if points is not None and points.dtype == np.float32 and np.isfinite(points).all() else None


def checked_plane(name: str) -> Plane:
    """A way to find a plane by its name, or a sentence that lists them."""
    for known in get_args(Plane):
        if name == known:
            return cast(Plane, known)
    raise InputError(f"a plane is found by {', '.join(get_args(Plane))}. Got {name!r}.")


def place(x: np.ndarray, plane: Plane, seed: int, perplexity: float = 30) -> np.ndarray:
    """Rows of x (n × d, of length 1 or 0) in a plane: n × 2."""
    n = len(x)
    x = _main_axes(np.asarray(x, dtype=np.float64), 2 if plane == "pca" else DIMENSIONS)
    if plane == "pca" or n < 5:  # too few to have neighbours
        return np.pad(x, ((0, 0), (0, max(0, 2 - x.shape[1]))))[:, :2]
    if n <= ALL_AT_ONCE:
        return _t_sne(x, seed, perplexity) if plane == "tsne" else _umap(x, seed)
    first = np.sort(np.random.Generator(np.random.PCG64(seed)).permutation(n)[:SOME])
    points = place(x[first], plane, seed, perplexity)
    return _among(x, x[first], points)


def _main_axes(x: np.ndarray, d: int) -> np.ndarray:
    """Rows along the d directions in which they vary most."""
    if x.shape[1] <= d and d > 2:
        return x
    x = x - x.mean(axis=0)
    values, axes = np.linalg.eigh(x.T @ x)
    order = np.argsort(-values, kind="stable")[:d]
    axes = axes[:, order]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    return x @ axes


def _t_sne(x: np.ndarray, seed: int, perplexity: float) -> np.ndarray:
    try:
        from openTSNE import TSNE  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError(
            "t-SNE needs openTSNE: pip install openTSNE, or choose pca (--plane pca)."
        ) from None
    total = _EARLY + ITERATIONS
    done = [0]

    def heard(iteration: int, error: float, embedding: object) -> None:
        done[0] += 50
        tell("t-SNE", min(done[0], total), total)

    tell("t-SNE", 0, total)
    found = TSNE(
        perplexity=min(perplexity, (len(x) - 1) / 3),
        initialization="pca",
        n_iter=ITERATIONS,
        random_state=seed,
        callbacks=heard,
        callbacks_every_iters=50,
        n_jobs=-1 if len(x) > 5000 else 1,
    )
    return np.asarray(found.fit(x))


def _umap(x: np.ndarray, seed: int) -> np.ndarray:
    try:
        from umap import UMAP  # type: ignore[import-not-found]
    except ImportError:
        raise MissingExtraError("UMAP needs umap-learn: pip install umap-learn, or choose tsne.") from None
    return np.asarray(UMAP(n_neighbors=min(15, len(x) - 1), random_state=seed, n_jobs=1).fit_transform(x))


def _among(x: np.ndarray, some: np.ndarray, points: np.ndarray, k: int = 5) -> np.ndarray:
    """Every row where the k of some that are nearest lie in the middle (their median)."""
    lengths = (some**2).sum(axis=1)
    placed = np.empty((len(x), 2))
    step = 1024
    for start in range(0, len(x), step):
        far = lengths - 2 * x[start : start + step] @ some.T
        near = np.argpartition(far, k, axis=1)[:, :k]
        placed[start : start + step] = np.median(points[near], axis=1)
        tell("other nodes", min(start + step, len(x)), len(x))
    return placed


def _within(points: np.ndarray) -> np.ndarray:
    """Centred, one scale for both axes, within [−1, 1]."""
    points = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return (points / (np.abs(points).max() or 1)).astype(np.float32)
