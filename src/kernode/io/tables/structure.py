"""Features of nodes that have none: their degree, and where they are in the graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernode.config import Config

_WORD = 64  # signs that one hash gives


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
        """n × (1 + positions)."""
        degrees = np.clip((_log_degrees(adjacency) - self.mean) / self.scale, -5, 5)
        return np.column_stack([degrees.astype(np.float32), self._positions(adjacency, names)])

    def _positions(self, adjacency: sparse.csr_array, names: np.ndarray) -> np.ndarray:
        with_loops = adjacency + sparse.eye_array(adjacency.shape[0], dtype=np.float32, format="csr")
        share = (1 / with_loops.sum(axis=1, dtype=np.float64)).astype(np.float32)[:, None]
        arrived = _signs(names, self.positions)
        total = np.zeros_like(arrived)
        for _ in range(self.steps):
            arrived = with_loops @ arrived
            arrived *= share
            total += arrived
        total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-6)
        return total

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Degree and positions."""
        return ("degree", *(f"position {at}" for at in range(self.positions)))

    @property
    def feature_units(self) -> tuple[str, ...]:
        """What the numbers are."""
        degree = f"log(1 + degree), standardised: mean {self.mean:.4g}, deviation {self.scale:.4g}"
        return (degree, *("of a place in the graph, within rows of length 1",) * self.positions)

    def __str__(self) -> str:
        return f"degree, and {self.positions} random-projection positions over {self.steps} steps"


def _log_degrees(adjacency: sparse.csr_array) -> np.ndarray:
    return np.log1p(np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel())


def _signs(names: np.ndarray, width: int) -> np.ndarray:
    """±1 as a function of each name: n × width."""
    words = -(-width // _WORD)
    digests = b"".join(_digest(name, 8 * words) for name in names.tolist())
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(len(names), -1)[:, :width]
    signs = bits.astype(np.float32)
    signs *= 2
    signs -= 1
    return signs


def _digest(name: Any, size: int) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=size).digest()
