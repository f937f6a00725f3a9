"""Which candidate stands for a method: rules that see validation accuracies, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernode.node_classification.halving import choose
from kernode.studies.compare.trials import Trial, Trials

CHOOSE_ON = 5  # splits
EVERY_SPLIT = 0  # instead of a number of splits: a choice on each


def by_first_splits(trials: Trials, first: int) -> list[int] | None:
    """One candidate for all splits: that with the highest mean validation accuracy over the first few.

    Only it is trained on the others. Where it is lost on one of them the next best takes its place, and
    where none is left there is no answer. The first of equals wins.
    """
    splits, numbers = range(len(trials.splits)), range(len(trials.candidates))
    seen = splits[:first]
    trials.run((s, c) for s in seen for c in numbers)
    means = {
        c: np.mean([trials.validation(s, c) for s in seen])
        for c in numbers
        if not any((s, c) in trials.lost for s in seen)
    }
    for best in sorted(means, key=lambda c: -means[c]):
        trials.run((s, best) for s in splits)
        if not any((s, best) in trials.lost for s in splits):
            return [best] * len(splits)
    return None


def on_every_split(trials: Trials, pick: Callable[[Sequence[Trial]], int]) -> list[int] | None:
    """A candidate for each split, by what was seen on that split alone; None where one has none left."""
    numbers = range(len(trials.candidates))
    trials.run((s, c) for s in range(len(trials.splits)) for c in numbers)
    picked = []
    for s in range(len(trials.splits)):
        there = {c: trials.trained[s, c] for c in numbers if (s, c) in trials.trained}
        if not there:
            return None
        picked.append(list(there)[pick(list(there.values()))])
    return picked


def best_validation(trials: Sequence[Trial]) -> int:
    """The one with the highest validation accuracy at the epoch it kept; the first of equals."""
    return int(np.argmax([trial.validation for trial in trials]))


def as_auto(trials: Sequence[Trial]) -> int:
    """The one that "auto" would keep."""
    return choose([trial.history[:, None] for trial in trials])
