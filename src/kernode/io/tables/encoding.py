"""All that is done to a node table's columns, learned once, stored with the model, repeated on others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from kernode.compute.machine import free_bytes
from kernode.config import LATER, Config
from kernode.errors import warn
from kernode.io.tables import kinds
from kernode.io.tables.kinds import KINDS, Category, Column, Date, Feature, Number, Text
from kernode.io.tables.notation import (
    LARGEST,
    Clues,
    DateNotation,
    Look,
    Notation,
    NumberNotation,
    date_notation,
    number_notation,
    plain_counts,
    plain_text,
)
from kernode.io.tables.source import too_large
from kernode.io.tables.structure import Structure
from kernode.io.tables.table import NUMERIC, Repair, Table, is_list, is_text

if TYPE_CHECKING:
    from kernode.io.tables.labels import UnknownLabels

_FEW_VALUES = 50  # a column with so few is a category, however long they are
_SHORT = 3.0  # words: longer values are text, where there are many different ones
_SPARSE = 0.25  # share of non-zeros up to which X is kept sparse
_ID_ROWS = 20  # from which on different integers of one long length are ids
_ID_NAME = re.compile(r"(^|[_ ])(id|key|uuid|guid|nr|no)$", re.IGNORECASE)
_SHOWN = 3  # values in a sentence
_LOOKED_AT = 100  # values that cannot be read
Features = Sequence[str] | Mapping[str, str | None]


@dataclass(frozen=True)
class Encoding(Config):
    """Columns of tables by their roles, and what the feature columns become.

    X holds a constant 1 before all else: maps have no bias and may scale rows, and with a constant
    neither loses what a number says.
    """

    columns: tuple[Column, ...]
    structure: Structure | None
    id: str | None
    source: str
    target: str
    weight: str | None
    label: str | None
    classes: tuple[str, ...] = ()  # of the label column, in the order of their numbers
    left_out: tuple[str, ...] = ()  # columns that say nothing or less than they might, with the reason
    notations: tuple[Notation, ...] = ()  # how numbers and dates are written, where not as programs do
    weight_notation: NumberNotation | None = None
    unknown: UnknownLabels | None = None  # what in the label column means not known; None: as files before it
    prefixes: tuple[str, ...] = field(default=("", ""), metadata=LATER)  # of ids of both ends
    negative: str | None = field(default=None, metadata=LATER)  # what is done to weights below 0
    numbers: NumberNotation | None = field(default=None, metadata=LATER)  # of the label; None for classes

    @property
    def _features(self) -> tuple[Feature, ...]:
        own = (feature for column in self.columns for feature in column.features)
        place = self.structure.features if self.structure else ()
        return (Feature("constant", "always 1", 1.0), *own, *place)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for every column of X."""
        return tuple(feature.name for feature in self._features)

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Unit of every column of X, in words."""
        return tuple(feature.unit for feature in self._features)

    @property
    def feature_bounds(self) -> tuple[float, ...]:
        """Bound of the absolute values in every column of X."""
        return tuple(feature.bound for feature in self._features)

    def describe(self) -> tuple[str, ...]:
        """A line for every column."""
        structure = (str(self.structure),) if self.structure else ()
        others = [one for one in (self.weight_notation, self.numbers) if one is not None and not one.is_plain]
        written = map(str, (*self.notations, *others))
        return (*written, *(str(column) for column in self.columns), *structure, *self.left_out)

    def notation(self, column: Column) -> Notation | None:
        """How a column of numbers or dates is written."""
        found = next((one for one in self.notations if one.column == column.name), None)
        usual = DateNotation if isinstance(column, Date) else NumberNotation
        return found or (usual(column.name) if isinstance(column, Number) else None)

    def features(
        self, values: Mapping[str, np.ndarray], adjacency: sparse.csr_array, names: np.ndarray
    ) -> Any:
        """X of n nodes from their values and a graph: n × f in float32, sparse where most of it is zero."""
        encoded = (column.encode(values[column.name]) for column in self.columns)
        place = [self.structure.encode(adjacency, names)] if self.structure else []
        return stacked([np.ones((len(names), 1), np.float32), *encoded, *place])

    def placed(self, x: Any, adjacency: sparse.csr_array, names: np.ndarray) -> Any:
        """X with the places of nodes in a graph computed anew, and all else as it is."""
        if self.structure is None:
            return x
        own = x[:, : x.shape[1] - 1 - self.structure.positions]
        return stacked([own, self.structure.encode(adjacency, names)])


def stacked(parts: Sequence[Any]) -> Any:
    """Columns of X side by side: n × f in float32, sparse where most of it is zero."""
    n, width = parts[0].shape[0], sum(part.shape[1] for part in parts)
    filled = sum(part.nnz if sparse.issparse(part) else np.count_nonzero(part) for part in parts)
    if filled < _SPARSE * n * width:
        whole = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
        return sparse.csr_array(whole.astype(np.float32))
    found, start = np.empty((n, width), np.float32), 0
    for part in parts:
        found[:, start : start + part.shape[1]] = part.toarray() if sparse.issparse(part) else part
        start += part.shape[1]
    return found


def read_values(table: Table, kind: type[Column], name: str, notation: Notation | None) -> np.ndarray:
    """A column's values in row order, as a kind reads them."""
    cell, type_ = table.sql(name), table.types[name]
    try:
        sql = kind.sql(cell, type_, notation)
    except TypeError:
        what = f"column {name!r} holds {type_}, which cannot be read as a {kind.kind}"
        fix = "Choose another kind, or leave it out of features."
        raise table.error(f"{what}. {fix}", "setting", setting="features", column=name) from None
    if isinstance(notation, NumberNotation) and notation.is_plain and is_text(type_):
        there, plain, _ = table.one(", ".join(plain_counts(cell)))
        sql = f"TRY_CAST({cell} AS DOUBLE)" if there == plain else sql  # all else takes long to compile
    values = table.values(sql)
    if issubclass(kind, Number):
        values = values.astype(np.float64)
        values[~(np.abs(values) <= LARGEST)] = np.nan
    return values


def unreadable(
    table: Table, column: Column, values: np.ndarray, kept: np.ndarray, *, later: bool
) -> tuple[Repair, ...]:
    """Values that are not of their column's kind, named as missing.

    ``kept``: which rows are those of a node. ``later``: whether the kind is that of an earlier table; then
    most values must be of it.
    """
    if not isinstance(column, kinds.Scalar) or not np.isnan(values).any():
        return ()
    cell, type_ = table.sql(column.name), table.types[column.name]
    there = plain_text(cell) if is_text(type_) else cell
    if type_ in ("FLOAT", "DOUBLE"):
        there = f"nullif({cell}, 'nan'::DOUBLE)"
    is_there = table.values(f"{there} IS NOT NULL").astype(bool) & kept
    found, count = np.flatnonzero(is_there & np.isnan(values)), int(is_there.sum())
    if not len(found):
        return ()
    rows = ", ".join(map(str, found[:_LOOKED_AT].tolist()))
    written = table.ask(f"{cell}::VARCHAR", f"WHERE {table.row} IN ({rows}) ORDER BY {table.row}").fetchall()
    shown = f"{written[0][0].strip()!r}{', …' if len({*written}) > 1 else ''}"
    if later and 2 * len(found) > count:
        what = f"has no {column.kind} in {len(found):,} of {count:,} values but {shown}"
        sentence = f"column {column.name!r} {what}. Write it as in the first table."
        raise table.error(sentence, "conflict", column=column.name)
    what = f"had no {column.kind} there but {shown}"
    return Repair.of(table.name, what, f"took {column.name!r} as missing in", table.numbers(found))


def require_room(table: Table, columns: Iterable[str]) -> None:
    """Raise where texts and lists unfold to more than the free memory: Parquet stores a repeated one once."""
    sizes = []
    for name in columns:
        cell, type_ = table.sql(name), table.types[name]
        if is_text(type_):
            sizes.append(f"sum(strlen({cell}::VARCHAR))")
        elif type_ == "VARCHAR[]":
            sizes.append(f"sum(list_sum(list_transform({cell}, lambda x: strlen(x))))")
        elif is_list(type_):
            sizes.append(f"8 * sum(len({cell}))")
    found = table.one(", ".join(sizes)) if sizes else ()
    need = 2 * sum(int(size or 0) for size in found)  # in DuckDB and in Python
    if need > (free := free_bytes()):
        raise too_large(f"{table.name}: its texts and lists", need, free)


def learn_column(
    table: Table, name: str, kind: str | None, clues: Clues, kept: np.ndarray
) -> tuple[Column, Notation | None, np.ndarray] | str:
    """Learn a column: its kind (guessed if None), notation and values, or the reason to leave it out.

    ``kept``: which rows are those of a node.
    """
    notation = None
    if name in clues.looks and kind in (None, "number", "log", "date"):
        finders = {"number": number_notation, "log": number_notation, "date": date_notation}
        tried = [finders[kind]] if kind else [number_notation, date_notation]
        found = (find(table, name, clues.looks[name], clues, sure=bool(kind)) for find in tried)
        notation = next(filter(None, found), None)
    wanted = KINDS[kind] if kind else _guessed(table, name, clues.looks.get(name), notation)
    notation = notation if issubclass(wanted, Number) else None
    of_rows = read_values(table, wanted, name, notation)
    values = of_rows[kept]
    if kind is None and wanted is Number and kinds.is_skewed(values):
        wanted = kinds.LogNumber
    nothing = bool(kind) and values.dtype.kind == "f" and np.isnan(values).all()
    if nothing and table.one(f"count({table.sql(name)})")[0]:
        sentence = f"column {name!r} holds no {kind}. Choose another kind, or leave it out of features."
        raise table.error(sentence, "setting", setting="features", column=name)
    column = wanted.learn(name, values)
    if reason := _why_left_out(column, values):
        return reason
    if kind is None and wanted in (Number, kinds.LogNumber) and are_ids(name, values):
        return "it looks like an id: all integers differ (name it among the features to keep it)"
    return column, notation, of_rows


def _guessed(table: Table, name: str, look: Look | None, notation: Notation | None) -> type[Column]:
    """The kind of a column, by its type in the table and, for text, by what is written there."""
    type_ = table.types[name]
    if notation is not None:
        return Number if isinstance(notation, NumberNotation) else Date
    if look is not None:
        if look.there and look.flags == look.there:
            return kinds.Flag
        if look.there == 0 or look.distinct <= min(_FEW_VALUES, look.there // 2):
            return Category
        return Category if look.distinct <= look.there / 10 and look.words <= _SHORT * look.there else Text
    if is_list(type_):
        lengths = table.one(f"count(DISTINCT len({table.sql(name)}))")[0]
        as_numbers = lengths <= 1 and not type_.startswith(("VARCHAR", "BOOLEAN"))
        return kinds.Vector if as_numbers else kinds.Tokens
    of_types = {"BOOLEAN": kinds.Flag, "DATE": Date, "TIMESTAMP": Date, "ENUM": Category}
    of_types |= dict.fromkeys(NUMERIC, Number)
    kind = next((kind for start, kind in of_types.items() if type_.startswith(start)), None)
    if kind is None:
        sentence = f"column {name!r} holds {type_}, which cannot be a feature. Name the features without it."
        raise table.error(sentence, "unsupported", setting="features", column=name)
    return kind


def _why_left_out(column: Column, values: np.ndarray) -> str | None:
    missing = np.isnan(values) if values.dtype.kind == "f" else [value is None for value in values]
    if np.all(missing):
        return "every value is missing"
    if not column.features:
        return "no word is left: each is in one text only, or in more than half of them"
    if isinstance(column, Text):
        return None
    encoded = column.encode(values)
    if sparse.issparse(encoded):
        same = encoded.shape[1] == 1 and encoded.nnz == len(values)
    else:
        same = bool((encoded == encoded[0]).all())
    return "every value is the same" if same else None


def are_ids(name: str, values: np.ndarray) -> bool:
    """Whether all values are different integers, of one long length or under the name of an id."""
    if len(values) < _ID_ROWS or np.isnan(values).any() or (values != np.floor(values)).any():
        return False
    if len(np.unique(values)) < len(values):
        return False
    long = values.min() >= 1e8 and np.floor(np.log10(values.min())) == np.floor(np.log10(values.max()))
    return bool(long) or _ID_NAME.search(name) is not None


def new_categories(table: Table, column: Column, values: np.ndarray) -> tuple[str, ...]:
    """A note on values of a category that the first table did not have, and a warning where most are new."""
    if not isinstance(column, Category):
        return ()
    unseen = np.diff(column.encode(values).indptr) == 0
    there = sum(value is not None for value in values)
    new = [value for value in values[unseen] if value is not None]
    if not new:
        return ()
    distinct = list(dict.fromkeys(new))
    some = f"{', '.join(map(repr, distinct[:_SHOWN]))}{', …' if len(distinct) > _SHOWN else ''}"
    counted = f"new values in {len(new):,} of {there:,} rows"
    note = f"{table.name}: {column.name}: {counted}, taken as none: {some}"
    if 2 * len(new) > there:
        warn(f"{note}. Write them as in the first table.")
    return (note,)


def require_order(table: Table, notation: Notation | None) -> None:
    """Raise where dates of a later table have the month first and those of the first the day."""
    if not isinstance(notation, DateNotation) or notation.is_plain:
        return
    name = notation.column
    order = Look.of(table, name).order if is_text(table.types[name]) else None
    if order not in (None, notation.order):
        what = f"column {name!r} has dates in the order {order}, and the first table had {notation.order}"
        raise table.error(f"{what}. Write it as there.", "conflict", column=name)
