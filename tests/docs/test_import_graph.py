"""The parser of examples/import_graph.py, on a site-packages folder of a few files."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "import_graph.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("import_graph", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its own module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def read(example, tmp_path):
    """Write files, and read them as the example does: modules, edges, imports that lead to no node."""

    def read(files):
        for name, source in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source if isinstance(source, bytes) else source.encode())
        found, _ = example.find_modules([tmp_path])
        parsed = {name: example.parse(name, path) for name, path in found.items()}
        modules = {name: module for name, module in parsed.items() if module}
        return modules, *example.import_edges(modules)

    return read


def test_relative_imports_start_where_the_file_lies(read):
    _, edges, elsewhere = read(
        {
            "a/__init__.py": "from . import b",
            "a/b.py": "from .c.d import thing",
            "a/c/__init__.py": "from .d import thing",
            "a/c/d.py": "from ..b import other\nfrom .. import b as again",
        }
    )
    assert edges == [("a", "a.b"), ("a.b", "a.c.d"), ("a.c", "a.c.d"), ("a.c.d", "a.b")]
    assert elsewhere == 0


def test_from_means_the_module_where_there_is_one(read):
    _, edges, _ = read(
        {
            "a/__init__.py": "def y(): ...",
            "a/z.py": "",
            "b.py": "from a import y",
            "c.py": "from a import z",
            "d.py": "from a import *",
            "e.py": "import a.z as short",
        }
    )
    assert edges == [("b", "a"), ("c", "a.z"), ("d", "a"), ("e", "a.z")]


def test_imports_are_found_wherever_they_hide(read):
    hidden = """
def late():
    import one
class Kept:
    if True:
        async def far():
            from two import thing
try:
    import three
except ImportError:
    import four
else:
    import five
finally:
    import six
match 1:
    case 1:
        import seven
"""
    names = ["one", "two", "three", "four", "five", "six", "seven"]
    modules, edges, _ = read({"a.py": hidden} | {f"{name}.py": "" for name in names})
    assert [target for _, target in edges] == sorted(names)
    assert (modules["a"].functions, modules["a"].classes, len(modules["a"].imports)) == (2, 1, 7)


def test_what_leads_to_no_node_is_counted(read):
    source = "import os, a.compiled\nfrom .... import x\nfrom ....b import y\nfrom . import own"
    _, edges, elsewhere = read({"a/__init__.py": source, "b.py": "from . import x\nimport a"})
    assert edges == [("b", "a")]  # and `from . import own` is a's import of itself: no edge
    assert elsewhere == 5


def test_namespace_packages_have_modules_but_are_none(read):
    modules, edges, elsewhere = read({"space/a.py": "from . import b\nimport space", "space/b.py": ""})
    assert sorted(modules) == ["space.a", "space.b"]
    assert edges == [("space.a", "space.b")]
    assert elsewhere == 1


def test_what_does_not_parse_is_no_node(read, recwarn):
    modules, edges, _ = read(
        {
            "old.py": "print 'two'",
            "zero.py": b"x = '\0'",
            "bytes.py": b"x = '\xff'",
            "good.py": "import old\n'\\d'",
        }
    )
    assert list(modules) == ["good"]
    assert edges == []
    assert not recwarn.list  # other people's odd escapes


def test_coding_cookies_are_obeyed(read):
    modules, _, _ = read(
        {"a.py": '# -*- coding: latin-1 -*-\n"""Größe\n\n   und Maß."""\n'.encode("latin-1")}
    )
    assert modules["a"].docstring == "Größe und Maß."
    assert modules["a"].lines == 4


def test_what_is_left_out_is_counted(example, tmp_path):
    for name in (
        "a/__init__.py", "a/b.py", "a/b/__init__.py", "a/tests/c.py", "a/test_d.py", "a/conftest.py",
        "a/_vendor/e.py", "a-1.0.dist-info/f.py", "a/latest.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    files, left_out = example.find_modules([tmp_path])
    assert {name: path.name for name, path in files.items()} == {
        "a": "__init__.py", "a.b": "__init__.py", "a.latest": "latest.py",
    }  # fmt: skip
    assert sorted(left_out.values()) == [1, 1, 1, 3]
    assert left_out["tests"] == 3


def test_packages_are_ranked_within_bounds(example):
    names = [*("huge.m" for _ in range(9)), *"bbb", *"aaa", *"cccc", "tiny"]
    assert list(example.largest_packages(names, 2, 5, 2).items()) == [("c", 4), ("a", 3)]
