"""A graph as a value: checked once at the door. Its adjacency, neighbourhoods, names and growth."""

from kernode.graph.graph import Graph, checked_nodes, typed_names

__all__ = ["Graph", "checked_nodes", "typed_names"]
