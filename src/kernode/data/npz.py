"""Graphs in NPZ files: kernode's own layout and the one of gnn-benchmark."""

from __future__ import annotations

import os
from pathlib import Path

from kernode.data import kernode_npz
from kernode.data.archive import open_archive, write_archive
from kernode.data.gnn_benchmark import read_benchmark
from kernode.graph import Graph


def read_npz(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from an NPZ file, in whichever of the two layouts it is."""
    with open_archive(Path(path)) as archive:
        return kernode_npz.unpack(archive) if kernode_npz.MARK in archive.names else read_benchmark(archive)


def write_npz(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph in kernode's own layout: everything it holds, the same bytes each time.

    >>> import tempfile
    >>> import numpy as np
    >>> graph = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), [0, 1, -1], class_names=("yes", "no"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(graph, Path(folder) / "small.npz")
    ...     read_npz(Path(folder) / "small.npz").class_names
    ('yes', 'no')
    """
    write_archive(Path(path), kernode_npz.pack(graph))
