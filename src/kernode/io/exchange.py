"""Graphs of other libraries: networkx, PyTorch Geometric, scipy; in, and back out."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError, MissingExtraError, bad_setting, warn
from kernode.graph import Graph
from kernode.io.tables import read_table
from kernode.io.tables.encoding import Features

# What turns the things of another library into a graph, by the package that their classes are of.
_CONVERTERS = {
    "torch_geometric": "kernode.from_pyg(data)",
    "networkx": "kernode.from_networkx(graph)",
    "scipy": "kernode.from_scipy(adjacency, features)",
    "numpy": "kernode.from_scipy(scipy.sparse.csr_array(adjacency), features)",
    "pandas": "kernode.read_table(edges, nodes)",
    "polars": "kernode.read_table(edges, nodes)",
    "pyarrow": "kernode.read_table(edges, nodes)",
}


def require_graph(graph: Any, missing: str = "give the graph") -> Graph:
    """The graph itself, or a sentence that says what makes one of it; ``missing`` is for None."""
    if isinstance(graph, Graph):
        return graph
    how = missing if graph is None else _converter(graph)
    if isinstance(graph, str | tuple):
        how = "graph, split = kernode.load(name)"
    raise InputError(
        f"graph must be a kernode.Graph{f': {how}' if how else ''}. Got {type(graph).__name__}.",
        "missing" if graph is None else "setting",
        setting="graph",
    )


def is_foreign_graph(thing: Any) -> bool:
    """Whether it is a graph of another library; arrays and tables may be pairs or nodes instead."""
    loaded = isinstance(thing, tuple) and bool(thing) and isinstance(thing[0], Graph)
    return loaded or (_converter(thing) is not None and not hasattr(thing, "__array__"))


def _converter(graph: Any) -> str | None:
    """The call that makes a graph of another library's thing, or None where there is none."""
    packages = (base.__module__.partition(".")[0] for base in type(graph).__mro__)
    return next((_CONVERTERS[package] for package in packages if package in _CONVERTERS), None)


def from_scipy(adjacency: Any, features: Any, labels: Any = None, **names: Any) -> Graph:
    """A graph from any square sparse matrix: entries are edges, made undirected, without loops.

    >>> directed = sparse.csr_array([[0, 2.0], [0, 1.0]])
    >>> graph = from_scipy(directed, features=np.eye(2))
    >>> graph.adjacency.toarray(), graph.notes
    (array([[0., 2.],
           [2., 0.]], dtype=float32), ('made undirected', 'dropped 1 self-loop'))
    """
    if not sparse.issparse(adjacency) or adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        got = f"{type(adjacency).__name__} {getattr(adjacency, 'shape', '')}"
        raise bad_setting("adjacency", "a square scipy sparse matrix", got)
    entries = adjacency.tocoo()
    there = entries.data != 0  # an explicit zero is no edge
    edges = np.column_stack([entries.row, entries.col])[there]
    weights = entries.data[there]
    plain = weights.dtype == bool or (weights == 1).all()
    return Graph.from_edges(edges, features, labels, weights=None if plain else weights, **names)


def from_networkx(
    graph: Any, *, label: str | None = None, features: Features | str | None = None, weight: str = "weight"
) -> Graph:
    """A graph from a networkx one: node attributes become columns, as :func:`read_table` reads them.

    Nodes keep their names; an attribute that a node lacks is missing. ``weight`` is the edges' attribute.

    >>> import networkx
    >>> club = networkx.karate_club_graph()
    >>> from_networkx(club, label="club")
    Graph('zachary_karate_club': 34 nodes, 78 edges, 66 features, 2 classes)
    """
    names = [str(node) for node in graph.nodes]
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(
            f"two nodes are written {repeated!r}. Relabel one of them in networkx.",
            "duplicate",
            name=repeated,
        )
    attributes = {str(name): None for _, values in graph.nodes(data=True) for name in values}
    nodes: dict[str, Any] = {"(node)": names}
    for attribute in attributes:
        nodes[attribute] = [graph.nodes[node].get(attribute) for node in graph.nodes]
    ends = [(str(u), str(v)) for u, v in graph.edges()]
    edges: dict[str, Any] = {"source": [u for u, _ in ends], "target": [v for _, v in ends]}
    weights = [values.get(weight) for _, _, values in graph.edges(data=True)]
    if any(value is not None for value in weights):
        edges["weight"] = ["1" if value is None else str(value) for value in weights]
    name = str(graph.name or "networkx").lower().replace(" ", "_").replace("'s", "")
    return read_table(edges, nodes, id="(node)", label=label, features=features, name=name)


def to_networkx(graph: Graph) -> Any:
    """A networkx graph with ``features``, ``label`` (a class name, or None) and ``weight``.

    >>> graph = Graph.from_edges([(0, 1)], np.eye(2), [0, -1], node_names=["ann", "bob"])
    >>> to_networkx(graph).nodes["ann"]["label"]
    '0'
    """
    import networkx

    names = list(range(graph.n_nodes)) if graph.node_names is None else graph.node_names.tolist()
    rows = _dense(graph)
    out = networkx.Graph(name=graph.name)
    for node, name in enumerate(names):
        label = graph.labels[node]
        out.add_node(name, features=rows[node], label=graph.class_names[label] if label >= 0 else None)
    upper = sparse.triu(graph.adjacency).tocoo()
    out.add_weighted_edges_from(
        (names[u], names[v], weight)
        for u, v, weight in zip(upper.row, upper.col, upper.data.tolist(), strict=True)
    )
    return out


def from_pyg(data: Any, *, name: str = "pyg") -> Graph:
    """A graph from PyTorch Geometric's ``Data``: x, edge_index, y, and weights of edges where there are any.

    Weights are ``edge_weight``, or an ``edge_attr`` of one number per edge; an ``edge_attr`` of several is
    left out, with a warning. What was taken or left out stands in the graph's ``notes``. Labels below 0 are
    unknown. Masks are not part of a graph, and do as nodes: ``fit(data.train_mask, data.y, graph=graph)``.
    """
    import torch

    _require_data(data)
    labels = _labels_of(data)
    weights, notes = _weights_of(data)
    x = data.x.cpu()
    if x.layout != torch.strided:
        coo = x.to_sparse_coo().coalesce()
        row, column = coo.indices().numpy()
        features: Any = sparse.csr_array((coo.values().numpy(), (row, column)), shape=tuple(x.shape))
    else:
        features = x.numpy()
    graph = Graph.from_edges(data.edge_index.cpu().numpy().T, features, labels, weights=weights, name=name)
    return replace(graph, notes=(*notes, *graph.notes))


def _require_data(data: Any) -> None:
    """Raise unless it is one graph with one kind of nodes."""
    import torch

    tensors = (getattr(data, part, None) for part in ("x", "edge_index"))
    several = {"HeteroData", "Dataset"} & {base.__name__ for base in type(data).__mro__}
    if several or not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        kind = (
            "a Data of PyTorch Geometric with x and edge_index, such as dataset[0] or hetero.to_homogeneous()"
        )
        raise bad_setting("data", kind, type(data).__name__)


def _labels_of(data: Any) -> np.ndarray | None:
    if getattr(data, "y", None) is None:
        return None
    y: np.ndarray = data.y.cpu().numpy()
    if y.ndim > 1 and y.shape[-1] > 1:
        raise InputError(
            f"y has {y.shape[-1]} columns, and a node has one class here. Set data.y to one of them, "
            "or to data.y.argmax(dim=1) where each row has a single 1.",
            "shape",
            setting="y",
        )
    return y.reshape(-1)


def _weights_of(data: Any) -> tuple[np.ndarray | None, list[str]]:
    """Weights of the edges, if there are any, and notes."""
    weights, attributes = getattr(data, "edge_weight", None), getattr(data, "edge_attr", None)
    notes = []
    if attributes is not None:
        width = attributes.reshape(len(attributes), -1).shape[1]
        if weights is None and width == 1:
            weights = attributes
            notes.append("took edge_attr, one number per edge, for the weights of edges")
        else:
            notes.append(f"left out edge_attr: {width} numbers per edge")
        if width > 1:
            warn(
                f"edge_attr has {width} numbers per edge, and a kernode graph takes none. "
                "Set data.edge_weight to the one that says how strong an edge is, if any does."
            )
    return None if weights is None else weights.cpu().numpy().reshape(-1), notes


def to_pyg(graph: Graph) -> Any:
    """PyTorch Geometric's ``Data``: dense x, edge_index in both directions, y (−1 unknown), edge_weight."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about how PyTorch Geometric uses it
            from torch_geometric.data import Data
    except ImportError:
        raise MissingExtraError(
            "to_pyg needs PyTorch Geometric: pip install 'kernode[pyg]'.",
            "extra",
            package="torch_geometric",
            extra="pyg",
        ) from None
    rows = _dense(graph)
    entries = graph.adjacency.tocoo()
    weighted = bool((entries.data != 1).any())
    return Data(
        x=torch.tensor(rows, dtype=torch.float32),
        edge_index=torch.tensor(np.stack([entries.row, entries.col]), dtype=torch.int64),
        y=torch.tensor(graph.labels),
        edge_weight=torch.tensor(entries.data) if weighted else None,
    )


def _dense(graph: Graph) -> np.ndarray:
    x: Any = graph.features
    return x.toarray() if sparse.issparse(x) else x
