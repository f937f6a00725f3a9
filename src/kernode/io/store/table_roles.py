"""Two Parquet tables that are never read whole: their files, and which column plays which role.

Whatever :func:`kernode.io.read_table` would do to columns by looking at all of them at once is refused, so
that both ways give the same graph or this one gives none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import FileError, InputError
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns.encoding import Features, UnknownLabels
from kernode.io.tables.edges import SOURCES, TARGETS, find_ends, find_weight, ignored_note
from kernode.io.tables.files import IDS, checked_columns
from kernode.io.tables.nodes import WEAK
from kernode.io.tables.table import Table, choose, require
from kernode.io.tables.to_graph import label_column, require_text

_HEAD = 1000  # rows that tell what a column looks like
_BUFFER = 2**20  # bytes: a column of a row group may be larger than the memory


class ParquetTable:
    """A file by its path, and what its footer says."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path, self.name = path, path.name
        with self._readable():
            self._file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        self.rows: int = self._file.metadata.num_rows

    @property
    def types(self) -> dict[str, Any]:
        """Of every column."""
        return {field.name: field.type for field in self.head.columns.schema}

    @cached_property
    def head(self) -> Table:
        """The first rows, with all columns."""
        with self._readable():
            first = next(self._file.iter_batches(_HEAD, use_threads=False), None)
            schema = self._file.schema_arrow
        columns = schema.empty_table() if first is None else pa.Table.from_batches([first])
        return self._table(columns, np.arange(columns.num_rows))

    def read(self, columns: Sequence[str]) -> Table:
        """Some columns of all rows, in the file's order."""
        with self._readable():
            ordered = [name for name in self.head.column_names if name in columns]
            return self._table(
                self._file.read(ordered, use_threads=False).select(ordered), np.arange(self.rows)
            )

    def batches(self, columns: Sequence[str], size: int) -> Iterator[Table]:
        """Some columns, ``size`` rows at a time at most."""
        at = 0
        for batch in self._batches(columns, size, None):
            yield self._table(batch, np.arange(at, at + len(batch)))
            at += len(batch)

    def at(self, rows: np.ndarray, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Some columns of these rows, ascending, as pyarrow tables of ``size`` rows at most."""
        if not len(rows):
            return
        groups = np.array(
            [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        )
        starts = np.concatenate([[0], np.cumsum(groups)])
        wanted = [
            group for group in range(len(groups)) if starts[group + 1] > rows[0] and starts[group] <= rows[-1]
        ]
        at = int(starts[wanted[0]])
        for batch in self._batches(columns, size, wanted):
            first, last = np.searchsorted(rows, (at, at + len(batch)))
            if last > first:
                yield batch.take(rows[first:last] - at)
            at += len(batch)

    def _batches(self, columns: Sequence[str], size: int, groups: list[int] | None) -> Iterator[Any]:
        with self._readable():
            for batch in self._file.iter_batches(
                size, row_groups=groups, columns=list(columns), use_threads=False
            ):
                yield pa.Table.from_batches([batch])

    def _table(self, columns: Any, rows: np.ndarray) -> Table:
        return Table(self.name, checked_columns(columns, self.name), rows)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise FileError(f"{self.path} does not exist. Check the path.") from error
        except (pa.ArrowException, OSError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise FileError(f"{self.path} cannot be read as a table ({reason}). Write it again.") from error


SUFFIXES = (".parquet", ".pq")
_KINDS = ("number", "flag", "date")


class NotBoundedError(InputError):
    """These tables make a graph only in memory, and the sentence says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Two tables and their columns by role."""

    edges: ParquetTable
    nodes: ParquetTable
    id: str
    source: str
    target: str
    weight: str | None
    label: str | None
    label_is_named: bool
    features: Mapping[str, str | None]  # names, each with its kind or None
    unknown: UnknownLabels | None
    edge_notes: tuple[str, ...]
    label_notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        edges: Any,
        nodes: Any = None,
        *,
        id: str | None = None,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        label: str | None = None,
        features: str | Features | None = None,
        positions: int | None = None,
        unknown: str | Sequence[str] | None = None,
        decimal: str | None = None,
        dates: str | None = None,
        encoding: str | None = None,
        header: bool | None = None,
    ) -> Roles:
        """Find the columns by the rules of ``read_table``, of which these are the arguments."""
        for table in (edges, nodes):
            if table is None or Path(table).suffix.lower() not in SUFFIXES or Path(table).is_dir():
                what = "no table of nodes" if table is None else f"{table}"
                raise NotBoundedError(f"two Parquet files are needed, of edges and of nodes. Got {what}.")
        require_text(encoding, header, edges, nodes)
        for option, value in (("positions", positions or None), ("decimal", decimal), ("dates", dates)):
            if value is not None:
                raise NotBoundedError(
                    f"{option} needs all of the graph. Leave it out.", "unsupported", setting=option
                )
        of_edges, of_nodes = ParquetTable(Path(edges)), ParquetTable(Path(nodes))
        ends, notes = _ends(of_edges, source, target, weight)
        weight, noted = find_weight(of_edges.head, weight)
        notes = (*notes, *noted, *ignored_note(of_edges.head, (*ends, weight)))
        id = _id(of_nodes, id)
        features = [features] if isinstance(features, str) else features
        column, label_notes = label_column(of_nodes.head, label, features, guess=True)
        if column is None and unknown is not None:
            raise InputError(
                "texts that mean not known are about the column of the classes. Name it.",
                "missing",
                setting="label",
            )
        roles = cls(
            edges=of_edges,
            nodes=of_nodes,
            id=id,
            source=ends[0],
            target=ends[1],
            weight=weight,
            label=column,
            label_is_named=label is not None,
            features=_features(of_nodes, features, id, column),
            unknown=None if unknown is None else UnknownLabels.given(unknown),
            edge_notes=notes,
            label_notes=label_notes,
        )
        roles._require_types()
        return roles

    def _require_types(self) -> None:
        """Raise where a column is of a type whose meaning depends on all of its values."""
        types = self.edges.types
        for end in (self.source, self.target):
            if not (pa.types.is_integer(types[end]) or is_plain_text(types[end])):
                raise NotBoundedError(
                    f"{self.edges.name}: column {end!r} holds {types[end]}, where ids must be integers or "
                    "text. Write it so."
                )
        if self.weight is not None and not _is_number(types[self.weight]):
            raise NotBoundedError(
                f"{self.edges.name}: column {self.weight!r} holds {types[self.weight]}, where weights must "
                "be numbers. Write it so."
            )
        for name, kind in self.features.items():
            found = self.nodes.types[name]
            if not _is_plain(found) or (kind or "number") not in _KINDS:
                what = kind if kind and kind not in _KINDS else str(found)
                raise NotBoundedError(
                    f"{self.nodes.name}: column {name!r} ({what}) is learned from all of its values at once. "
                    "Leave it out of the features, or write it as columns of numbers, flags or dates.",
                    "unsupported",
                    setting="features",
                    column=name,
                )


def _ends(
    table: ParquetTable, source: str | None, target: str | None, weight: str | None
) -> tuple[tuple[str, str], tuple[str, ...]]:
    head = table.head
    usual = choose(head, source, "source", SOURCES), choose(head, target, "target", TARGETS)
    if len(head.column_names) > 1 and usual == (None, None):
        raise NotBoundedError(
            f"{table.name}: no two columns have usual names for an edge's ends. Name them.",
            "missing",
            setting=("source", "target"),
        )
    one, other, notes = find_ends(head, source, target, weight, None)
    return (one, other), notes


def _id(table: ParquetTable, id: str | None) -> str:
    names = table.head.column_names
    found = choose(table.head, id, "id", IDS)
    if found is None or (id is None and found.lower() in WEAK and found != names[0]):
        raise NotBoundedError(
            f"{table.name}: which column holds the ids? Name one of {', '.join(names)}.",
            "missing",
            setting="id",
        )
    return found


def _features(
    table: ParquetTable, features: Features | None, id: str, label: str | None
) -> dict[str, str | None]:
    head = table.head
    if features is None:
        features = [name for name in head.column_names if name not in (id, label)]
    require(head, list(features), "features")
    if label is not None and label in features:
        raise InputError(f"column {label!r} is the label and cannot be a feature. Take it out of features.")
    if not features:
        raise NotBoundedError(
            f"{table.name} has no columns for features, and positions in the graph need all of it. "
            "Give nodes a column of numbers."
        )
    return dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)


def is_plain_text(kind: Any) -> bool:
    """Whether a type is text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _is_plain(kind: Any) -> bool:
    """Whether values of a type become features one by one, once mean and deviation are known."""
    return _is_number(kind) or any(
        of(kind) for of in (pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp)
    )
