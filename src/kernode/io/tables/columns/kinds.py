"""Kinds of columns: how each is learned from a table, and how it then turns values into numbers.

A column is a frozen recipe. ``learn`` looks at the values of one table; ``encode`` does the same to any
other, so that what was learned can be stored in a model. A value that is missing, or that a column has
never seen, becomes zeros. To add a kind, write these two.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from kernode.config import Config
from kernode.io.tables.arrow import pa, pc
from kernode.io.tables.columns.values import categories, days, flags, numbers, texts, vectors

MOST_CATEGORIES = 1000  # the commonest values of a column that get a column of their own
MOST_WORDS = 5000
_FURTHEST = 5.0  # standard deviations: a value beyond would drown its row
_SAME = 1e-12  # of the mean: deviations below are rounding
_MANY = 50  # texts from which on a word that only one of them has is left out
_MISSING = "1 where the value is missing"


def _standardised(mean: float, scale: float) -> str:
    return f"standardised: mean {mean:.4g}, deviation {scale:.4g}"


@dataclass(frozen=True)
class Column(Config):
    """A column of the table by its name."""

    kind: ClassVar[str] = ""  # what users call it
    furthest: ClassVar[float] = np.inf  # that its numbers get from 0
    name: str

    @classmethod
    @abstractmethod
    def learn(cls, name: str, values: Any) -> Self:
        """Look at the values (pyarrow) of the table that is read first."""

    @abstractmethod
    def encode(self, values: Any) -> Any:
        """Numbers for n values: n × width, dense or CSR."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """One name for each number."""

    @property
    @abstractmethod
    def feature_units(self) -> tuple[str, ...]:
        """What each number means, in words."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number(Column):
    """(x − mean) / scale, cut at ±5; a second number marks missing values where there were any."""

    kind: ClassVar[str] = "number"
    furthest: ClassVar[float] = _FURTHEST
    mean: float
    scale: float
    marks_missing: bool

    @classmethod
    def learn(cls, name: str, values: Any) -> Self:
        """Mean and standard deviation of what is there."""
        x = cls._read(values)
        there = x[~np.isnan(x)]
        mean = float(there.mean()) if len(there) else 0.0
        scale = float(there.std()) if len(there) else 0.0
        return cls(name, mean, scale if scale > _SAME * abs(mean) else 1.0, len(there) < len(x))

    @classmethod
    def _read(cls, values: Any) -> np.ndarray:
        """Values as float64, NaN where there is none."""
        return numbers(values)[0]

    def encode(self, values: Any) -> np.ndarray:
        """n × 1 or n × 2."""
        x = (self._read(values) - self.mean) / self.scale
        missing = np.isnan(x)
        x = np.where(missing, 0, np.clip(x, -_FURTHEST, _FURTHEST))
        return np.column_stack([x, missing] if self.marks_missing else [x])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The column's, and one for missing values."""
        return (self.name, f"{self.name} is missing")[: 1 + self.marks_missing]

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Mean and deviation, which give the value in the table."""
        return (_standardised(self.mean, self.scale), _MISSING)[: 1 + self.marks_missing]

    def __str__(self) -> str:
        gaps = ", missing values marked" if self.marks_missing else ""
        return (
            f"{self.name}: {self.kind}, standardised (mean {self.mean:.4g}, deviation {self.scale:.4g}){gaps}"
        )


@dataclass(frozen=True)
class Date(Number):
    """Days since 1970 as a number."""

    kind: ClassVar[str] = "date"

    @classmethod
    def _read(cls, values: Any) -> np.ndarray:
        return days(values)[0]

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Of days."""
        days_first, *rest = super().feature_units
        return (f"days since 1970, {days_first}", *rest)


@dataclass(frozen=True)
class Flag(Column):
    """1 for yes, 0 for no; a second number marks missing values where there were any."""

    kind: ClassVar[str] = "flag"
    marks_missing: bool

    @classmethod
    def learn(cls, name: str, values: Any) -> Self:
        """Whether values are missing."""
        return cls(name, bool(np.isnan(flags(values)).any()))

    def encode(self, values: Any) -> np.ndarray:
        """n × 1 or n × 2."""
        x = flags(values)
        missing = np.isnan(x)
        return np.column_stack(
            [np.where(missing, 0, x), missing] if self.marks_missing else [np.nan_to_num(x)]
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The column's, and one for missing values."""
        return (self.name, f"{self.name} is missing")[: 1 + self.marks_missing]

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Yes or no."""
        return ("1 for yes, 0 for no", _MISSING)[: 1 + self.marks_missing]

    def __str__(self) -> str:
        return f"{self.name}: yes or no{', missing values marked' if self.marks_missing else ''}"


@dataclass(frozen=True)
class Category(Column):
    """One number per value, 1 where the node has it (one-hot)."""

    kind: ClassVar[str] = "category"
    values: tuple[str, ...]
    others: int = 0  # rarer values, which become zeros

    @classmethod
    def learn(cls, name: str, values: Any) -> Self:
        """The commonest values, by number of nodes."""
        counted = pc.value_counts(categories(values).drop_null())
        pairs = sorted(
            zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True),
            key=lambda pair: (-pair[1], pair[0]),
        )
        kept = sorted(value for value, _ in pairs[:MOST_CATEGORIES])
        return cls(name, tuple(kept), len(pairs) - len(kept))

    def encode(self, values: Any) -> sparse.csr_array:
        """n × (number of values)."""
        known = pa.array(self.values, pa.large_string())
        # Either way of writing: another table may have other values in the column.
        at = pc.coalesce(*(pc.index_in(read(values), value_set=known) for read in (categories, texts)))
        columns = at.fill_null(-1).to_numpy(zero_copy_only=False)
        known = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])
        shape = (len(columns), len(self.values))
        return sparse.csr_array((np.ones(known.sum()), columns[known], indptr), shape=shape)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """column=value."""
        return tuple(f"{self.name}={value}" for value in self.values)

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Whether the node has the value."""
        return ("1 where it has this value",) * len(self.values)

    def __str__(self) -> str:
        rarer = f", {self.others:,} rarer ones left out" if self.others else ""
        return f"{self.name}: category, one-hot ({len(self.values):,} values{rarer})"


@dataclass(frozen=True)
class Text(Column):
    """TF-IDF of words: (1 + log count) · idf, rows of length 1."""

    kind: ClassVar[str] = "text"
    words: tuple[str, ...]
    idf: tuple[float, ...]

    @classmethod
    def learn(cls, name: str, values: Any) -> Self:
        """The commonest words, without those of a single text or of more than half of them."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        there = texts(values).drop_null().to_pylist()
        many = len(there) >= _MANY
        vectorizer = TfidfVectorizer(
            sublinear_tf=True,
            max_features=MOST_WORDS,
            min_df=2 if many else 1,
            max_df=0.5 if many else 1.0,
        )
        try:
            vectorizer.fit(there)
        except ValueError:  # no word is left: names, codes, or nothing but stop words
            return cls(name, (), ())
        words = vectorizer.get_feature_names_out().tolist()
        return cls(name, tuple(words), tuple(float(value) for value in vectorizer.idf_))

    @cached_property
    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=list(self.words))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer

    def encode(self, values: Any) -> sparse.csr_array:
        """n × (number of words)."""
        written = texts(values).fill_null("").to_pylist()
        return sparse.csr_array(self._vectorizer.transform(written))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """column: word."""
        return tuple(f"{self.name}: {word}" for word in self.words)

    @property
    def feature_units(self) -> tuple[str, ...]:
        """Not how often a word occurs."""
        return ("TF-IDF, in rows of length 1",) * len(self.words)

    def __str__(self) -> str:
        return f"{self.name}: text, TF-IDF of {len(self.words):,} word{'s' * (len(self.words) != 1)}"


@dataclass(frozen=True)
class Vector(Column):
    """A list of numbers in each cell, each standardised as if it were a column of its own."""

    kind: ClassVar[str] = "vector"
    furthest: ClassVar[float] = _FURTHEST
    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def learn(cls, name: str, values: Any) -> Self:
        """Mean and standard deviation at every place."""
        x = vectors(name, values)
        there = x[~np.isnan(x).any(axis=1)]
        if not len(there):
            return cls(name, (), ())
        mean, scale = there.mean(axis=0), there.std(axis=0)
        scale = np.where(scale > _SAME * abs(mean), scale, 1)
        return cls(name, tuple(mean.tolist()), tuple(scale.tolist()))

    def encode(self, values: Any) -> np.ndarray:
        """n × (length of the lists)."""
        x = (vectors(self.name, values, len(self.mean)) - np.array(self.mean)) / np.array(self.scale)
        return np.clip(np.nan_to_num(x), -_FURTHEST, _FURTHEST)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """column[place]."""
        return tuple(f"{self.name}[{at}]" for at in range(len(self.mean)))

    @property
    def feature_units(self) -> tuple[str, ...]:
        """As of a number at every place."""
        return tuple(map(_standardised, self.mean, self.scale))

    def __str__(self) -> str:
        return f"{self.name}: vectors of {len(self.mean):,} numbers, standardised"


KINDS: dict[str, type[Column]] = {kind.kind: kind for kind in (Number, Flag, Date, Category, Text, Vector)}
