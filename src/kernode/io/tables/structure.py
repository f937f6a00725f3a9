"""Features of nodes that have none: their degree, and where they are in the graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernode.compute.chunks import row_chunks
from kernode.config import Config
from kernode.io.tables.kinds import Feature

_WORD = 64  # signs, by which the hash of a name is long
_BLOCK = 8  # positions at a time


@dataclass(frozen=True)
class Structure(Config):
    """log(1 + degree), standardised, and random-projection positions.

    A node's name gives it a row of random signs, R. Its position is what of it and its neighbours arrives
    after 1 … ``steps`` steps of a random walk, ``Σ_k (D̃⁻¹ Ã)^k R`` with rows of length 1, so that nodes
    with many short walks between them have like positions. Spectral coordinates say much the same, but a
    single new node changes all of them; here it changes those of nodes within ``steps`` hops only, and
    the signs of a node are the same in every later state of the graph.
    """

    mean: float
    scale: float
    positions: int = 64
    steps: int = 3

    @classmethod
    def learn(cls, adjacency: sparse.csr_array, positions: int) -> Structure:
        """Mean and standard deviation of log(1 + degree)."""
        degrees = _log_degrees(adjacency)
        return cls(float(degrees.mean()), float(degrees.std()) or 1.0, positions)

    def encode(self, adjacency: sparse.csr_array, names: np.ndarray) -> np.ndarray:
        """n × (1 + positions); a few at a time, in a fraction of their memory."""
        found = np.empty((len(names), 1 + self.positions), np.float32)
        found[:, 0] = np.clip((_log_degrees(adjacency) - self.mean) / self.scale, -5, 5)
        size = -(-self.positions // _WORD) * _WORD // 8
        digests = b"".join(
            hashlib.blake2b(str(name).encode(), digest_size=size).digest() for name in names.tolist()
        )
        words = np.frombuffer(digests, np.uint8).reshape(len(names), -1)
        with_loops = adjacency + sparse.eye_array(adjacency.shape[0], dtype=np.float32, format="csr")
        share = (1 / with_loops.sum(axis=1, dtype=np.float64)).astype(np.float32)[:, None]
        for start in range(0, self.positions, _BLOCK):
            block = found[:, 1 + start : 1 + start + _BLOCK]
            bits = np.unpackbits(words[:, start // 8 : (start + _BLOCK) // 8], axis=1)[:, : block.shape[1]]
            arrived, block[:] = bits.astype(np.float32), 0
            arrived *= 2
            arrived -= 1
            for _ in range(self.steps):
                arrived = with_loops @ arrived
                arrived *= share
                block += arrived
        for rows in row_chunks(found):
            positions = found[rows, 1:]
            positions /= np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 1e-6)
        return found

    @property
    def features(self) -> tuple[Feature, ...]:
        """Degree and positions."""
        degree = f"log(1 + degree), standardised: mean {self.mean:.4g}, deviation {self.scale:.4g}"
        place = "of a place in the graph, within rows of length 1"
        positions = (Feature(f"position {at}", place) for at in range(self.positions))
        return (Feature("degree", degree), *positions)

    def __str__(self) -> str:
        return f"degree, and {self.positions} random-projection positions over {self.steps} steps"


def _log_degrees(adjacency: sparse.csr_array) -> np.ndarray:
    return np.log1p(np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel())
