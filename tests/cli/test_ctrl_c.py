"""Ctrl-C in real processes: over within a second, one sentence, nothing half done, nobody left behind."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import kernode as kn
from kernode.storage import write_whole
from pressing import press
from warm import environment

SECONDS = 2.0  # 1 on a machine that does nothing else
BIG = "synthetic:nodes=60000,degree=10,features=32"
MORE = "synthetic:nodes=300000,degree=10,features=32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Trained models are in it: of Cora, of its links, and of tables, with edges that arrive."""
    folder = tmp_path_factory.mktemp("folder")
    graph, split = kn.load("cora", split="fastgcn")
    model = kn.NodeKernelClassifier("n1", epochs=3, replicas=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    model.save(folder / "cora.safetensors")
    kn.LinkPredictor("kernel", epochs=1).fit(graph).save(folder / "links.safetensors")
    n = 6000
    edges = [f"n{i},n{i * step % n}\n" for i in range(n) for step in (7, 11, 13)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(edges))
    (folder / "nodes.csv").write_text("id,age,team\n" + "".join(f"n{i},{i},t{i % 3}\n" for i in range(n)))
    (folder / "more.csv").write_text("source,target\n" + "".join(f"n{i},n{i * 17 % n}\n" for i in range(n)))
    tables = kn.read_table(folder / "edges.csv", folder / "nodes.csv", label="team")
    model = kn.NodeKernelClassifier("n1", epochs=1).fit(
        np.arange(100), tables.labels[:100], graph=tables, validation=np.arange(100, 200)
    )
    model.save(folder / "tables.safetensors", with_graph=True)
    return folder


EPOCH = '"event": "epoch"'
TRAINING = '"event": "training"'
NOTHING = "Nothing was written."
# The words of a command, when to press, and what it says of what is kept, as a pattern.
LONG = {
    "fit, reading": (f"fit {BIG}", {"after": 0.4}, "Nothing was saved"),
    "fit, hops": (f"fit {BIG} --variant k3", {"at": TRAINING, "after": 0.1}, "Nothing was saved"),
    "fit, epochs": ("fit cora --variant k3 --epochs 900", {"at": EPOCH}, "use --checkpoint FILE"),
    "fit, kept": (
        "fit cora --variant k3 --replicas 2 --epochs 900 --checkpoint run.safetensors",
        {"at": '"epoch": 12,'}, "run.safetensors holds 1",
    ),
    "links": ("links cora --epochs 900", {"at": EPOCH}, "Nothing was saved"),
    "compare": ("compare cora --results r", {"at": EPOCH}, "0 of 7 comparisons are stored"),
    "compare, jobs": ("compare cora --results r --jobs 2", {"after": 3.0}, "0 of 7 comparisons are stored"),
    "tune": ("tune cora --set run.study=s.db", {"at": EPOCH}, "Finished trials are in s.db"),
    "shard": (f"data convert {MORE} -o parts", {"after": 0.3}, NOTHING),
    "dry run": ("fit cora --replicas 200 --dry-run", {"after": 0.5}, NOTHING),
    "similar": ("similar cora.safetensors 35", {"after": 0.02}, NOTHING),
    "gram": ("embed cora.safetensors --gram -o gram.npz", {"after": 0.1}, NOTHING),
    "predict": ("predict cora.safetensors -o p.csv", {"after": 0.05}, NOTHING),
    "explain": ("explain cora.safetensors 35", {"after": 0.05}, NOTHING),
    "what-if": ("explain cora.safetensors 35 --smallest edges", {"after": 0.5}, NOTHING),
    "embed": ("embed cora.safetensors -o vectors.csv", {"after": 0.05}, NOTHING),
    "missing": ("predict-links links.safetensors", {"after": 0.1}, NOTHING),
    "new edges": ("predict tables.safetensors --new-edges more.csv --all -o e.csv", {"after": 0.1}, NOTHING),
    "plot": ("plot cora.safetensors embedding -o pictures", {"after": 1.2}, NOTHING),
    "report": ("report cora.safetensors -o report.html", {"after": 1.2}, NOTHING),
    "serve": ("serve cora.safetensors --port 0", {"after": 1.2}, NOTHING),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes there")  # noqa: PTH112
@pytest.mark.parametrize("which", LONG)
def test_a_long_command_ends_within_a_second_and_says_what_is_kept(warm, folder, which):
    words, when, sentence = LONG[which]
    ended = press(warm, folder, *words.split(), **when)
    assert ended.alive, ended  # else there was nothing to interrupt
    assert ended.status == 130, ended
    assert ended.seconds < SECONDS
    *before, last = ended.err.splitlines()
    assert last.startswith("kernode: interrupted. ")
    assert re.search(sentence, last)
    assert "Traceback" not in ended.err
    assert not [line for line in before if "Interrupt" in line or "resource_tracker" in line]
    assert ended.out == ""
    assert ended.orphans == 0
    hidden = [path for path in folder.rglob(".*") if not path.name.startswith(".unfinished")]
    assert not hidden  # files that are being written have such names


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.8, 1.5])
def test_ctrl_c_while_torch_is_imported_is_a_sentence(seconds, tmp_path):
    process = started("fit", "cora", folder=tmp_path)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert err.startswith("kernode: interrupted. ")
    assert err.count("\n") == 1


def started(*words, folder):
    """A command in a process that hears Ctrl-C though this one may not."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-m", "kernode", *words], **pipes, cwd=folder, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def test_files_that_are_whole_are_named(command, tmp_path, monkeypatch):
    def some(folder, *_, **__):
        write_whole(tmp_path / "a.npz", b"whole")
        raise KeyboardInterrupt

    monkeypatch.setattr("kernode.io.write_npz", some)
    status, _, err = command("data", "convert", "cora", "-o", tmp_path / "b.npz")
    assert status == 130
    assert str(tmp_path / "a.npz") in err
    assert str(tmp_path / "b.npz") not in err
