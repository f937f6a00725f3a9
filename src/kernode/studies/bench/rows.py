"""What a suite measures: rows, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Advance = Callable[[int, str], None]  # how far, and what to say beside it
Begin = Callable[[int], Advance]  # takes the number of turns, once it is known

# What makes two rows measurements of the same thing.
_IDENTITY = ("suite", "system", "dataset", "device", "replicas", "hidden", "hops", "layers", "entries")


@dataclass(frozen=True)
class Options:
    """What a user may choose; None leaves a choice to the suite."""

    device: str = "auto"
    data: tuple[str, ...] = ()
    rounds: int | None = None
    threads: int | None = None
    largest: float = 2e7  # adjacency entries of the largest graph, in `scale`
    hidden: int = 128  # our hidden width, in `scale`


@dataclass(frozen=True)
class Row:
    """One system on one data set: milliseconds a step, megabytes at the peak, None where not measured.

    ``facts`` holds what only some suites vary: hops, layers, hidden width, adjacency entries, …
    """

    suite: str
    system: str
    dataset: str
    device: str
    ms_per_step: float | None = None
    peak_mb: float | None = None
    ratio_to_pyg_gcn: float | None = None  # PyG's GCN's time over this one's: above 1 is faster
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values, rounded to what a clock can tell."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "facts"}
        return {name: _rounded(value) for name, value in (values | dict(self.facts)).items()}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it holds here, and the measurement that says so."""

    claim: str
    verdict: str  # holds, holds in part, does not hold
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """All that a suite gives."""

    suite: str
    device: str
    rounds: int
    rows: tuple[Row, ...]
    exponents: tuple[dict[str, Any], ...] = ()
    claims: tuple[Claim, ...] = ()


def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Say which measurement a row in plain values is, whatever it gave."""
    return tuple(row.get(name) for name in _IDENTITY)


def ratio(reference: float | None, own: float | None) -> float | None:
    """How many times faster than the reference; None where either is missing."""
    return reference / own if reference and own else None


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
