"""Tasks: classes of nodes and links. Each defines its targets, losses, scores, baselines and calibration."""

from kernode.tasks import classes, links

__all__ = ["classes", "links"]
