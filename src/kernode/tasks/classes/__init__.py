"""The classes of nodes, learned from those of some."""

from kernode.tasks.classes import model, propagation  # known to files then

__all__ = ["model", "propagation"]
