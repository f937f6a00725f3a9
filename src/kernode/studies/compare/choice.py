"""Which candidate stands for a method: rules that see validation accuracies, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from kernode.models.halving import RUNGS, choose
from kernode.studies.compare.trials import Cell, Trial, Trials

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


def on_every_split(trials: Trials) -> list[int] | None:
    """For each split the candidate with the highest validation accuracy there; the first of equals."""
    trials.run(_all(trials))
    return _for_each(trials, lambda there: int(np.argmax([trial.validation for trial in there])))


def by_halving(trials: Trials) -> list[int] | None:
    """As "auto" chooses, on each split alone: all train as far as the choice looks, and one to its end.

    One that is lost on the way there leaves its place to what would be chosen without it.
    """
    looked = trials.until(RUNGS[-1][0])
    looked.run(_all(looked))
    while picked := _for_each(looked, lambda there: choose([trial.history[:, None] for trial in there])):
        trials.run(enumerate(picked))
        gone = [cell for cell in enumerate(picked) if cell in trials.lost]
        if not gone:
            break
        for cell in gone:
            del looked.trained[cell]
    trials.trained = looked.trained | trials.trained  # what was tried, as far as it was
    trials.lost = looked.lost | trials.lost
    return picked


def _all(trials: Trials) -> list[Cell]:
    return list(product(range(len(trials.splits)), range(len(trials.candidates))))


def _for_each(trials: Trials, pick: Callable[[list[Trial]], int]) -> list[int] | None:
    """A candidate for each split, by what was seen on that split alone; None where one has none left."""
    numbers, picked = range(len(trials.candidates)), []
    for s in range(len(trials.splits)):
        there = {c: trials.trained[s, c] for c in numbers if (s, c) in trials.trained}
        if not there:
            return None
        picked.append(list(there)[pick(list(there.values()))])
    return picked
