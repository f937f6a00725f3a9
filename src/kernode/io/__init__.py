"""Reading and writing graphs, and splits of their nodes and edges."""

from __future__ import annotations

import os
from pathlib import Path

from kernode.errors import InputError, bad_setting
from kernode.graph import Graph
from kernode.io.node_split import Split, random_split, read_split, split_nodes
from kernode.io.npz import read_npz, write_npz
from kernode.io.planetoid import read_fetched
from kernode.io.registry import DataSet, datasets, find, is_registered
from kernode.io.shards import Store, is_store, write_store
from kernode.io.synthetic import Synthetic, is_synthetic
from kernode.io.tables import extend, is_table, read_table
from kernode.io.tables.source import SUFFIXES

__all__ = [
    "DataSet",
    "Split",
    "Store",
    "Synthetic",
    "datasets",
    "extend",
    "load",
    "load_graph",
    "random_split",
    "read_npz",
    "read_split",
    "read_table",
    "split_nodes",
    "write_npz",
    "write_store",
]


def load(
    data: str | os.PathLike[str] | Graph, split: str | os.PathLike[str] | None = None, seed: int = 0
) -> tuple[Graph, Split]:
    """Load a graph and split its nodes: "fastgcn", "public", "jk", fractions "0.6/0.2/0.2" or counts.

    Or as a file says, ``split="mine.npz"``. More on what ``data`` and ``split`` may be: :func:`load_graph`,
    :func:`split_nodes` and :func:`read_split`.

    >>> graph, split = load("cora", split="fastgcn")
    >>> graph, split
    (Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes),
     Split(1,208 training, 500 validation, 1,000 test nodes))
    """
    graph = load_graph(data)
    return graph, split_nodes(graph, split, [seed])[0]


def load_graph(data: str | os.PathLike[str] | Graph) -> Graph:
    """Load a graph by its name (fetched on first use, or made), from a file, or take it as it is.

    Files are .npz graphs, or tables of edges as :func:`read_table` reads them. The folder of a store
    (:class:`kernode.io.Store`) is read whole.

    >>> load_graph("cora").class_names[3]
    'Neural_Networks'
    >>> load_graph("synthetic:nodes=1000,degree=8").n_edges
    4000
    """
    if isinstance(data, Graph):
        return data
    if not isinstance(data, str | os.PathLike):
        raise bad_setting("data", "a data set's name, a file's path or a Graph", type(data).__name__)
    name, path = os.fspath(data), Path(data)
    if isinstance(data, str) and is_synthetic(name):
        return Synthetic.parse(name).graph()
    if is_table(name) and not is_store(path):
        return read_table(data)
    is_name = isinstance(data, str) and not path.suffix and path.name == name
    if is_name and (is_registered(name) or not is_store(path)):
        return read_fetched(find(name))
    if path.is_dir():
        return Store.open(path).whole()
    if path.suffix.lower() == ".npz":
        return read_npz(path)
    sentence = (
        f"{path} is neither an .npz graph, a table of edges ({', '.join(SUFFIXES)}) nor a store. "
        "Convert it, or build the graph with Graph.from_edges."
    )
    raise InputError(sentence, "wrong-file", path=str(path))
