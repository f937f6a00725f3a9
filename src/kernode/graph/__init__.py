"""A graph as a value: checked once at the door. Its adjacency, neighbourhoods, names and growth."""

from kernode.graph.graph import Graph, typed_names
from kernode.graph.lookup import Lookup, checked_nodes, positions

__all__ = ["Graph", "Lookup", "checked_nodes", "positions", "typed_names"]
