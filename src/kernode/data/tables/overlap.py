"""How other tables relate to a graph from tables: do they list its nodes, or only mention them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.data.tables.columns import Encoding
from kernode.data.tables.edges import read_edges
from kernode.data.tables.ids import places
from kernode.data.tables.nodes import Listed
from kernode.data.tables.table import Table
from kernode.graph import Graph


@dataclass(frozen=True)
class Overlap:
    """Counts of nodes in a pair of tables."""

    unlisted: int  # that only edges mention
    listed_again: int  # of the graph, that the table of nodes lists
    only_mentioned: int  # of the graph, that it does not list, and edges mention

    @classmethod
    def of(cls, graph: Graph | None, edges: Table, nodes: Table | None, encoding: Encoding) -> Overlap:
        """Of tables that are read as the encoding says; without a graph, only what they are in themselves."""
        import pyarrow as pa

        empty = pa.array([], pa.large_string())
        listed = Listed.of(nodes, encoding.id).ids
        pairs = read_edges(
            edges,
            encoding.source,
            encoding.target,
            encoding.weight,
            written=encoding.weights_written,
            guess=False,
        )
        mentioned = pairs.ids.take(np.unique(pairs.ends)).unique()
        unlisted = mentioned.filter(pa.array(places(mentioned, listed) < 0))
        names: Any = None if graph is None else graph.node_names
        known = empty if names is None else pa.array(names.tolist(), pa.large_string())
        return cls(len(unlisted), *(int((places(ids, known) >= 0).sum()) for ids in (listed, unlisted)))
