"""Every wrong input of the catalogue ends in one sentence, the right status, and nothing left behind."""

import json
import os
import shutil

import numpy as np
import pytest
from calls_and_requests import CALLS, REQUESTS
from catalogue import COMMANDS, EDGES, FIT, NODES
from fastapi.testclient import TestClient

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.cli import main
from kernode.io import load_graph, write_npz
from kernode.tasks.classes.model import NodeModel
from kernode.viz.explorer import app

HERE = "http://127.0.0.1:8765"
TRAINED = "--epochs 2 --replicas 1 --quiet"
SETUP = (
    f"fit graph.npz --variant k3 {TRAINED} --checkpoint check.safetensors -o model.safetensors",
    f"{FIT} --variant k3 {TRAINED} -o tables.safetensors",
    f"{FIT.replace('team', 'age')} --set table.task=numbers --quiet -o numbers.safetensors",
    f"links graph.npz --variant kernel {TRAINED} -o links.safetensors",
)


@pytest.fixture(scope="session")
def usual_files(tmp_path_factory):
    """A folder with two graphs, tables, models of them and a checkpoint."""
    folder = tmp_path_factory.mktemp("usual")
    graph = clustered_graph(n=30, features=4)
    other = clustered_graph(n=24, features=6, seed=1)
    pairs = np.argwhere(np.triu(graph.adjacency.toarray()))
    write_npz(graph, folder / "graph.npz")
    write_npz(
        kn.Graph(other.adjacency, other.features, other.labels, name="others"),
        folder / "other.npz",
    )
    write_npz(kn.Graph.from_edges(pairs, graph.features), folder / "bare.npz")
    write_npz(
        kn.Graph.from_edges(np.zeros((0, 2), int), graph.features, graph.labels), folder / "edgeless.npz"
    )
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("KERNODE_CACHE", str(folder.parent / "cache"))
        for line in SETUP:
            patch.setattr("sys.argv", ["kernode", *line.split()])
            with pytest.raises(SystemExit) as end:
                main()
            assert not end.value.code
    return folder


def content(folder):
    """Every file of a folder, hidden ones among them."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_what_is_wrong(sentence, wrong):
    """Whether a sentence has a word of the line, or of the catalogue: its wording may change."""
    given = [word.strip("-") for word in wrong.line.split()[1:]]
    known = [
        *(word for word in given if len(word) > 2),
        *(one for text in wrong.says for one in text.split()),
    ]
    return any(word in sentence for word in known)


@pytest.mark.parametrize("wrong", COMMANDS, ids=lambda wrong: wrong.name)
def test_a_wrong_command_ends_in_one_sentence_and_leaves_nothing(
    wrong, usual_files, tmp_path, monkeypatch, command
):
    folder = tmp_path / "folder"
    shutil.copytree(usual_files, folder)
    for name, text in wrong.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))
    before = content(tmp_path)
    result = command(*wrong.line.split())
    fails(result, wrong.status)
    assert names_what_is_wrong(result[2], wrong), result[2]
    assert "internal error" not in result[2]
    assert content(tmp_path) == before


def test_a_pipe_is_not_replaced_by_a_file(usual_files, tmp_path, monkeypatch, command):
    monkeypatch.chdir(usual_files)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for option in ("-o", "--checkpoint"):
        fails(command("fit", "graph.npz", option, pipe), 2, "pipe")
    assert pipe.is_fifo()


@pytest.mark.parametrize("wrong", CALLS, ids=lambda wrong: wrong.name)
def test_a_wrong_call_raises_one_sentence(wrong):
    with pytest.raises(kn.InputError) as raised:
        wrong.call()
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    for word in wrong.says:
        assert word in sentence


@pytest.fixture(scope="session")
def explorer(usual_files, tmp_path_factory):
    """A client of the explorer."""
    on = NodeModel.load(usual_files / "model.safetensors").on(load_graph(usual_files / "graph.npz"), "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        with TestClient(app(on, layout="pca"), base_url=HERE) as client:
            yield client


@pytest.mark.parametrize("wrong", REQUESTS, ids=lambda wrong: wrong.name)
def test_a_wrong_request_gets_one_sentence(wrong, explorer):
    if wrong.body is None:
        reply = explorer.get(wrong.path, headers=wrong.headers)
    else:
        body = wrong.body if isinstance(wrong.body, bytes) else json.dumps(wrong.body).encode()
        sent = {"content-type": "application/json", **wrong.headers}
        reply = explorer.post(wrong.path, content=body, headers=sent)
    assert reply.status_code == wrong.status, reply.text
    assert [*reply.json()] == ["error"]
    sentence = reply.json()["error"]
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    for word in wrong.says:
        assert word in sentence
    assert explorer.get("/health").json() == {"status": "ok"}
