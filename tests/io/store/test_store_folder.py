"""Stores that are not finished leave nothing, and folders of something else are left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernode.graph import Graph
from kernode.io.store import Store, write, write_store
from refusals import refused

GRAPH = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), node_names=["a", "b", "c"])


def test_what_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(write, "pack_names", lambda names: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_store(GRAPH, tmp_path / "store", 2)
    assert not (tmp_path / "store").exists()
    assert write_store(GRAPH, tmp_path / "store", 2).whole().fingerprint == GRAPH.fingerprint


def test_a_finished_store_is_never_written_over(tmp_path: Path) -> None:
    write_store(GRAPH, tmp_path / "store", 1)
    before = (tmp_path / "store" / "store.json").stat().st_mtime_ns
    with refused("conflict", path=str(tmp_path / "store")):
        write_store(GRAPH, tmp_path / "store", 1)
    assert (tmp_path / "store" / "store.json").stat().st_mtime_ns == before
    assert Store.open(tmp_path / "store").nodes == 3


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with refused("conflict"):
        write_store(GRAPH, tmp_path, 1)
    with refused("conflict"):
        write_store(GRAPH, tmp_path / "mine.txt", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
