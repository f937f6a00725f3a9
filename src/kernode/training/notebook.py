"""What a notebook shows of a trained model: small, no script, nothing to load, and text stays text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

_LONGEST = 200  # letters of a setting


def as_html(title: str, lines: Iterable[tuple[str, str]], settings: Mapping[str, Any]) -> str:
    """A table of names and words, with settings to unfold below."""
    rows = "".join(_row(name, words) for name, words in lines)
    more = "".join(_row(name, repr(part)) for name, part in settings.items() if part is not None)
    style = "text-align:left;border-collapse:collapse;font-size:90%"
    return (
        f'<div style="line-height:1.4"><strong>{escape(title)}</strong>'
        f'<table style="{style}">{rows}</table>'
        f'<details><summary>settings</summary><table style="{style}">{more}</table></details></div>'
    )


def runs_in_words(seeds: tuple[int, ...]) -> str:
    """How many runs there were, with which seeds.

    >>> runs_in_words((3,)), runs_in_words((0, 1, 2))
    ('1, seed 3', '3, seeds 0 to 2')
    """
    r = len(seeds)
    return f"{r}, seeds {seeds[0]} to {seeds[-1]}" if r > 1 else f"1, seed {seeds[0]}"


def _row(name: str, words: str) -> str:
    words = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    cell = 'style="text-align:left;vertical-align:top;padding:1px 12px 1px 0"'
    return f'<tr><th scope="row" {cell}>{escape(name)}</th><td {cell}>{escape(words)}</td></tr>'


class ShownInNotebooks:
    """An estimator that shows what it has learned once it is fitted, and scikit-learn's diagram before."""

    def _repr_html_inner(self) -> str:
        model = getattr(self, "model_", None)
        if model is not None:
            return str(model.summary_html(f"{type(self).__name__}, fitted"))
        return str(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The same where notebooks ask for all forms at once."""
        forms = dict(super()._repr_mimebundle_(**kwargs))  # type: ignore[misc]
        return forms | {"text/html": self._repr_html_inner()} if "text/html" in forms else forms
