"""The classes of nodes, learned from those of some."""

from kernode.tasks.classes import correct_and_smooth, label_propagation, model  # known to files then

__all__ = ["correct_and_smooth", "label_propagation", "model"]
