"""What is predicted: classes of nodes, links. Each task says its targets, losses, scores and baselines."""

from kernode.tasks import classes, links

__all__ = ["classes", "links"]
