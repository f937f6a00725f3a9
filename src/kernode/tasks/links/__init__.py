"""The links of a graph, by the same kernel on pairs of nodes (the paper's Eqs. 14-15)."""

from kernode.tasks.links import model  # known to files then

__all__ = ["model"]
