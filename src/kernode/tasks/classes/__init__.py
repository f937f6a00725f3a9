"""The classes of nodes, learned from those of some."""

from kernode.tasks.classes import model, propagation  # registers the kinds of files

__all__ = ["model", "propagation"]
