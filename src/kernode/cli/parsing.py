"""Options whose text stands for something else than text or a number."""

from __future__ import annotations

from typing import Any

from kernode.errors import InputError


def widths(text: str | None) -> tuple[int, ...] | None:
    """Hidden widths; an empty text is no hidden layer.

    >>> widths("64,32"), widths("16"), widths(""), widths(None)
    ((64, 32), (16,), (), None)
    """
    if text is None:
        return None
    try:
        return tuple(int(width) for width in text.split(",")) if text else ()
    except ValueError:
        raise InputError(f"--hidden must be widths such as 16 or 64,32. Got {text!r}.") from None


def hop_weights(text: str | None) -> Any:
    """Learned hop weights, PageRank's, or a number c for c^h.

    >>> hop_weights("learned"), hop_weights("0.5"), hop_weights(None)
    ('learned', 0.5, None)
    """
    if text in (None, "learned", "pagerank"):
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"--hop-weights must be 'learned', 'pagerank' or a number c. Got {text!r}."
        ) from None


def conditions(given: list[str], option: str) -> dict[str, Any]:
    """Columns and what they must have: a value, or bounds with two dots between.

    >>> conditions(["venue=ICML", "year=2000..2005", "pages=..8"], "--where")
    {'venue': 'ICML', 'year': ('2000', '2005'), 'pages': (None, '8')}
    """
    wanted: dict[str, Any] = {}
    for text in given:
        column, sign, value = text.partition("=")
        low, dots, high = value.partition("..")
        if not sign or not column.strip() or not value.strip() or (dots and not (low or high)):
            raise InputError(f"{option} {text!r}: write COLUMN=VALUE or COLUMN=LOW..HIGH.")
        if column.strip() in wanted:
            raise InputError(f"{option} has {column.strip()!r} twice. Give one condition for each column.")
        wanted[column.strip()] = (low.strip() or None, high.strip() or None) if dots else value.strip()
    return wanted
