"""Kinds of columns: how each is learned from a table, and how it then turns values into numbers.

``sql`` is how DuckDB reads the values of any table, ``learn`` fits to those of the first, and ``encode``
turns them into numbers. Missing and unseen values become zeros. A column is frozen and stored in models. To
add a kind, write these three.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from kernode.config import Config
from kernode.errors import InputError
from kernode.io.tables.notation import (
    LARGEST,
    NO,
    YES,
    DateNotation,
    Notation,
    NumberNotation,
    plain_text,
    texts,
)
from kernode.io.tables.table import NUMERIC, is_list, is_nested, is_text

MOST_CATEGORIES = 1000  # the commonest values of a column that get a column of their own
MOST_WORDS = 5000
_FURTHEST = 5.0  # standard deviations: a value beyond would drown its row
_SAME = 1e-12  # of the mean: deviations below are rounding
_MANY = 50  # texts from which on a word that only one of them has is left out
_SKEWED = 5.0  # skewness from which on the logarithm of numbers is taken


class Feature(NamedTuple):
    """A column of X."""

    name: str
    unit: str  # what its numbers mean, in words
    bound: float = np.inf  # how far from 0 they get


@dataclass(frozen=True)
class Column(Config):
    """A column of the table by its name."""

    kind: ClassVar[str] = ""  # what users call it
    is_kept: ClassVar[bool] = True  # whether a graph keeps its values
    name: str

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """SQL of the values: text, NULL where it is missing."""
        if is_nested(type_):
            raise TypeError
        return plain_text(column) if is_text(type_) else f"nullif({column}::VARCHAR, '')"

    @classmethod
    @abstractmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """Learn from the values of the first table."""

    @abstractmethod
    def encode(self, values: np.ndarray) -> Any:
        """Numbers for n values: n × width, dense or CSR."""

    @property
    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """What each number is."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each number."""
        return tuple(one.name for one in self.features)

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Scalar(Column):
    """One number for a value, and a second that marks missing values where there were any."""

    bound: ClassVar[float] = np.inf  # how far from 0 its numbers get
    marks_missing: bool

    def encode(self, values: np.ndarray) -> np.ndarray:
        """n × 1 or n × 2."""
        x = self._scaled(values.astype(np.float64, copy=False))
        missing = np.isnan(x)
        return np.column_stack([np.where(missing, 0, x), missing][: 1 + self.marks_missing])

    @property
    def features(self) -> tuple[Feature, ...]:
        """The column's, and one for missing values."""
        missing = Feature(f"{self.name} is missing", "1 where the value is missing")
        return (Feature(self.name, self.unit, self.bound), missing)[: 1 + self.marks_missing]

    def __str__(self) -> str:
        return f"{self.name}: {self._about}{', missing values marked' * self.marks_missing}"

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        return x

    @property
    @abstractmethod
    def unit(self) -> str:
        """What the number means, in words."""

    @property
    @abstractmethod
    def _about(self) -> str: ...


@dataclass(frozen=True)
class Number(Scalar):
    """(x − mean) / scale, cut at ±5; a second number marks missing values where there were any."""

    kind: ClassVar[str] = "number"
    bound: ClassVar[float] = _FURTHEST
    transform: ClassVar[str] = ""  # before it is standardised, in words
    mean: float
    scale: float

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """Read a number."""
        if is_text(type_):
            return (notation or NumberNotation(column)).sql(column)
        if is_list(type_) or not type_.startswith((*NUMERIC, "BOOLEAN")):
            raise TypeError
        return f"{column}::DOUBLE"

    @classmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """Mean and standard deviation of what is there."""
        there = cls._transformed(values[~np.isnan(values)])
        mean = float(there.mean()) if len(there) else 0.0
        scale = float(there.std()) if len(there) else 0.0
        return cls(name, len(there) < len(values), mean, scale if scale > _SAME * abs(mean) else 1.0)

    @classmethod
    def _transformed(cls, x: np.ndarray) -> np.ndarray:
        return x

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        return np.clip((self._transformed(x) - self.mean) / self.scale, -_FURTHEST, _FURTHEST)

    @property
    def unit(self) -> str:
        """Mean and deviation, which give the value in the table."""
        return f"{self.transform}standardised: mean {self.mean:.4g}, deviation {self.scale:.4g}"

    @property
    def _about(self) -> str:
        return f"{self.kind}, standardised (mean {self.mean:.4g}, deviation {self.scale:.4g})"


@dataclass(frozen=True)
class LogNumber(Number):
    """sign(x) log(1 + |x|) as a number: for sizes and prices, of which few are far above the others."""

    kind: ClassVar[str] = "log"
    transform: ClassVar[str] = "log(1 + x), "

    @classmethod
    def _transformed(cls, x: np.ndarray) -> np.ndarray:
        return np.sign(x) * np.log1p(np.abs(x))


def is_skewed(values: np.ndarray) -> bool:
    """Whether numbers are better taken as logarithms: none is below 0, and a few are far above the others."""
    there = values[~np.isnan(values)]
    if len(there) < _MANY or there.min() < 0:
        return False
    skewness = [float((((x - x.mean()) / (x.std() or 1)) ** 3).mean()) for x in (there, np.log1p(there))]
    return skewness[0] > _SKEWED and abs(skewness[1]) < skewness[0] / 2


@dataclass(frozen=True)
class Date(Number):
    """Days since 1970 as a number."""

    kind: ClassVar[str] = "date"
    transform: ClassVar[str] = "days since 1970, "

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """Read days since 1970."""
        if is_text(type_):
            return (notation or DateNotation(column)).sql(column)
        if type_ == "DATE" or type_.startswith("TIMESTAMP"):
            return f"epoch({column}::DATE) / 86400"
        raise TypeError


@dataclass(frozen=True)
class Flag(Scalar):
    """1 for yes, 0 for no; a second number marks missing values where there were any."""

    kind: ClassVar[str] = "flag"
    unit = "1 for yes, 0 for no"
    _about = "yes or no"

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """Read 1 or 0."""
        if is_list(type_):
            raise TypeError
        if type_.startswith(NUMERIC):
            return f"CASE WHEN {column} IN (0, 1) THEN {column}::DOUBLE END"
        word = f"lower({plain_text(f'{column}::VARCHAR')})"
        return f"CASE WHEN {word} IN {texts(*YES)} THEN 1.0 WHEN {word} IN {texts(*NO)} THEN 0.0 END::DOUBLE"

    @classmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """Whether values are missing."""
        return cls(name, bool(np.isnan(values).any()))


def alike(values: np.ndarray) -> np.ndarray:
    """Texts in one way of writing: 2 for 2.0 and true for True, where all of them are such."""
    distinct = {value for value in values if value is not None}
    if distinct and all(value.removeprefix("-").partition(".")[0].isdigit() for value in distinct):
        whole = {value: value.partition(".")[0] for value in distinct}
        if all(value.partition(".")[2].strip("0") == "" for value in distinct):
            return np.array([whole.get(value) for value in values], object)
    if distinct and {value.lower() for value in distinct} <= {"true", "false"}:
        return np.array([None if value is None else value.lower() for value in values], object)
    return values


@dataclass(frozen=True)
class Category(Column):
    """One number per value, 1 where the node has it (one-hot)."""

    kind: ClassVar[str] = "category"
    values: tuple[str, ...]
    others: int = 0  # rarer values, which become zeros

    @classmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """The commonest values, by number of nodes."""
        counted = Counter(value for value in alike(values) if value is not None)
        commonest = sorted(counted, key=lambda value: (-counted[value], value))[:MOST_CATEGORIES]
        return cls(name, tuple(sorted(commonest)), len(counted) - len(commonest))

    def encode(self, values: np.ndarray) -> sparse.csr_array:
        """n × (number of values)."""
        place = {value: at for at, value in enumerate(self.values)}
        # Either way of writing: another table may have other values in the column.
        both = zip(alike(values), values, strict=True)
        found = np.array([place.get(one, place.get(other, -1)) for one, other in both], np.int64)
        known = found >= 0
        indptr, shape = np.concatenate([[0], np.cumsum(known)]), (len(found), len(self.values))
        return sparse.csr_array((np.ones(known.sum()), found[known], indptr), shape=shape)

    @property
    def features(self) -> tuple[Feature, ...]:
        """column=value."""
        return tuple(Feature(f"{self.name}={value}", "1 where it has this value") for value in self.values)

    def __str__(self) -> str:
        rarer = f", {self.others:,} rarer ones left out" if self.others else ""
        return f"{self.name}: category, one-hot ({len(self.values):,} values{rarer})"


@dataclass(frozen=True)
class Text(Column):
    """TF-IDF of words: (1 + log count) · idf, rows of length 1."""

    kind: ClassVar[str] = "text"
    is_kept: ClassVar[bool] = False
    words: tuple[str, ...]
    idf: tuple[float, ...]

    @classmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """The commonest words, without those of a single text or of more than half of them."""
        there = [value for value in values if value is not None]
        many = len(there) >= _MANY
        vectorizer = cls._new(max_features=MOST_WORDS, min_df=2 if many else 1, max_df=0.5 if many else 1.0)
        try:
            vectorizer.fit(there)
        except ValueError:  # no word is left: names, codes, or nothing but stop words
            return cls(name, (), ())
        words = vectorizer.get_feature_names_out().tolist()
        return cls(name, tuple(words), tuple(float(value) for value in vectorizer.idf_))

    @classmethod
    def _new(cls, **settings: Any) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(sublinear_tf=True, **settings)

    @cached_property
    def _vectorizer(self) -> Any:
        vectorizer = self._new(vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer

    def encode(self, values: np.ndarray) -> sparse.csr_array:
        """n × (number of words)."""
        empty = "" if self.kind == "text" else ()
        return sparse.csr_array(self._vectorizer.transform([empty if one is None else one for one in values]))

    @property
    def features(self) -> tuple[Feature, ...]:
        """column: word."""
        return tuple(Feature(f"{self.name}: {word}", "TF-IDF, in rows of length 1") for word in self.words)

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}, TF-IDF of {len(self.words):,} word{'s' * (len(self.words) != 1)}"


@dataclass(frozen=True)
class Tokens(Text):
    """A list of tokens in each cell, of any length: TF-IDF of tokens."""

    kind: ClassVar[str] = "tokens"

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """Read a list of texts."""
        if not is_list(type_):
            raise TypeError
        return f"{column}::VARCHAR[]"

    @classmethod
    def _new(cls, **settings: Any) -> Any:
        return super()._new(analyzer=_tokens, **settings)


def _tokens(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in values if value is not None]


@dataclass(frozen=True)
class Vector(Column):
    """A list of numbers in each cell, each standardised as if it were a column of its own."""

    kind: ClassVar[str] = "vector"
    is_kept: ClassVar[bool] = False
    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def sql(cls, column: str, type_: str, notation: Notation | None) -> str:
        """Read a list of numbers."""
        if not is_list(type_) and type_ != '"NULL"':
            raise TypeError
        return f"TRY_CAST({column} AS DOUBLE[])"

    @classmethod
    def learn(cls, name: str, values: np.ndarray) -> Self:
        """Mean and standard deviation at every place."""
        x = _matrix(name, values)
        there = x[~np.isnan(x).any(axis=1)]
        if not len(there):
            return cls(name, (), ())
        mean, scale = there.mean(axis=0), there.std(axis=0)
        scale = np.where(scale > _SAME * abs(mean), scale, 1)
        return cls(name, tuple(mean.tolist()), tuple(scale.tolist()))

    def encode(self, values: np.ndarray) -> np.ndarray:
        """n × (length of the lists)."""
        x = (_matrix(self.name, values, len(self.mean)) - np.array(self.mean)) / np.array(self.scale)
        return np.clip(np.nan_to_num(x), -_FURTHEST, _FURTHEST)

    @property
    def features(self) -> tuple[Feature, ...]:
        """column[place], each as of a number."""
        pairs = enumerate(zip(self.mean, self.scale, strict=True))
        return tuple(Number(f"{self.name}[{at}]", False, *pair).features[0] for at, pair in pairs)

    def __str__(self) -> str:
        return f"{self.name}: vectors of {len(self.mean):,} numbers, standardised"


def _matrix(name: str, values: np.ndarray, width: int | None = None) -> np.ndarray:
    """Lists of numbers as n × width, rows of NaN where there is none; all must have one length."""
    there = [at for at, value in enumerate(values) if value is not None]
    width = len(values[there[0]]) if width is None and there else width or 0
    other = next((at for at in there if len(values[at]) != width), None)
    if other is not None:
        what = f"value {other} from 0: {len(values[other])} numbers where others have {width}"
        fix = "Give all lists one length, or leave the column out of features."
        raise InputError(f"column {name!r}, {what}. {fix}", "shape", column=name)
    x = np.full((len(values), width), np.nan)
    for at in there:
        x[at] = np.ma.filled(values[at], np.nan)
    return np.where((np.abs(x) <= LARGEST).all(axis=1, keepdims=True), x, np.nan)


KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Number, LogNumber, Flag, Date, Category, Text, Tokens, Vector)
}
