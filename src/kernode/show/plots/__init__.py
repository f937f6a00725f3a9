"""Pictures of a fitted classifier, each on matplotlib's axes: ``kernode.plots``."""

from kernode.show.plots.pictures import (
    confusion,
    coverage,
    embedding,
    gram,
    hop_weights,
    losses,
    reliability,
    validation,
)

__all__ = ["confusion", "coverage", "embedding", "gram", "hop_weights", "losses", "reliability", "validation"]
