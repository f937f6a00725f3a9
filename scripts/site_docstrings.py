"""Docstrings as Markdown, for the documentation site: a Griffe extension that mkdocs.yml names."""

from __future__ import annotations

import re
from typing import Any

import griffe

TITLED = re.compile(r":\w+:`([^`<]+) <[^>]+>`")  # :meth:`Graph.find <kernode.Graph.find>`
ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")  # :class:`~kernode.maps.HopMLP`


class Markdown(griffe.Extension):
    """reStructuredText's roles and double backticks as Markdown's, examples in code blocks."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every object as it is loaded."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """One docstring."""
    text = ROLE.sub(r"`\1`", TITLED.sub(r"`\1`", text)).replace("``", "`")
    blocks = text.split("\n\n")
    return "\n\n".join(f"```python\n{one}\n```" if one.startswith(">>>") else one for one in blocks)
