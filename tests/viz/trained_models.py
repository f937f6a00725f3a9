from tasks import fit_split


def learned(graph, split, seeds=(0, 1), variant="k3", **changes):
    """A model on its graph, as `kernode fit` trains it."""
    return fit_split(graph, variant, seeds, split, **{"epochs": 12} | changes)._on(None)
