"""What is kept of a measurement, and how a later one is compared with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernode.compute.machine import machine
from kernode.errors import FileError, InputError
from kernode.storage import write_whole
from kernode.studies.bench.rows import Outcome, identity

ALLOWED_FALL = 0.30  # of a ratio: less than that is what a busy machine does


def record(outcome: Outcome, command: str) -> dict[str, Any]:
    """All of a suite as plain values: no date and no path, so that two runs differ in figures alone."""
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
            f"kernode bench {suite} --device {device} --results {folder}."
        )
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        speeds = [row["ratio_to_pyg_gcn"] for row in values["rows"] if identity(row)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path} is not a benchmark's record. Measure it again with --results.") from error
    if not any(speeds):
        raise InputError(f"{path} holds no speeds to compare. Check another suite, such as step.")
    return values


def falls(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows whose ratio to PyG's GCN fell by more than is allowed.

    Ratios, not times: machines differ, and both systems ran side by side.
    """
    old = {identity(row): row["ratio_to_pyg_gcn"] for row in before["rows"]}
    shared = [row for row in now["rows"] if old.get(identity(row)) and row["ratio_to_pyg_gcn"]]
    if not shared:
        raise InputError(
            f"the stored {before['suite']} has no row in common with this run. Give the same --data."
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
