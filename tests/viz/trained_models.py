"""Models to look at, and names that a page or a picture could take for something else."""

from tasks import fit_split

ODD = ("<script>alert(1)</script>", 'quo"te & co', "$x_1$", "é中", "a" * 300)


def learned(graph, split, seeds=(0, 1), variant="k3", **changes):
    """A model on its graph, as `kernode fit` trains it."""
    return fit_split(graph, variant, seeds, split, **{"epochs": 12} | changes)._on(None)
