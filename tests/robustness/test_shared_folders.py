"""Processes that share a cache, a search's file or a folder of results: nothing is lost, nothing is torn."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from trainings import GRAPH, without_times

from kernode.io import write_npz
from kernode.search.results import read_record

AT_ONCE = 3
_WRITER = """
import sys
from pathlib import Path
from kernode.storage import write_whole
path, letter = Path(sys.argv[1]), sys.argv[2].encode()
for size in range(200):
    write_whole(path, letter * (1000 * (size % 7 + 1)))
"""


def test_concurrent_writers_leave_a_whole_file(tmp_path):
    path = tmp_path / "shared"
    path.write_bytes(b"a" * 1000)
    orphan = tmp_path / f".shared.{'0' * 16}"
    orphan.write_bytes(b"of a writer that was killed")
    os.utime(orphan, (0, 0))
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(path), letter], stderr=subprocess.PIPE)
        for letter in "abc"
    ]
    read = 0
    while any(writer.poll() is None for writer in writers):
        content = path.read_bytes()
        assert content == content[:1] * len(content)
        assert content
        assert len(content) % 1000 == 0
        read += 1
    for writer in writers:
        assert (writer.wait(), writer.stderr.read()) == (0, b"")
        writer.stderr.close()
    assert read > 10
    assert [one.name for one in tmp_path.iterdir()] == ["shared"]


class Together:
    """The same command in several processes at once."""

    def __init__(self, warm, folder):
        self.warm, self.folder = warm, folder
        write_npz(GRAPH, folder / "clusters.npz")

    def run(self, line, before=""):
        """The report of each; {} is its number."""
        lines = [line.replace("{}", str(number)).split() for number in range(AT_ONCE)]
        processes = [self.warm.start(self.folder, *words, before=before) for words in lines]
        ends = [self.warm.end(process) for process in processes]
        for status, _, err in ends:
            assert status == 0, err
        assert not [path for path in self.folder.rglob(".*") if path.is_file()]
        return [json.loads(out) for _, out, _ in ends]


@pytest.fixture
def together(warm, tmp_path):
    return Together(warm, tmp_path)


@pytest.mark.slow
def test_they_share_a_cache(together):
    cache = together.folder / "cache"
    before = f"import os; os.environ['KERNODE_CACHE'] = {str(cache)!r}"
    run = "--epochs 2 --replicas 1 --set run.threads=1 --json"
    together.run(f"fit cora --variant k3 --set map.hidden=8 {run} -o {{}}.safetensors", before)
    models = {(together.folder / f"{number}.safetensors").read_bytes() for number in range(AT_ONCE)}
    assert len(models) == 1
    for _ in range(2):  # into an empty cache, and out of a full one
        together.run("plot 0.safetensors embedding --layout pca -o {} --json", before)
    kept = sorted(path.parent.name for path in cache.rglob("*") if path.is_file())
    assert kept == ["layouts"]


@pytest.mark.slow
def test_they_share_a_search(together):
    run = "--set run.batch=2 --set run.study=s.db --set run.threads=1"
    line = f"tune clusters.npz --variant sgc --epochs 3 {run} --json -o {{}}.toml"
    reports = together.run(f"{line} --trials 8")
    with closing(sqlite3.connect(together.folder / "s.db")) as study:
        assert study.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        states = [state for (state,) in study.execute("SELECT state FROM trials")]
    assert states.count("COMPLETE") >= 8
    assert "RUNNING" not in states
    assert all(report["trials"] >= 8 for report in reports)


@pytest.mark.slow
def test_they_share_a_folder_of_results(together):
    line = "compare clusters.npz --variants label-propagation,sgc,smoother --splits 3 --results r --json"
    reports = together.run(f"{line} --split 0.5/0.25/0.25 --set run.threads=1")
    files = sorted((together.folder / "r" / "compare").iterdir())
    assert len(files) == 3
    for path in files:
        read_record(path)
    assert all(without_times(one) == without_times(reports[0]) for one in reports)
