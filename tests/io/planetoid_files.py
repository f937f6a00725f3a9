"""A data set of eight nodes in Planetoid's format, with every oddity of the real ones."""

from __future__ import annotations

import numpy as np
import python2
from scipy import sparse

WORDS = np.arange(1, 8, dtype=np.float32)[:, None] * np.eye(7, 5, dtype=np.float32)
WORDS[:, 4] += np.arange(7)
CLASSES = np.array([0, 1, 2, 0, 2, 1, 0])
TEST_NODES = (6, 4, 7)  # not sorted, and node 5 is left out, as in Citeseer
NEIGHBOURS = {
    0: [1, 1, 2],  # an edge listed twice
    1: [0, 0, 5],
    2: [0, 2, 2, 7],  # a self-loop, which stands twice in its node's list
    3: [4],
    4: [3],
    5: [1],
    6: [],
    7: [2],
}
EDGES = {(0, 1), (0, 2), (1, 5), (2, 7), (3, 4)}


def files(name: str, classes: int) -> dict[str, bytes]:
    words = sparse.csr_array(WORDS)
    one_hot = np.eye(classes, dtype=np.int32)[CLASSES]
    parts = {
        "x": python2.csr(words[:2]),
        "y": python2.array(one_hot[:2]),
        "allx": python2.csr(words[:4]),
        "ally": python2.array(one_hot[:4]),
        "tx": python2.csr(words[4:]),
        "ty": python2.array(one_hot[4:]),
        "graph": python2.neighbours(NEIGHBOURS),
    }
    content = {f"ind.{name}.{ending}": python2.dump(body) for ending, body in parts.items()}
    content[f"ind.{name}.test.index"] = "".join(f"{node}\n" for node in TEST_NODES).encode()
    return content
