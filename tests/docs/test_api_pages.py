"""Every public name has a docstring, and a place on the pages that the docstrings fill."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import kernode as kn
from kernode import io

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "\n".join(path.read_text() for path in DOCS.glob("api/*.md"))
RENDERED = set(re.findall(r"^::: ([\w.]+)$", PAGES, re.MULTILINE))
# Values and modules have no docstring that a page could show: they are named in its text.
NAMED = set(re.findall(r"`kernode\.(\w+)`", PAGES))


def names(module):
    return [(module, name) for name in module.__all__]


@pytest.mark.parametrize(
    ("module", "name"),
    [*names(kn), *names(kn.kernels), *names(kn.maps), *names(kn.losses), *names(io)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_public_name_is_documented(module, name):
    value = getattr(module, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        homes = (module.__name__, "kernode", value.__module__)
        assert RENDERED & {f"{home}.{name}" for home in homes}
        made_up = f"{name}("  # the generated docstring of a dataclass
        assert value.__doc__
        assert not value.__doc__.startswith(made_up)
    elif module is kn:
        assert name in NAMED


@pytest.mark.parametrize("name", sorted(RENDERED))
def test_what_a_page_renders_exists(name):
    owner, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(owner), last)
    assert inspect.isclass(value) or inspect.isfunction(value)


def test_docstrings_become_markdown(monkeypatch):
    pytest.importorskip("griffe", reason="the site's packages are missing: pip install 'kernode[docs]'")
    monkeypatch.syspath_prepend(DOCS.parent / "scripts")
    from site_docstrings import as_markdown

    roles = "As :class:`~kernode.maps.HopMLP` does with ``X``, by :meth:`Graph.find <kernode.Graph.find>`."
    assert as_markdown(roles) == "As `HopMLP` does with `X`, by `Graph.find`."
    example = "Add.\n\n>>> 1 + 1\n2\n\nThat is all."
    assert as_markdown(example) == "Add.\n\n```python\n>>> 1 + 1\n2\n```\n\nThat is all."
