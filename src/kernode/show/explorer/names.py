"""Nodes by their names as text, as they stand in addresses; found whole or by a part of the name."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from kernode.errors import InputError
from kernode.graph import Graph

_BETWEEN = "\n"  # stands between names in the text that is searched


class UnknownNodeError(InputError):
    """No node has this name."""


class Names:
    """What the n nodes of a graph are called: their names, or their positions as text.

    >>> from kernode.graph import Graph
    >>> import numpy as np
    >>> names = Names(Graph.from_edges([(0, 1)], np.eye(3), node_names=["ann", "Anna", "joan"]))
    >>> names.find("joan"), [names.texts[i] for i in names.search("AN", 9)]
    (2, ['ann', 'Anna', 'joan'])
    """

    def __init__(self, graph: Graph) -> None:
        named = graph.node_names is not None
        self.of = graph.name
        self.texts: list[str] = graph.node_names.tolist() if named else list(map(str, range(graph.n_nodes)))  # type: ignore[union-attr]
        self._at = {text: i for i, text in enumerate(self.texts)}
        folded = [_folded(text) for text in self.texts]
        self._text = _BETWEEN + _BETWEEN.join(folded) + _BETWEEN
        # Where each name begins in the text, the line break before it included.
        self._starts = list(accumulate((len(one) + 1 for one in folded), initial=0))[:-1]

    def find(self, name: str) -> int:
        """The node's position."""
        at = self._at.get(name)
        if at is None:
            shown = name if len(name) <= 80 else name[:80] + "…"
            raise UnknownNodeError(
                f"no node of {self.of!r} is called {shown!r}. Search for a part of the name."
            )
        return at

    def search(self, part: str, limit: int) -> list[int]:
        """Names that have a part, whatever its case: the name itself, those that begin with it, others."""
        wanted = _folded(part.strip())
        if not wanted:
            return list(range(min(limit, len(self.texts))))
        found: dict[int, None] = {}
        if part in self._at:
            found[self._at[part]] = None
        ends = re.escape(_BETWEEN + wanted + _BETWEEN)
        for pattern in (f"(?={ends})", re.escape(_BETWEEN + wanted), re.escape(wanted)):
            for match in re.finditer(pattern, self._text):
                found[bisect_right(self._starts, match.start()) - 1] = None
                if len(found) >= limit:
                    return list(found)[:limit]
        return list(found)[:limit]


def _folded(text: str) -> str:
    """Without case, on one line."""
    return " ".join(text.casefold().split("\n"))
