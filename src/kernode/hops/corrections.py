"""What the factored operator holds besides N or Ā: terms on the pattern of fewer than H hops, computed once.

The same algebra serves a whole graph, a share of one and some rows of one; they differ in how a product with
N or Ā is made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save
from scipy import sparse

from kernode.errors import FileError, warn
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.hops.masked_product import masked_product
from kernode.hops.matrices import Powers
from kernode.io.archive import checked_csr
from kernode.progress import tell
from kernode.storage import cache_folder, write_whole

WORTH_KEEPING = 2**20  # entries; below that computing is as fast as reading


def correction_terms(
    own: sparse.csr_array,
    first: sparse.csr_array,
    step: sparse.csr_array,
    loops: sparse.csr_array,
    hops: int,
    powers: Powers,
    times: Callable[..., sparse.csr_array],
) -> list[sparse.csr_array]:
    """Return the terms of some rows.

    - ``each``: C_h = step^h ⊙ pattern(distance < h) for h = 2 … H, on which N^h goes beyond Ā^h ⊙ M^(h).
    - ``last``: step^H ⊙ M^(h) for h < H.
    - ``released``: diag(step^H).

    ``own`` holds the rows of I and ``first`` the rows of the step (N or Ā); ``step`` and ``loops`` are the
    whole step and I, as ``times(left, right, what, mask)`` takes its right side.
    """
    if powers == "plain" or (powers == "each" and hops == 1):
        return []
    pattern = (step.astype(bool) + loops).tocsr()
    power, within = own.astype(np.float64), own
    shells, terms = [own], []
    for h in range(1, hops):
        what = f"hop {h + 1} of {hops}"
        power = first if h == 1 else times(power, step, what)
        if powers != "released":
            # Booleans: their sparse product is a logical or, and > then means: reached, and not before.
            wider = (first.astype(bool) + own).tocsr() if h == 1 else times(within, pattern, what)
            shells.append((wider > within).tocsr())
            within = wider
        if powers == "each":
            terms.append(times(power, step, what, within))
    if powers == "each":
        return terms
    whole = times(power, step, f"{hops} hops", within)
    return [(whole * shell).tocsr() for shell in shells]


def local_terms(graph: Graph, step: sparse.csr_array, hops: int, powers: Powers) -> sparse.csr_array | None:
    """Return the terms of a whole graph on top of each other, from the cache where they are; None without."""
    if powers == "plain" or (powers == "each" and hops == 1):
        return None
    identity = sparse.eye_array(graph.n_nodes, format="csr", dtype=bool)

    def compute() -> sparse.csr_array:
        terms = correction_terms(identity, step, step, identity, hops, powers, times)
        return sparse.vstack(terms, format="csr")

    return cached(graph, f"{powers}-{hops}", compute)


def times(
    left: sparse.csr_array, right: sparse.csr_array, what: str, mask: sparse.csr_array | None = None
) -> sparse.csr_array:
    """Return the product with a step that is held whole."""
    return (left @ right).tocsr() if mask is None else masked_product(left, right, mask, what)


# -- the rows of a share -----------------------------------------------------------------------------


def near_rows(share: GraphShare, hops: int, powers: Powers) -> sparse.csr_array:
    """Return N or Ā, then the terms: several times n_k × n, of the share's rows alone.

    A product with N needs N's rows one after the other: Σ_q L[:, q] N[q, :] over the shares q. So a rank
    never holds more than its own rows and those of one other.
    """

    def times_of_all(
        left: sparse.csr_array, right: sparse.csr_array, what: str, mask: sparse.csr_array | None = None
    ) -> sparse.csr_array:
        total = sparse.csr_array(left.shape, dtype=np.result_type(left.dtype, right.dtype))
        for done, (at, block) in enumerate(share.each(right)):
            own = left[:, at]
            part = own @ block if mask is None else masked_product(own, block, mask, "", block.T.tocsr())
            total = (total + part).tocsr()  # a sum of sparse matrices stores no zeros
            tell(what, done + 1, share.ranks.size)
        total.sort_indices()
        return total

    identity = sparse.eye_array(share.stop - share.start, share.n_nodes, k=share.start, format="csr")
    step = share.adjacency.astype(np.float64)
    if powers != "each":
        step = (step + identity).tocsr()
    scale = (share.degrees + 1) ** -0.5
    step.data *= np.repeat(scale[share.start : share.stop], np.diff(step.indptr))
    step.data *= scale[step.indices]
    own = identity.astype(bool).tocsr()
    terms = correction_terms(own, step, step, own, hops, powers, times_of_all)
    found = sparse.vstack([step, *terms], format="csr") if terms else step
    found.sort_indices()
    return found


# -- the cache on disk -------------------------------------------------------------------------------


def cached(graph: Graph, what: str, compute: Callable[[], sparse.csr_array]) -> sparse.csr_array:
    """Read a matrix of a large graph from the cache, by the graph's fingerprint, or compute and write it."""
    if graph.adjacency.nnz < WORTH_KEEPING:
        return compute()
    path = cache_folder() / "hops" / f"{graph.fingerprint[:32]}-{what}.safetensors"
    found = _read(path)
    if found is None:
        found = compute()
        try:
            _write(path, found)
        except FileError as error:  # a cache that cannot be written to costs time, not the answer
            warn(f"{error} The hop operator is not cached.")
    return found


def _write(path: Path, matrix: sparse.csr_array) -> None:
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    facts = {"shape": json.dumps(matrix.shape), "blake2b": _digest(arrays)}
    write_whole(path, save(arrays, facts))


def _read(path: Path) -> sparse.csr_array | None:
    """Return what is in the cache, if it is complete."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = file.metadata()
        arrays = load_file(path)
        if facts["blake2b"] != _digest(arrays):
            return None
        shape = json.loads(facts["shape"])
        return checked_csr(path, "hops", arrays["data"], arrays["indices"], arrays["indptr"], shape)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        return None


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
