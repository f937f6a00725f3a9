"""Classes that differ only in what people write now so, now so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations

from kernode.errors import warn

_SHOWN = 5  # pairs in a warning


def warn_of_twins(where: str, names: Iterable[str], new: Iterable[str] | None = None) -> None:
    """Warn of classes that differ in case, blanks or hyphens only; ``new``: one of them must be of these."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_core(name), []).append(name)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    if new is not None:
        pairs = [pair for pair in pairs if set(new).intersection(pair)]
    if not pairs:
        return
    shown = "; ".join(f"{one!r} and {other!r}" for one, other in pairs[:_SHOWN])
    more = f"; and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
    warn(
        f"{where} has classes that differ only in case, blanks or hyphens, and stay different: "
        f"{shown}{more}. Write them alike if they are one."
    )


def _core(name: str) -> str:
    """A class's name without what people write now so, now so; numbers stay as they are."""
    core = re.sub(r"(?<=\w)[\s_\-\u2010-\u2013]+(?=\w)", "", name.strip().casefold())
    return name if core.isdigit() else core
