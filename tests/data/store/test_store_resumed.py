"""A store whose writing was killed goes on with the same command, and with no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kernode.data import Store, load_graph, read_table, write_store
from kernode.data.store import Roles, shard_tables, write
from kernode.data.store.from_tables import edges
from kernode.data.store.from_tables import write as from_tables
from kernode.data.store.journal import JOURNAL, WORK, Journal
from kernode.errors import InputError
from kernode.graph import Graph

PARTS = 6
# Writes parts as the command does, and halts after some: until it is killed.
SLOW = """
import sys, time
from kernode.data.store import write
write_part, written = write.write_part, []

def slow(path, tensors):
    if len(written) == 3:
        print("three", flush=True)
        time.sleep(600)
    written.append(path)
    return write_part(path, tensors)

write.write_part = slow
from kernode.__main__ import main
sys.argv = ["kernode", *sys.argv[1:]]
main()
"""


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(0)
    ends = random.integers(0, 200, (900, 2))
    parquet.write_table(pa.table({"source": ends[:, 0], "target": ends[:, 1]}), tmp_path / "edges.parquet")
    nodes = {"id": np.arange(190), "size": random.normal(size=190)}
    parquet.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    return tmp_path / "edges.parquet", tmp_path / "nodes.parquet"


def killed(folder: Path, *data: str | Path) -> None:
    """Run the command until it has written three parts, and kill it."""
    command = [sys.executable, "-c", SLOW, "data", "shard", *map(str, data)]
    command += ["--parts", str(PARTS), "-o", str(folder), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "three\n"
        process.send_signal(signal.SIGKILL)
    assert sorted(path.name for path in folder.glob("part-*")) == [
        f"part-0000{number}.safetensors" for number in range(3)
    ]
    assert (folder / JOURNAL).is_file()
    assert not (folder / "store.json").exists()


def times(folder: Path) -> list[int]:
    return [path.stat().st_mtime_ns for path in sorted(folder.glob("part-*"))]


def test_killed_while_it_shards_tables_it_goes_on(
    tmp_path: Path, tables: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    killed(folder, tables[0], "--nodes", tables[1], "--bounded")
    assert (folder / WORK / "indices").is_file()
    before = times(folder)
    monkeypatch.setattr(edges, "number_pairs", None)  # edges are sorted already: nobody may do it again
    store = shard_tables(Roles.of(*tables), folder, PARTS)
    assert times(folder)[:3] == before
    assert store.whole().fingerprint == read_table(*tables).fingerprint
    assert sorted(path.name for path in folder.iterdir() if path.name[:4] != "part") == ["store.json"]


def test_halted_while_it_shards_a_graph_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    with monkeypatch.context() as patched:
        tensors = write._OfGraph.tensors
        patched.setattr(
            write._OfGraph, "tensors", lambda *asked: tensors(*asked) if asked[2] < 1500 else 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            write_store(load_graph("cora"), folder, PARTS)
    before = times(folder)
    assert len(before) == 3
    damaged = folder / "part-00001.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    (folder / ".part-00003.safetensors.0123").write_bytes(b"half")
    store = write_store(load_graph("cora"), folder, PARTS)
    assert [times(folder)[at] for at in (0, 2)] == [before[at] for at in (0, 2)]
    assert times(folder)[1] != before[1]
    assert store.whole().fingerprint == load_graph("cora").fingerprint
    assert not list(folder.glob(".*"))


def test_an_unfinished_store_of_something_else_is_refused(
    tmp_path: Path, tables: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    halt(monkeypatch, tables, folder)
    with pytest.raises(
        InputError, match=r"belongs to an unfinished store of something else \(parts differs\)"
    ):
        shard_tables(Roles.of(*tables), folder, PARTS + 1)
    with pytest.raises(InputError, match=r"something else \(source differs\)"):
        write_store(load_graph("cora"), folder, PARTS)
    later = time.time() + 10
    os.utime(tables[0], (later, later))
    with pytest.raises(InputError, match=r"something else \(source differs\)"):
        shard_tables(Roles.of(*tables), folder, PARTS)


def halt(monkeypatch: pytest.MonkeyPatch, tables: tuple[Path, Path], folder: Path) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(from_tables, "write_parts", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            shard_tables(Roles.of(*tables), folder, PARTS)


def test_sorted_edges_that_were_cut_short_are_sorted_again(
    tmp_path: Path, tables: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    halt(monkeypatch, tables, folder)
    with (folder / WORK / "indices").open("r+b") as file:
        file.truncate(80)
    store = shard_tables(Roles.of(*tables), folder, PARTS)
    assert store.whole().fingerprint == read_table(*tables).fingerprint


def test_a_second_process_is_refused_while_one_writes(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    graph = Graph.from_edges([(0, 1)], np.eye(2))
    with pytest.raises(InputError, match="is being written by another process"):
        write_twice_at_once(graph, tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert write_store(graph, tmp_path / "store", 1).nodes == 2


def write_twice_at_once(graph: Graph, folder: Path) -> None:
    with Journal.begin(folder, {"source": "another"}):
        write_store(graph, folder, 1)


def test_a_finished_store_is_never_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    graph = Graph.from_edges([(0, 1)], np.eye(2))
    write_store(graph, folder, 1)
    before = times(folder)
    with pytest.raises(InputError, match="is a finished store"):
        write_store(graph, folder, 1)
    assert times(folder) == before
    (folder / WORK).mkdir()
    (folder / JOURNAL).write_text("left by a halt after the last step but one")
    with pytest.raises(InputError, match="is a finished store"):
        write_store(graph, folder, 1)
    assert sorted(path.name for path in folder.iterdir()) == ["part-00000.safetensors", "store.json"]
    assert Store.open(folder).nodes == 2


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        write_store(Graph.from_edges([(0, 1)], np.eye(2)), tmp_path, 1)
    with pytest.raises(InputError, match="is a file"):
        write_store(Graph.from_edges([(0, 1)], np.eye(2)), tmp_path / "mine.txt", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
