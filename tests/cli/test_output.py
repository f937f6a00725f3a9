"""What is printed comes out: on any terminal, through any pipe, or with a word that it did not."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIT = "fit edges.csv --nodes people.csv --label taste --variant n1 --epochs 5 --replicas 2 -o m.safetensors"
PREDICT = "predict m.safetensors --graph edges.csv --nodes people.csv"
LINUX = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


class Pipe(io.RawIOBase):
    """A pipe that takes a few bytes at a time, and fails after so many."""

    def __init__(self, room=10**9, error=None):
        self.taken, self.room, self.error = b"", room, error

    def writable(self):
        return True

    def write(self, content):
        if len(self.taken) >= self.room:
            raise self.error
        some = bytes(content[:7])
        self.taken += some
        return len(some)


@pytest.fixture
def workspace(workspace, shop):
    """The shop's tables lie on it, and one taste has a character that half of the world cannot print."""
    tastes = [taste.replace("Tee", "Čaj") for taste in shop.taste]
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.spent, tastes, strict=True)
    workspace.table("people.csv", ("id", "age", "spent", "taste"), rows)
    return workspace


@pytest.fixture
def terminal(monkeypatch):
    """A stdout of some encoding in place of ours."""

    def put(pipe, encoding="utf-8"):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(pipe), encoding))
        return pipe

    return put


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_a_terminal_without_greek_gets_a_report(workspace, terminal, encoding):
    """A console of 1998. The run of a night was done, and its last word was UnicodeEncodeError."""
    pipe = terminal(Pipe(), encoding)
    answer = workspace.kernode(f"{FIT} --quiet")
    assert (answer.status, answer.err) == (0, "")
    text = pipe.taken.decode(encoding)
    assert "hop weights ?" in text
    assert ("±" if encoding != "ascii" else "?") in text


def test_data_is_utf_8_whatever_the_terminal(workspace, terminal):
    """The table of predictions has the names that the table of people has."""
    assert workspace.kernode(FIT).status == 0
    pipe = terminal(Pipe(), "cp1252")
    assert workspace.kernode(PREDICT).status == 0
    rows = list(csv.DictReader(io.StringIO(pipe.taken.decode("utf-8"))))
    assert len(rows) == 60
    assert {"p_Čaj", "p_Kaffee", "p_Süßes"} < set(rows[0])
    pipe = terminal(Pipe(), "ascii")
    assert workspace.kernode(f"{PREDICT} --json").status == 0
    assert set(json.loads(pipe.taken.decode("utf-8"))["classes"]) == {"Čaj", "Kaffee", "Süßes"}


@pytest.mark.parametrize("line", [PREDICT, f"{PREDICT} --json", f"{FIT} --quiet"])
def test_a_full_disk_is_an_error(workspace, terminal, line):
    assert workspace.kernode(FIT).status == 0
    terminal(Pipe(0 if line.startswith("fit") else 40, OSError(28, "No space left on device")))
    answer = workspace.kernode(line)
    assert (answer.status, answer.err) == (1, "kernode: stdout: No space left on device.\n")


def test_a_reader_that_closes_the_pipe_gets_no_message(workspace, terminal):
    """`kernode predict … | head -1`."""
    assert workspace.kernode(FIT).status == 0
    terminal(Pipe(40, BrokenPipeError(32, "Broken pipe")))
    answer = workspace.kernode(PREDICT)
    assert (answer.status, answer.err) == (141, "")


def process(workspace, line, **more):
    """The same command as a process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "kernode", *line.split()]
    return subprocess.run(
        command, cwd=workspace.folder, env=environment | more.pop("env", {}), check=False, **more
    )


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_real_processes_on_a_full_disk_and_a_closed_pipe(workspace, unbuffered):
    """The same with the system's own devices; no word at the interpreter's exit either."""
    assert workspace.kernode(FIT).status == 0
    env = {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        for line in (PREDICT, f"{PREDICT} --json", "--version", "fit --help"):
            ended = process(workspace, line, env=env, stdout=full, stderr=subprocess.PIPE)
            assert ended.returncode == 1
            assert ended.stderr.startswith(b"kernode: ")
            assert ended.stderr.endswith(b"No space left on device.\n")
            assert ended.stderr.count(b"\n") == 1
    reader, writer = os.pipe()
    os.close(reader)
    ended = process(workspace, PREDICT, env=env, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")
    ended = process(workspace, PREDICT, env=env, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert len(ended.stdout.decode("utf-8").splitlines()) == 61
    env |= {"PYTHONIOENCODING": "", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = process(workspace, f"{FIT} --quiet", env=env, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"hop weights ?" in ended.stdout
