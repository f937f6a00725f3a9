"""Ctrl-C in real processes: status 130, one sentence about what is kept, no half-written file, no orphans."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

import kernode as kn
from kernode.errors import Interrupted, kept
from pressing import press
from warm import environment

SECONDS = 20.0  # a long product or sort is finished first
BIG = "synthetic:nodes=60000,degree=10,features=32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained model of Cora is in it."""
    folder = tmp_path_factory.mktemp("folder")
    graph, split = kn.load("cora", split="fastgcn")
    model = kn.NodeKernelClassifier("n1", epochs=3, replicas=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    model.save(folder / "cora.safetensors")
    return folder


EPOCH = '"event": "epoch"'
NOTHING = "Nothing was written."
# The words of a command, when to press, and what it says about what is kept, as a pattern.
LONG = {
    "fit, reading": (f"fit {BIG}", {"after": 0.4}, "Nothing was saved"),
    "fit, epochs": ("fit cora --variant k3 --epochs 900", {"at": EPOCH}, "--checkpoint FILE would have kept"),
    "fit, kept": (
        "fit cora --variant k3 --replicas 2 --epochs 900 --checkpoint run.safetensors",
        {"at": '"epoch": 12,'}, "run.safetensors holds 1",
    ),
    "links": ("links cora --epochs 900", {"at": EPOCH}, "Nothing was saved"),
    "compare": ("compare cora --results r", {"at": EPOCH}, "0 of 7 comparisons are stored"),
    "compare, jobs": ("compare cora --results r --jobs 2", {"after": 3.0}, "0 of 7 comparisons are stored"),
    "tune": ("tune cora --study s.db", {"at": EPOCH}, "What is done is in s.db"),
    "what-if": ("what-if cora.safetensors 35 --smallest edges", {"after": 0.5}, NOTHING),
    "plot": ("plot cora.safetensors embedding -o pictures", {"after": 1.2}, NOTHING),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes there")  # noqa: PTH112
@pytest.mark.parametrize("which", LONG)
def test_a_long_command_ends_and_says_what_is_kept(warm, folder, which):
    words, when, sentence = LONG[which]
    ended = press(warm, folder, *words.split(), **when)
    assert ended.alive, ended  # else there was nothing to interrupt
    assert ended.status == 130, ended
    assert ended.seconds < SECONDS
    last = ended.err.splitlines()[-1]
    assert last.startswith("kernode: interrupted. ")
    assert re.search(sentence, last)
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert ended.orphans == 0
    hidden = [path for path in folder.rglob(".*") if not path.name.startswith(".unfinished")]
    assert not hidden  # files that are being written have such names


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.5])
def test_ctrl_c_while_python_imports_is_a_sentence(seconds, tmp_path):
    process = subprocess.Popen(  # which reacts to Ctrl-C though this process may not
        [sys.executable, "-m", "kernode", "fit", "cora"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].startswith("kernode: interrupted. ")


def test_the_innermost_says_what_is_kept():
    with (
        pytest.raises(Interrupted, match=r"^interrupted\. inner$"),
        kept(lambda: "outer"),
        kept(lambda: "inner"),
    ):
        raise KeyboardInterrupt


def test_files_that_are_whole_are_named(command, tmp_path, monkeypatch):
    from kernode.viz import pictures

    def some(evidence, folder, *_):
        from kernode.storage import write_whole

        write_whole(tmp_path / "a.png", b"whole")
        raise KeyboardInterrupt

    monkeypatch.setattr(pictures, "write_pictures", some)
    graph, split = kn.load("cora", split="fastgcn")
    model = kn.NodeKernelClassifier("n1", epochs=1)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    model.save(tmp_path / "cora.safetensors")
    status, _, err = command("plot", tmp_path / "cora.safetensors", "-o", tmp_path / "p")
    assert status == 130
    assert err.endswith(f"kernode: interrupted. Written by then: {tmp_path / 'a.png'}.\n")
