"""What a run will take: a lower bound of its memory, and its time from two measured epochs."""

from kernode.studies.cost.estimate import Estimate, estimate

__all__ = ["Estimate", "estimate"]
