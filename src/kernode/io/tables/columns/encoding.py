"""All that is done to a node table's columns, learned once, stored with the model, repeated on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernode.config import Config
from kernode.errors import InputError, bad_setting
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.kinds import KINDS, Category, Column, Date, Flag, Number, Text, Vector
from kernode.io.tables.columns.notation import (
    DateNotation,
    Notation,
    NumberNotation,
    rewritten,
)
from kernode.io.tables.columns.structure import Structure
from kernode.io.tables.columns.values import (
    MISSING,
    MOSTLY,
    days,
    flags,
    numbers,
    texts,
    unreadable_flags,
)
from kernode.progress import tell

# A class may well be called "none" or "-".
_USUAL = tuple(text for text in MISSING if text not in ("none", "-", "?", ""))
_WORDS = ("unknown", "unlabeled", "unlabelled", "not known")


@dataclass(frozen=True)
class UnknownLabels(Config):
    """Such texts; an empty cell always means it.

    >>> import pyarrow as pa
    >>> written = pa.array(["tea", "Unknown", "NA", "?"], pa.large_string())
    >>> UnknownLabels.by_words().without(written).to_pylist()
    ['tea', None, None, '?']
    >>> UnknownLabels.given("?").without(written).to_pylist()
    ['tea', 'Unknown', 'NA', None]
    """

    texts: tuple[str, ...]
    exact: bool = False  # as they are written; else in either case

    @classmethod
    def usual(cls) -> UnknownLabels:
        """What pandas and R write for a missing value."""
        return cls(_USUAL)

    @classmethod
    def by_words(cls) -> UnknownLabels:
        """The same, and words that people write."""
        return cls((*_USUAL, *_WORDS))

    @classmethod
    def given(cls, texts: Any) -> UnknownLabels:
        """What a user says: a text, or several."""
        several = [texts] if isinstance(texts, str | int | float) else texts
        if not isinstance(several, Iterable) or isinstance(several, bytes):
            raise bad_setting("unknown", "a text or a list of texts", texts)
        return cls(tuple(str(text).strip() for text in several if str(text).strip()), exact=True)

    def without(self, written: Any) -> Any:
        """Texts (large_string) with null in place of these."""
        compared = written if self.exact else pc.utf8_lower(written)
        unknown = pc.is_in(compared, value_set=pa.array(self.texts, pa.large_string()))
        return pc.if_else(unknown, pa.scalar(None, pa.large_string()), written)


_FEW_VALUES = 50  # a column with so few is a category, however long they are
_SHORT = 3.0  # words: longer values are text, where there are many different ones


def guess_kind(name: str, values: Any) -> type[Column]:
    """The kind of a column, by its type in the table and, for text, by what is written there."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return Flag
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Number
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Date
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Vector
    if pa.types.is_dictionary(kind):
        return Category
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return _kind_of_text(values)
    raise InputError(
        f"column {name!r} holds {kind}, which cannot become a feature. Name the features without it.",
        "unsupported",
        setting="features",
        column=name,
    )


def _kind_of_text(values: Any) -> type[Column]:
    written = texts(values)
    there = len(written) - written.null_count
    if there == 0:
        return Category
    if np.count_nonzero(~np.isnan(numbers(written)[0])) >= MOSTLY * there:
        return Number
    if np.count_nonzero(~np.isnan(flags(written))) == there:
        return Flag
    if np.count_nonzero(~np.isnan(days(written)[0])) >= MOSTLY * there:
        return Date
    distinct = len(pc.unique(written.drop_null()))
    if distinct <= min(_FEW_VALUES, there // 2):
        return Category
    words = pc.mean(pc.add(pc.count_substring_regex(written, r"\s+"), 1)).as_py()
    return Category if distinct <= there / 10 and words <= _SHORT else Text


Features = Sequence[str] | Mapping[str, str | None]
_SPARSE = 0.25  # share of non-zeros up to which X is kept sparse


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

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for every column of X."""
        of_columns = (name for column in self.columns for name in column.feature_names)
        return ("constant", *of_columns, *(self.structure.feature_names if self.structure else ()))

    @property
    def feature_units(self) -> tuple[str, ...]:
        """What the numbers in every column of X are, in words."""
        of_columns = (unit for column in self.columns for unit in column.feature_units)
        return ("always 1", *of_columns, *(self.structure.feature_units if self.structure else ()))

    @property
    def feature_bounds(self) -> tuple[float, ...]:
        """How far from 0 numbers in every column of X get."""
        of_columns = (column.furthest for column in self.columns for _ in column.feature_names)
        place = len(self.structure.feature_names) if self.structure else 0
        return (1.0, *of_columns, *[np.inf] * place)

    def describe(self) -> tuple[str, ...]:
        """A line for every column."""
        structure = (str(self.structure),) if self.structure else ()
        written = map(str, (*self.notations, *([self.weight_notation] if self.weight_notation else [])))
        return (*written, *(str(column) for column in self.columns), *structure, *self.left_out)

    @property
    def weights_written(self) -> NumberNotation | None:
        """How the edges' weights are written."""
        return self.weight_notation or (None if self.weight is None else NumberNotation(self.weight))

    @property
    def all_notations(self) -> tuple[Notation, ...]:
        """How every column of numbers or dates is written."""
        written = {notation.column: notation for notation in self.notations}
        usual: dict[type[Column], type[Notation]] = {Number: NumberNotation, Date: DateNotation}
        for column in self.columns:
            if type(column) in usual:
                written.setdefault(column.name, usual[type(column)](column.name))
        return tuple(written.values())

    def plain(self, table: Any) -> Any:
        """A table's columns (pyarrow) with numbers and dates as programs write them."""
        return rewritten(table, self.all_notations)

    def features(self, table: Any, adjacency: sparse.csr_array, names: np.ndarray) -> Any:
        """X of the n nodes of a table and a graph: n × f in float32, sparse where most of it is zero."""
        n = adjacency.shape[0]
        parts = self._parts(table, n)
        if self.structure is not None:
            parts.append(self.structure.encode(adjacency, names))
        entries = sum(part.nnz if sparse.issparse(part) else np.count_nonzero(part) for part in parts)
        if entries < _SPARSE * n * sum(part.shape[1] for part in parts):
            stacked = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
            return sparse.csr_array(stacked.astype(np.float32))
        dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
        return np.hstack([part.astype(np.float32, copy=False) for part in dense])

    def placed(self, x: Any, adjacency: sparse.csr_array, names: np.ndarray) -> Any:
        """X with the places of nodes in a graph computed anew, and all else as it is."""
        if self.structure is None:
            return x
        own = x[:, : x.shape[1] - len(self.structure.feature_names)]
        place = self.structure.encode(adjacency, names)
        if sparse.issparse(x):
            return sparse.csr_array(sparse.hstack([own, sparse.csr_array(place)], format="csr"))
        return np.hstack([own, place])

    def of_columns(self, table: Any, n: int) -> sparse.csr_array:
        """The part of X that n nodes of a table have by themselves, without their place in a graph."""
        stacked = sparse.hstack([sparse.csr_array(part) for part in self._parts(table, n)], format="csr")
        return sparse.csr_array(stacked.astype(np.float32))

    def _parts(self, table: Any, n: int) -> list[Any]:
        constant = np.ones((n, 1), np.float32)
        parts = [constant]
        for column in self.columns:
            with _readable(column.name, table[column.name], column.kind):
                parts.append(column.encode(table[column.name]))
        return parts

    def unreadable(self, table: Any) -> dict[str, np.ndarray]:
        """Rows of a table whose value in a column of numbers, dates or flags is none, by column."""
        return {
            column.name: np.flatnonzero(not_of_its_kind(column, table[column.name]))
            for column in self.columns
            if type(column) in _READERS
        }


_READERS: dict[type[Column], Callable[[Any], np.ndarray]] = {
    Number: lambda values: numbers(values)[1],
    Date: lambda values: days(values)[1],
    Flag: unreadable_flags,
}


def not_of_its_kind(column: Column, values: Any) -> np.ndarray:
    """A mask of values that are not numbers, dates or flags where the column holds such."""
    if type(column) not in _READERS:
        return np.zeros(len(values), bool)
    with _readable(column.name, values, column.kind):
        return _READERS[type(column)](values)


@contextmanager
def _readable(name: str, values: Any, kind: str) -> Iterator[None]:
    """Say which column it was where pyarrow only says what it cannot do."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(
            f"column {name!r} holds {values.type}, which cannot be read as a {kind}. "
            "Choose another kind, or leave it out of features.",
            "setting",
            setting="features",
            column=name,
        ) from error


def learn_columns(table: Any, features: Features) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Columns of a table as features, and those that say nothing, with the reason.

    ``features`` names the columns, or maps each to a kind (None: as it looks).
    """
    kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
    columns, left_out = [], []
    for done, (name, kind) in enumerate(kinds.items()):
        tell("columns", done, len(kinds))
        if kind is not None and kind not in KINDS:
            raise bad_setting("features", f"columns with kinds among {', '.join(KINDS)}", f"{name}:{kind}")
        values = table[name]
        wanted = KINDS[kind] if kind else guess_kind(name, values)
        with _readable(name, values, wanted.kind):
            column = wanted.learn(name, values)
            reason = _says_nothing(column, values)
        if type(column) in _READERS and not_of_its_kind(column, values).all() and len(values):
            raise InputError(
                f"column {name!r} holds no {column.kind}. Choose another kind, or leave it out of features.",
                "setting",
                setting="features",
                column=name,
            )
        if reason:
            left_out.append(f"{name}: left out, {reason}")
        else:
            columns.append(column)
    return tuple(columns), tuple(left_out)


def _says_nothing(column: Column, values: Any) -> str | None:
    if values.null_count == len(values):
        return "every value is missing"
    if isinstance(column, Text) and column.words:
        return None
    if not column.feature_names:
        return "no word is left: each is in one text only, or in more than half of them"
    encoded = column.encode(values)
    if sparse.issparse(encoded):
        same = encoded.shape[1] == 1 and encoded.nnz == len(values)
    else:
        same = bool((encoded == encoded[0]).all())
    return "every value is the same" if same else None
