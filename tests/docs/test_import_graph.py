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


def test_relative_imports_start_at_the_file(read):
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


def test_imports_are_found_in_every_block(read):
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


def test_imports_of_unknown_modules_are_counted(read):
    source = "import os, a.compiled\nfrom .... import x\nfrom ....b import y\nfrom . import own"
    _, edges, elsewhere = read({"a/__init__.py": source, "b.py": "from . import x\nimport a"})
    assert edges == [("b", "a")]  # and `from . import own` is a's import of itself: no edge
    assert elsewhere == 5


def test_a_file_that_does_not_parse_is_left_out(read, recwarn):
    modules, edges, _ = read(
        {"old.py": "print 'two'", "zero.py": b"x = '\0'", "bytes.py": b"x = '\xff'", "good.py": "import old"}
    )
    assert list(modules) == ["good"]
    assert edges == []
    assert not recwarn.list


def test_files_that_are_left_out_are_counted(example, tmp_path):
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
