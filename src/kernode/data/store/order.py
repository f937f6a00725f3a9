"""Nodes renumbered so that few edges join different parts: METIS, through pymetis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from kernode.data.store.borders import ROW
from kernode.errors import InputError, MissingExtraError
from kernode.graph import Graph


def metis_order(graph: Graph, parts: int) -> tuple[Graph, np.ndarray]:
    """The graph with the nodes of a part beside each other, and where parts begin and end.

    Within a part nodes keep their order. Parts are alike by entries + 16 · nodes, as borders are.
    """
    try:
        import pymetis
    except ImportError as error:
        raise MissingExtraError(
            'An order by METIS needs pymetis. Install it: pip install "kernode[metis]"'
        ) from error
    pointers, columns = graph.adjacency.indptr, graph.adjacency.indices
    edges = pymetis.CSRAdjacency(pointers, columns)
    _, found = pymetis.part_graph(parts, edges, vweights=(np.diff(pointers) + ROW).tolist())
    member = np.asarray(found)
    counts = np.bincount(member, minlength=parts)
    if not counts.all():
        raise InputError(
            f"METIS left {int((counts == 0).sum())} of {parts} parts empty. Ask for fewer parts."
        )
    order = np.argsort(member, kind="stable")
    return reordered(graph, order), np.concatenate([[0], np.cumsum(counts)])


def reordered(graph: Graph, order: np.ndarray) -> Graph:
    """The graph with its nodes in another order; where they have no names, their positions become these."""
    names = np.arange(graph.n_nodes).astype(str) if graph.node_names is None else graph.node_names
    note = "renumbered the nodes by METIS"
    if graph.node_names is None:
        note += "; their names are the positions they had"
    return replace(
        graph,
        adjacency=sparse.csr_array(graph.adjacency[order][:, order]),
        features=graph.features[order],
        labels=graph.labels[order],
        node_names=names[order],
        notes=(*graph.notes, note),
    )
