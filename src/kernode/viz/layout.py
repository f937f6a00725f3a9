"""Layout of nodes in a plane in which similar nodes are near each other."""

from __future__ import annotations

import hashlib
import io
import json
from itertools import count
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np

from kernode.errors import FileError, InputError, MissingExtraError, bad_setting, warn
from kernode.io.archive import open_archive
from kernode.models.model import ModelOnGraph
from kernode.progress import report_progress
from kernode.storage import cache_folder, write_whole

Layout = Literal["tsne", "pca"]
DIMENSIONS = 50  # principal components used for the layout: the rest is noise and costs time
ALL_AT_ONCE = 30_000  # most nodes laid out; others are placed next to the most similar ones
SOME = 20_000
ITERATIONS = 500
_SEED, _PERPLEXITY = 0, 30
_EARLY = 250  # iterations of exaggeration before: openTSNE's own


def node_positions(on: ModelOnGraph, layout: Layout = "tsne") -> np.ndarray:
    """Return coordinates of every node: n × 2, float32, within [−1, 1].

    Computed once for a model on a graph, then read from the cache folder. Only nearness has a meaning, not
    direction or scale: t-SNE and UMAP keep neighbours, PCA keeps the two directions of largest variance.
    """
    checked_layout(layout)
    if not on.model.method.has_kernel:
        raise InputError(f"{on.model.method.title} has no kernel, so there is no layout.", "unsupported")
    path = cache_folder() / "layouts" / f"{_key(on, layout)}.npz"
    found = _kept(path)
    if found is not None and found.shape == (on.graph.n_nodes, 2):
        return found
    points = _within(project(on.kernel.directions.vectors(), layout, _SEED))
    content = io.BytesIO()
    np.savez_compressed(content, points=points)
    try:
        write_whole(path, content.getvalue())
    except FileError as error:
        warn(f"the layout is not cached, and will be computed again: {error}")
    return points


def _key(on: ModelOnGraph, layout: Layout) -> str:
    """Return a digest of the model, the graph and the settings."""
    settings = [on.model.method.to_json(), on.graph.fingerprint, layout, _SEED, _PERPLEXITY]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for nodes in on.landmarks:  # of a kernel that is known by its values at some nodes
        digest.update(np.ascontiguousarray(nodes).tobytes())
    for name, value in sorted(on.model.parameters.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]


def _kept(path: Path) -> np.ndarray | None:
    """The cached layout; None if there is none or it is damaged."""
    try:
        with open_archive(path) as archive:
            points = archive.read("points") if "points" in archive.names else None
    except FileError:
        return None
    return points if points is not None and points.dtype == np.float32 and np.isfinite(points).all() else None


def checked_layout(name: str) -> Layout:
    """Check the name of a layout."""
    if name not in get_args(Layout):
        raise bad_setting("layout", f"one of {', '.join(get_args(Layout))}", name)
    return cast(Layout, name)


def project(x: np.ndarray, layout: Layout, seed: int) -> np.ndarray:
    """Lay out the rows of x (n × d, of length 1 or 0): n × 2."""
    from sklearn.decomposition import PCA

    n = len(x)
    x = np.pad(np.asarray(x, dtype=np.float64), ((0, 0), (0, max(0, 2 - x.shape[1]))))
    if layout == "pca" or n < 5:  # too few to have neighbours
        return PCA(2).fit_transform(x) if n > 1 else x[:, :2]
    if x.shape[1] > DIMENSIONS:
        x = PCA(min(DIMENSIONS, n), svd_solver="covariance_eigh").fit_transform(x)
    if n <= ALL_AT_ONCE:
        return _t_sne(x, seed)
    first = np.sort(np.random.Generator(np.random.PCG64(seed)).permutation(n)[:SOME])
    return _among(x, x[first], _t_sne(x[first], seed))


def _t_sne(x: np.ndarray, seed: int) -> np.ndarray:
    try:
        from openTSNE import TSNE  # type: ignore[import-untyped]
    except ImportError:
        sentence = "t-SNE needs openTSNE: pip install openTSNE, or choose pca."
        raise MissingExtraError(sentence, "extra", package="openTSNE") from None
    total, done = _EARLY + ITERATIONS, count(50, 50)
    report_progress("t-SNE", 0, total)
    found = TSNE(
        perplexity=min(_PERPLEXITY, (len(x) - 1) / 3),
        initialization="pca",
        n_iter=ITERATIONS,
        random_state=seed,
        callbacks=lambda *_: report_progress("t-SNE", min(next(done), total), total),
        callbacks_every_iters=50,
        n_jobs=-1 if len(x) > 5000 else 1,
    )
    return np.asarray(found.fit(x))


def _among(x: np.ndarray, some: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Place every row at the median of its 5 nearest rows that are laid out."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(some).kneighbors(x, return_distance=False)
    return np.median(points[near], axis=1)


def _within(points: np.ndarray) -> np.ndarray:
    """Centre points and scale both axes equally to [−1, 1]."""
    points = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return (points / (np.abs(points).max() or 1)).astype(np.float32)
