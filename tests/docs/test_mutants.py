"""Faults that are put in on purpose, and what is said of those that no test sees."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


SOURCE = '''
"""Twice 1 + 1."""

def half(x: int | None, y=0.0) -> float | None:
    """Not 1 - 1."""
    if x is None or not y:  # a - b
        raise ValueError(f"{1 + 1}")
    return x.sum(dim=-1).T - y

def on_gpu(x):  # pragma: needs a GPU
    return x + 1
'''


def test_each_change_is_made_once_and_none_in_words_types_or_what_needs_a_gpu(tmp_path):
    from mutations import mutants_of

    path = tmp_path / "half.py"
    path.write_text(SOURCE)
    found = mutants_of(path, tmp_path)
    assert {(one.line, one.kind, one.after) for one in found} == {
        (4, "constant", "def half(x: int | None, y=1.0) -> float | None:"),
        (6, "condition", "if not (x is None or not y):"),
        (6, "boolean", "if x is None and not y:"),
        (6, "comparison", "if x is not None or not y:"),
        (6, "sign or not", "if x is None or (y):"),
        (7, "statement removed", "pass"),
        (8, "return value", "return None"),
        (8, "arithmetic", "return x.sum(dim=-1).T + y"),
        (8, "transposition dropped", "return x.sum(dim=-1) - y"),
        (8, "other function", "return x.mean(dim=-1).T - y"),
        (8, "axis", "return x.sum(dim=-0).T - y"),
    }
    assert all(one.mutated(path.read_bytes()).decode().count("\n") == SOURCE.count("\n") for one in found)


def test_every_mutant_that_is_left_has_a_reason():
    from mutant_tables import survivors

    assert [one for one, why in survivors() if not why] == []


def test_a_module_is_imported_with_its_fault(tmp_path, monkeypatch):
    from mutants import _Finder

    (tmp_path / "some_room.py").write_text("answer = 41\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [_Finder("src/some_room.py", b"answer = 42\n"), *sys.meta_path])
    import some_room

    assert some_room.answer == 42
    assert not list(tmp_path.glob("__pycache__/*"))
