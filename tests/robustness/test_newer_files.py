"""Files of a later version are refused with what to do, never read in part."""

import json

import cases
import pytest

import kernode as kn
from kernode.io import Store, write_npz, write_store
from kernode.storage import read_tensors, write_tensors
from kernode.training.checkpoint import Checkpoint

GOLDEN = cases.HERE / "0.2.0"
MODELS = {"model": "released.safetensors", "link predictor": "links.safetensors"}


def of_later(kind, path, change, version="0.9.0"):
    """A golden file as a later version might have written it, its checksum right."""
    tensors, facts = read_tensors(GOLDEN / MODELS[kind], kind)
    facts["kernode"] = version
    change(facts)
    return write_tensors(path, kind, tensors, facts)


def refusal(path):
    """The sentences in which a file is refused."""
    with pytest.raises(kn.KernodeError) as caught:
        kn.load_model(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "pdate kernode" in said
    assert "\n" not in said
    return said


CHANGES = {  # what a later version may write, and what the refusal says
    "a fact": (lambda facts: facts.update(offset=0.5), "kernode 0.9.0 wrote 'offset'"),
    "a map": (lambda facts: facts["method"]["map"].update(kind="Tomorrow"), "'Tomorrow' is not a known part"),
    "a setting of the map": (
        lambda facts: facts["method"]["map"].update(tomorrow=1),
        "no setting 'tomorrow'",
    ),
    "a setting of training": (lambda facts: facts["training"].update(tomorrow=1), "no setting 'tomorrow'"),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_unknown_fact_part_or_setting_is_refused(kind, change, tmp_path):
    write, sentence = CHANGES[change]
    assert sentence in refusal(of_later(kind, tmp_path / "m.safetensors", write))


def test_an_unknown_calibration_is_refused(tmp_path):
    def change(facts):
        facts["calibration"]["together"]["tomorrow"] = 1

    assert "'tomorrow'" in refusal(of_later("model", tmp_path / "m.safetensors", change))


@pytest.mark.parametrize("name", ["checkpoint", "released.safetensors"])
def test_a_file_of_another_format_says_which_and_what_to_do(name, tmp_path, monkeypatch):
    kind = "checkpoint" if name == "checkpoint" else "model"
    tensors, facts = read_tensors(GOLDEN / name, kind)
    monkeypatch.setattr("kernode.storage.FORMAT", 2)
    path = write_tensors(tmp_path / name, kind, tensors, facts)
    monkeypatch.undo()
    with pytest.raises(
        kn.InputError, match=r"has format 2; this kernode reads format 1\. Update kernode, or "
    ):
        Checkpoint(path, resume=True).epochs() if kind == "checkpoint" else read_tensors(path, kind)


def test_a_store_and_a_graph_of_another_format_say_which(tmp_path, monkeypatch):
    graph, _ = cases.graph_and_split()
    write_store(graph, tmp_path / "store")
    header = tmp_path / "store" / "store.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format": 3}))
    with pytest.raises(
        kn.InputError, match=r"has format 3; this kernode reads format 2\. Update kernode, or "
    ):
        Store.open(tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr("kernode.io.npz._LAYOUT", "kernode graph 2")
        write_npz(graph, tmp_path / "graph.npz")
    with pytest.raises(kn.FileError, match=r"has the layout 'kernode graph 2'.*Update"):
        kn.load(str(tmp_path / "graph.npz"))
