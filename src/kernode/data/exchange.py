"""Graphs of other libraries: networkx, PyTorch Geometric, scipy; in, and back out."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.tables import read_table
from kernode.data.tables.columns.encoding import Features
from kernode.errors import InputError, MissingExtraError
from kernode.graph import Graph


def from_scipy(adjacency: Any, features: Any, labels: Any = None, **names: Any) -> Graph:
    """A graph from any square sparse matrix: entries are edges, made undirected, without loops.

    >>> directed = sparse.csr_array([[0, 2.0], [0, 1.0]])
    >>> graph = from_scipy(directed, features=np.eye(2))
    >>> graph.adjacency.toarray(), graph.notes
    (array([[0., 2.],
           [2., 0.]], dtype=float32), ('made undirected', 'dropped 1 self-loop'))
    """
    if not sparse.issparse(adjacency) or adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        shape = getattr(adjacency, "shape", "")
        raise InputError(
            f"adjacency must be a square scipy sparse matrix. Got {type(adjacency).__name__} {shape}."
        )
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
    import pyarrow as pa

    names = [str(node) for node in graph.nodes]
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"two nodes are written {repeated!r}. Relabel one of them in networkx.")
    attributes = {str(name): None for _, values in graph.nodes(data=True) for name in values}
    nodes: dict[str, Any] = {"(node)": names}
    for attribute in attributes:
        values = [graph.nodes[node].get(attribute) for node in graph.nodes]
        try:
            nodes[attribute] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # of several types, or too large
            nodes[attribute] = pa.array([None if value is None else str(value) for value in values])
    ends = [(str(u), str(v)) for u, v in graph.edges()]
    edges: dict[str, Any] = {
        "source": pa.array([u for u, _ in ends], pa.string()),
        "target": pa.array([v for _, v in ends], pa.string()),
    }
    weights = [values.get(weight) for _, _, values in graph.edges(data=True)]
    if any(value is not None for value in weights):
        edges["weight"] = pa.array(["1" if value is None else str(value) for value in weights])
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
    """A graph from PyTorch Geometric's ``Data``: x, edge_index, y, and edge weights where there are any.

    Labels below 0 are unknown. Its masks are not part of a graph: ``np.flatnonzero(data.train_mask)``.
    """
    import torch

    missing = [part for part in ("x", "edge_index") if getattr(data, part, None) is None]
    if missing:
        raise InputError(f"data has no {missing[0]}, which a graph needs. Add it to the Data object.")
    labels = None if getattr(data, "y", None) is None else data.y.cpu().numpy().reshape(-1)
    weights = getattr(data, "edge_weight", None)
    if weights is None and getattr(data, "edge_attr", None) is not None:
        attributes = data.edge_attr.reshape(data.edge_attr.shape[0], -1)
        weights = attributes[:, 0] if attributes.shape[1] == 1 else None  # several numbers are no weight
    x = data.x.cpu()
    if x.layout != torch.strided:
        coo = x.to_sparse_coo().coalesce()
        row, column = coo.indices().numpy()
        features: Any = sparse.csr_array((coo.values().numpy(), (row, column)), shape=tuple(x.shape))
    else:
        features = x.numpy()
    return Graph.from_edges(
        data.edge_index.cpu().numpy().T,
        features,
        labels,
        weights=None if weights is None else weights.cpu().numpy(),
        name=name,
    )


def to_pyg(graph: Graph) -> Any:
    """PyTorch Geometric's ``Data``: dense x, edge_index in both directions, y (−1 unknown), edge_weight."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about how PyTorch Geometric uses it
            from torch_geometric.data import Data
    except ImportError:
        raise MissingExtraError("to_pyg needs PyTorch Geometric: pip install 'kernode[pyg]'.") from None
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
