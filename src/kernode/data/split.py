"""A split of a graph's nodes is a value: checked once, and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training, validation and test nodes: sorted, without repeats, no node in two parts.

    >>> split = Split(train=[4, 0, 2], validation=[1], test=[3])
    >>> split
    Split(3 training, 1 validation, 1 test nodes)
    >>> split.train
    array([0, 2, 4])
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def __init__(self, train: Any, validation: Any, test: Any) -> None:
        parts = {"train": train, "validation": validation, "test": test}
        for part, nodes in parts.items():
            object.__setattr__(self, part, _checked_nodes(part, nodes))
        _require_disjoint(self)

    def __repr__(self) -> str:
        train, validation, test = (f"{len(part):,}" for part in (self.train, self.validation, self.test))
        return f"Split({train} training, {validation} validation, {test} test nodes)"


def check_split(split: Split, n_nodes: int) -> None:
    """Raise unless every node of a split is a node of the graph.

    >>> check_split(Split([0, 1], [2], [7]), n_nodes=5)
    Traceback (most recent call last):
    kernode.errors.InputError: split.test: node 7 is not in the graph; nodes run from 0 to 4.
    """
    for part in ("train", "validation", "test"):
        nodes = getattr(split, part)
        if len(nodes) and nodes[-1] >= n_nodes:  # sorted, and not negative since it was made
            raise InputError(
                f"split.{part}: node {nodes[-1]} is not in the graph; nodes run from 0 to {n_nodes - 1}."
            )


def _checked_nodes(part: str, nodes: Any) -> np.ndarray:
    nodes = np.asarray(nodes)
    if nodes.size == 0:
        nodes = nodes.astype(np.int64)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise InputError(
            f"split.{part} must be a list of node indices. Got {nodes.dtype} of shape {nodes.shape}."
        )
    nodes = np.sort(nodes).astype(np.int64)
    if len(nodes) and nodes[0] < 0:
        raise InputError(f"split.{part}: node {nodes[0]} is negative. Nodes are counted from 0.")
    repeated = nodes[1:][nodes[1:] == nodes[:-1]]
    if len(repeated):
        raise InputError(f"split.{part}: node {repeated[0]} is listed twice. Keep it once.")
    nodes.setflags(write=False)
    return nodes


def _require_disjoint(split: Split) -> None:
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        shared = np.intersect1d(getattr(split, one), getattr(split, other), assume_unique=True)
        if len(shared):
            raise InputError(f"split: node {shared[0]} is in {one} and in {other}. Keep it in one part.")
