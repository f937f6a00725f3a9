"""Files of a version that is still to come: refused with what to do, never half understood."""

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
    """The one sentence or two that a file is refused with."""
    with pytest.raises(kn.KernodeError) as caught:
        kn.load_model(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "pdate kernode" in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize("kind", MODELS)
def test_a_fact_that_nobody_here_knows_is_not_passed_over(kind, tmp_path):
    path = of_later(kind, tmp_path / "m.safetensors", lambda facts: facts.update(offset=0.5))
    assert "kernode 0.9.0 wrote 'offset'" in refusal(path)


@pytest.mark.parametrize("kind", MODELS)
def test_a_map_that_nobody_here_knows_is_named(kind, tmp_path):
    path = of_later(
        kind, tmp_path / "m.safetensors", lambda facts: facts["method"]["map"].update(kind="Tomorrow")
    )
    assert "'Tomorrow' is not a known part" in refusal(path)


@pytest.mark.parametrize("part", ["map", "training"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_setting_that_nobody_here_knows_is_named(kind, part, tmp_path):
    def change(facts):
        (facts["training"] if part == "training" else facts["method"]["map"])["tomorrow"] = 1

    assert "no setting 'tomorrow'" in refusal(of_later(kind, tmp_path / "m.safetensors", change))


def test_another_calibration_is_not_passed_over(tmp_path):
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
