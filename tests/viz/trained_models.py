"""Models to look at, and names that a page or a picture could take for something else."""

from kernode.node_classification.experiment import run_variant

from kernode.training.run import Run
from tasks import DOUBLE

ODD = ("<script>alert(1)</script>", 'quo"te & co', "$x_1$", "é中", "a" * 300)


def learned(graph, split, seeds=(0, 1), variant="k3", **changes):
    """A model on its graph, as `kernode fit` trains it."""
    return run_variant(graph, variant, Run(seeds, DOUBLE), split=split, changes={"epochs": 12} | changes).on
