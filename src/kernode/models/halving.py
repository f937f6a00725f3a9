"""How "auto" chooses: several methods train in parallel, and the worst are dropped, again and again.

Successive halving (Jamieson and Talwalkar 2016): all candidates train for a few epochs, those with the best
validation go on, and the last one trains to its end. It costs about three trainings at most of the one that
is kept, and is the same every time: what decides is validation accuracy, or mAP where candidates are kept by
it, after fixed numbers of epochs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RUNGS = ((30, 4), (60, 3), (120, 1))  # after so many epochs, so many go on
JUDGES = 3  # replicas that choose for all, where more share validation nodes


def rungs(candidates: int) -> list[tuple[int, int]]:
    """At which epochs so many candidates become how many.

    >>> rungs(6), rungs(2)
    ([(30, 4), (60, 3), (120, 1)], [(120, 1)])
    """
    found = []
    for epoch, left in RUNGS:
        if candidates > left:
            found.append((epoch, left))
            candidates = left
    return found


def reached(validated: np.ndarray, epoch: int) -> float:
    """The best validation of the first epochs (E × r), as the mean of the replicas."""
    return float(validated[:epoch].max(axis=0).mean())


def survivors(validated: Sequence[np.ndarray], epoch: int, left: int) -> list[int]:
    """Which candidates go on after an epoch, in their order; the first of equals first."""
    ranked = sorted(range(len(validated)), key=lambda i: -reached(validated[i], epoch))
    return sorted(ranked[:left])


def choose(validated: Sequence[np.ndarray]) -> int:
    """Which candidate is kept, if every one had trained to its end: by its validation, E × r each.

    >>> slow, fast = np.linspace(0, 90, 200)[:, None], np.full((200, 1), 70.0)
    >>> choose([slow, fast]), choose([slow, fast - 20])
    (1, 0)
    """
    left = list(range(len(validated)))
    for epoch, count in rungs(len(left)):
        left = [left[i] for i in survivors([validated[i] for i in left], epoch, count)]
    return left[0]
