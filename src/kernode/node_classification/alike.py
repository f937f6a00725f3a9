"""Which nodes of a graph are looked for: of a class, of a list, with a value in a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernode.data.tables.conditions import nodes_where
from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.graph.lookup import Positions, as_nodes

_SHOWN = 12  # classes in a sentence


def restricted(
    graph: Graph, among: Any = None, of_class: Any = None, where: Mapping[str, Any] | None = None
) -> Positions | None:
    """Positions of the nodes that meet all of it; None where nothing is said."""
    if among is None and of_class is None and where is None:
        return None
    kept = np.ones(graph.n_nodes, dtype=bool)
    if among is not None:
        kept[:] = False
        kept[np.asarray(graph.find(as_nodes(among)))] = True
    if of_class is not None:
        kept &= graph.labels == class_number(graph, of_class)
    if where is not None:
        kept &= nodes_where(graph, where)
    if not kept.any():
        raise InputError(f"no node of {graph.name!r} meets the conditions. Drop or widen one of them.")
    return positions(kept)


def class_number(graph: Graph, name: Any) -> int:
    """The number of a class of a graph by its name, or by the number itself.

    >>> graph = Graph.from_edges([(0, 1)], np.eye(2), [0, 1], class_names=("light", "dark"))
    >>> class_number(graph, "dark"), class_number(graph, 1)
    (1, 1)
    """
    if str(name) in graph.class_names:
        return graph.class_names.index(str(name))
    if isinstance(name, int | np.integer) and 0 <= name < graph.n_classes:
        return int(name)
    known = ", ".join(map(repr, graph.class_names[:_SHOWN]))
    more = f" and {graph.n_classes - _SHOWN:,} more" if graph.n_classes > _SHOWN else ""
    raise InputError(f"{graph.name!r} has no class {name!r}. Its classes are {known}{more}.")
