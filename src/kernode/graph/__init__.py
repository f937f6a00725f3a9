"""Graph, a value that is checked once: adjacency, node lookup, neighbourhoods, edits and shares."""

from kernode.graph.graph import Graph, typed_names
from kernode.graph.lookup import Lookup, checked_nodes, positions

__all__ = ["Graph", "Lookup", "checked_nodes", "positions", "typed_names"]
