"""Texts in the column of the classes that mean: not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kernode.config import Config
from kernode.data.tables.columns.values import MISSING
from kernode.errors import InputError

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
            raise InputError(f"unknown must be a text or a list of texts. Got {texts!r}.")
        return cls(tuple(str(text).strip() for text in several if str(text).strip()), exact=True)

    def beside(self, text: str) -> UnknownLabels:
        """One more."""
        return replace(self, texts=(*self.texts, text))

    def without(self, written: Any) -> Any:
        """Texts (large_string) with null in place of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        compared = written if self.exact else pc.utf8_lower(written)
        unknown = pc.is_in(compared, value_set=pa.array(self.texts, pa.large_string()))
        return pc.if_else(unknown, pa.scalar(None, pa.large_string()), written)
