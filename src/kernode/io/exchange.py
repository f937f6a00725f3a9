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
from kernode.graph.graph import as_array
from kernode.io.tables import read_table
from kernode.io.tables.encoding import Features

# Calls that make a graph of another library's objects, by package.
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
    """Return the graph, or raise with the call that converts its type; ``missing`` is for None."""
    if isinstance(graph, Graph):
        return graph
    how = missing if graph is None else _converter(graph)
    if isinstance(graph, str | tuple):
        how = "graph, split = kernode.load(name)"
    sentence = f"graph must be a kernode.Graph{f': {how}' if how else ''}. Got {type(graph).__name__}."
    raise InputError(sentence, "missing" if graph is None else "setting", setting="graph")


def is_foreign_graph(thing: Any) -> bool:
    """Whether an object is a graph of another library; arrays and tables may be pairs or nodes."""
    loaded = isinstance(thing, tuple) and bool(thing) and isinstance(thing[0], Graph)
    return loaded or (_converter(thing) is not None and not hasattr(thing, "__array__"))


def _converter(graph: Any) -> str | None:
    """The call that makes a graph of another library's object, or None."""
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
    features = features if sparse.issparse(features) else as_array("features", features)
    if not sparse.issparse(adjacency) or adjacency.shape != 2 * features.shape[:1]:
        got = f"{type(adjacency).__name__} {getattr(adjacency, 'shape', '')}, features {features.shape}"
        raise bad_setting("adjacency", "a square scipy sparse matrix, with a row for each of features", got)
    entries = adjacency.tocoo()
    there = entries.data != 0  # an explicit zero is no edge
    edges = np.column_stack([entries.row, entries.col])[there]
    weights = entries.data[there]
    plain = weights.dtype == bool or (weights == 1).all()
    return Graph.from_edges(edges, features, labels, weights=None if plain else weights, **names)


def from_networkx(
    graph: Any, *, label: str | None = None, features: Features | str | None = None, weight: str = "weight",
    task: str = "auto",
) -> Graph:  # fmt: skip
    """A graph from a networkx one: node attributes become columns, as :func:`read_table` reads them.

    Nodes keep their names; an attribute that a node lacks is missing. ``weight`` is the edges' attribute.

    >>> import networkx
    >>> club = networkx.karate_club_graph()
    >>> from_networkx(club, label="club")
    Graph('zachary_karate_club': 34 nodes, 78 edges, 66 features, 2 classes)
    """
    names = [str(node) for node in graph.nodes]
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        sentence = f"two nodes are written {name!r}. Relabel one of them in networkx."
        raise InputError(sentence, "duplicate", name=name)
    nodes: dict[str, Any] = {"(node)": names}
    for attribute in dict.fromkeys(name for _, values in graph.nodes(data=True) for name in values):
        nodes[str(attribute)] = [value for _, value in graph.nodes(data=attribute)]
    ends = [(str(u), str(v)) for u, v in graph.edges()]
    edges: dict[str, Any] = {"source": [u for u, _ in ends], "target": [v for _, v in ends]}
    weights = [values.get(weight) for _, _, values in graph.edges(data=True)]
    if any(value is not None for value in weights):
        edges["weight"] = ["1" if value is None else str(value) for value in weights]
    name = str(graph.name or "networkx").lower().replace(" ", "_").replace("'s", "")
    return read_table(edges, nodes, id="(node)", label=label, task=task, features=features, name=name)


def from_pyg(data: Any, *, name: str = "pyg") -> Graph:
    """A graph from PyTorch Geometric's ``Data``: x, edge_index, y, and weights of edges where there are any.

    Weights are ``edge_weight``, or an ``edge_attr`` of one number per edge; an ``edge_attr`` of several is
    left out, with a warning. What was taken or left out stands in the graph's ``notes``. Labels below 0 are
    unknown; a ``y`` of floating point becomes ``targets``, unknown where it is NaN. Masks are not part of a
    graph, and do as nodes: ``fit(data.train_mask, data.y, graph=graph)``.
    """
    import torch

    whole = all(isinstance(getattr(data, part, None), torch.Tensor) for part in ("x", "edge_index"))
    if not whole or isinstance(data, torch.utils.data.Dataset):
        one = "a Data of PyTorch Geometric with x and edge_index: dataset[0], hetero.to_homogeneous()"
        raise bad_setting("data", one, type(data).__name__)
    y = getattr(data, "y", None)
    if y is not None and y.dim() > 1 and y.shape[-1] > 1:
        sentence = (
            f"y has {y.shape[-1]} columns, and a node has one class here. Set data.y to one of them, "
            "or to data.y.argmax(dim=1) where each row has a single 1."
        )
        raise InputError(sentence, "shape", setting="y")
    weights, attributes = getattr(data, "edge_weight", None), getattr(data, "edge_attr", None)
    notes: tuple[str, ...] = ()
    if attributes is not None:
        width = attributes.reshape(len(attributes), -1).shape[1]
        notes = (f"left out edge_attr: {width} numbers per edge",)
        if weights is None and width == 1:
            weights, notes = attributes, ("took edge_attr, one number per edge, for the weights of edges",)
        elif width > 1:
            warn(
                f"edge_attr has {width} numbers per edge, and a kernode graph takes none. "
                "Set data.edge_weight to the one that says how strong an edge is, if any does."
            )
    labels, weights = (None if one is None else one.cpu().numpy().reshape(-1) for one in (y, weights))
    x = data.x.cpu()
    if x.layout == torch.strided:
        features = x.numpy()
    else:
        coo = x.to_sparse_coo().coalesce()
        row, column = coo.indices().int().numpy()
        features = sparse.csr_array((coo.values().numpy(), (row, column)), shape=tuple(x.shape))
    known = {"labels": labels}
    if labels is not None and labels.dtype.kind == "f":
        known = {"targets": labels, "target_name": "y"}
    graph = Graph.from_edges(data.edge_index.cpu().numpy().T, features, weights=weights, name=name, **known)
    return replace(graph, notes=(*notes, *graph.notes))


def to_pyg(graph: Graph) -> Any:
    """PyTorch Geometric's ``Data``: dense x, edge_index in both directions, y (−1 unknown), edge_weight.

    Of a graph with targets and without classes, y has these in float32, NaN where one is not known.
    """
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about how PyTorch Geometric uses it
            from torch_geometric.data import Data
    except ImportError:
        sentence = "to_pyg needs PyTorch Geometric: pip install 'kernode[pyg]'."
        raise MissingExtraError(sentence, "extra", package="torch_geometric", extra="pyg") from None
    entries = graph.adjacency.tocoo()
    x: Any = graph.features
    weighted = bool((entries.data != 1).any())
    return Data(
        x=torch.tensor(x.toarray() if sparse.issparse(x) else x, dtype=torch.float32),
        edge_index=torch.tensor(np.stack([entries.row, entries.col]), dtype=torch.int64),
        y=torch.tensor(graph.targets).float() if graph.holds_numbers else torch.tensor(graph.labels),
        edge_weight=torch.tensor(entries.data) if weighted else None,
    )
