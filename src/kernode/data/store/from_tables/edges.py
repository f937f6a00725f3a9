"""Edges of a Parquet table as the rows of a matrix on the disk, kept until the store is finished."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernode.data.store.from_tables.numbering import number_pairs
from kernode.data.store.from_tables.roles import Roles
from kernode.data.store.from_tables.sorting import sort_rows
from kernode.data.tables.joined import Ends, all_ids
from kernode.data.tables.nodes import Listed
from kernode.data.tables.repairs import Repair
from kernode.errors import FileError, KernodeError
from kernode.storage import write_whole

_FACTS = "sorted.json"  # written last: without it, edges are numbered and sorted again


@dataclass(frozen=True)
class SortedEdges:
    """The adjacency of n nodes in files, and what is said about the table it comes from."""

    entries: np.ndarray  # n: of each row
    indices: Path  # int64, ascending within each row
    weights: Path | None  # float32; None where all are 1
    notes: tuple[str, ...]  # on pairs that were merged or dropped
    ids: Any  # large_string, n
    added: Any  # those that only edges mention
    ends: Ends

    @classmethod
    def of(cls, roles: Roles, listed: Listed, work: Path) -> SortedEdges:
        """Number and sort the edges in a folder, or find there that it is done."""
        try:
            facts = _read(work) or _sort(roles, listed, work)
        except KernodeError:
            raise
        except OSError as error:  # numpy says what it wanted to write, the system why it could not
            reason = error.strerror or str(error)
            raise FileError(f"{work} cannot be written ({reason}). Make room, then go on.") from error
        added = _read_ids(work / "added")
        repairs = tuple(Repair.from_json(repair) for repair in facts["repairs"])
        ends = Ends(roles.source, roles.target, facts["kept"], repairs, roles.edge_notes)
        return cls(
            np.load(work / "entries.npy"),
            work / "indices",
            work / "sorted-weights" if facts["weighted"] else None,
            tuple(facts["notes"]),
            all_ids(listed, added, ends, none_is_listed=facts["none_is_listed"]),
            added,
            ends,
        )


def _sort(roles: Roles, listed: Listed, work: Path) -> dict[str, Any]:
    shutil.rmtree(work, ignore_errors=True)  # what a halt left behind
    work.mkdir()
    pairs = number_pairs(roles, listed.ids, work)
    rows = sort_rows(pairs, len(listed.ids), len(listed.ids) + len(pairs.added), work)
    np.save(work / "entries.npy", rows.entries)
    _write_ids(work / "added", pairs.added)
    sizes = {}
    for written in work.iterdir():
        with written.open("rb") as file:
            os.fsync(file.fileno())
        sizes[written.name] = written.stat().st_size
    facts = {
        "bytes": sizes,
        "kept": pairs.count,
        "none_is_listed": pairs.none_is_listed,
        "repairs": [repair.to_json() for repair in pairs.repairs],
        "weighted": rows.weighted,
        "notes": list(rows.notes),
    }
    write_whole(work / _FACTS, json.dumps(facts).encode())
    return facts


def _read(work: Path) -> dict[str, Any] | None:
    """What is known of edges that were sorted before, if their files are as large as they were."""
    if not (work / _FACTS).is_file():
        return None
    facts = json.loads((work / _FACTS).read_bytes())
    there = {path.name: path.stat().st_size for path in work.iterdir()}
    return facts if all(there.get(name) == size for name, size in facts["bytes"].items()) else None


def _write_ids(path: Path, ids: Any) -> None:
    import pyarrow as pa

    table = pa.table({"id": ids})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def _read_ids(path: Path) -> Any:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:
        chunks = pa.ipc.open_file(file).read_all()["id"].chunks
    return pa.concat_arrays([pa.array([], pa.large_string()), *chunks])
