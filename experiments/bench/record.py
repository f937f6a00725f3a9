"""Results of a suite, their file, and the comparison with a later measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernode.compute.machine import machine
from kernode.errors import FileError, InputError
from kernode.storage import write_whole

ALLOWED_FALL = 0.30  # of a ratio: a busy machine causes smaller ones
# What makes two rows measurements of the same thing.
_IDENTITY = ("suite", "system", "dataset", "device", "replicas", "hidden", "hops", "layers", "entries")


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
    """A claim of the paper, its verdict, and the measurement behind it."""

    claim: str
    verdict: str  # holds, holds in part, does not hold
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """Everything that a suite measured."""

    suite: str
    device: str
    rounds: int
    rows: tuple[Row, ...]
    exponents: tuple[dict[str, Any], ...] = ()
    claims: tuple[Claim, ...] = ()


def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key of a row in plain values: which measurement it is."""
    return tuple(row.get(name) for name in _IDENTITY)


def ratio(reference: float | None, own: float | None) -> float | None:
    """Return how many times faster than the reference; None where either is missing."""
    return reference / own if reference and own else None


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def record(outcome: Outcome, command: str) -> dict[str, Any]:
    """Return a suite as plain values: without date and path, so that two runs differ in figures alone."""
    return {
        "suite": outcome.suite,
        "device": outcome.device,
        "command": command,
        "rounds": outcome.rounds,
        "machine": machine(outcome.device),
        "rows": [row.to_json() for row in outcome.rows],
        "exponents": list(outcome.exponents),
        "claims": [asdict(claim) for claim in outcome.claims],
    }


def file_of(folder: Path, suite: str, device: str) -> Path:
    """Where a suite's record is kept."""
    return folder / f"bench-{suite}-{device}.json"


def save(folder: Path, values: Mapping[str, Any]) -> Path:
    """Write a record, whole or not at all."""
    path = file_of(folder, values["suite"], values["device"])
    write_whole(path, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode())
    return path


def stored(folder: Path, suite: str, device: str) -> dict[str, Any]:
    """Read a record."""
    path = file_of(folder, suite, device)
    if not path.is_file():
        raise InputError(
            f"{path} is not there to compare with. Measure it first: "
            f"python -m experiments bench {suite} --device {device} --results {folder}.",
            "no-file",
            path=path,
        )
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        speeds = [row["ratio_to_pyg_gcn"] for row in values["rows"] if identity(row)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not a benchmark's record. Measure it again.", "wrong-file", path=path
        ) from error
    if not any(speeds):
        raise InputError(
            f"{path} holds no speeds to compare. Check another suite, such as step.", "wrong-file", path=path
        )
    return values


def falls(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows whose ratio to PyG's GCN fell by more than is allowed.

    Ratios, not times: machines differ, and both systems ran side by side.
    """
    old = {identity(row): row["ratio_to_pyg_gcn"] for row in before["rows"]}
    shared = [row for row in now["rows"] if old.get(identity(row)) and row["ratio_to_pyg_gcn"]]
    if not shared:
        raise InputError(
            f"the stored {before['suite']} has no row in common with this run. Name the same data sets.",
            "conflict",
            setting="data",
        )
    return [
        {
            "suite": row["suite"], "system": row["system"], "dataset": row["dataset"],
            "before": old[identity(row)], "now": row["ratio_to_pyg_gcn"],
            "change_percent": round(100 * (row["ratio_to_pyg_gcn"] / old[identity(row)] - 1), 1),
        }
        for row in shared
        if row["ratio_to_pyg_gcn"] < (1 - ALLOWED_FALL) * old[identity(row)]
    ]  # fmt: skip
