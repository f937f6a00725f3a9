"""What whoever trained should hear of it beside the figures."""

from __future__ import annotations

import numpy as np

from kernode.errors import warn
from kernode.training.settings import Training


def advise_more_epochs(
    kept: np.ndarray, training: Training, history: dict[str, np.ndarray], score: str
) -> None:
    """Warn where the best epoch was the last, for at least half of the replicas (r kept epochs).

    Not where patience ended training, nor where validation (E × r, in percent) could not be better.
    """
    values = history.get(score)
    if training.selection != "best" or values is None or not 0 < training.epochs == len(values):
        return
    could_be_better = values.max(axis=0) < 100
    if 2 * np.count_nonzero((kept == training.epochs) & could_be_better) >= len(kept):
        warn(
            f"the best epoch was the last ({training.epochs} of {training.epochs}): training longer may "
            f"help, e.g. {2 * training.epochs} epochs."
        )
