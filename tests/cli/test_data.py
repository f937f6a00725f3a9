"""``kernode data``: what there is, what is in it, and stores for every command."""

import json

import pytest

from commands import fails
from kernode.io import load_graph


def test_a_store_is_data_for_every_command(kernode):
    status, out, _ = kernode("data", "convert", "cora", "-o", "parts")
    assert status == 0
    assert "cora: 2,708 nodes and 5,278 edges (" in out
    assert sorted(path.name for path in (kernode.folder / "parts").iterdir())[-1] == "store.json"
    facts = json.loads(kernode("data", "info", "parts", "--json")[1])
    assert facts["fingerprint"] == load_graph("cora").fingerprint
    status, out, _ = kernode(
        "fit", "parts", "--epochs", "1", "--replicas", "1", "--set", "run.device=cpu", "-o", "m.safetensors"
    )
    assert status == 0
    assert "kernode predict m.safetensors --graph parts" in out
    status, _, err = kernode("predict", "m.safetensors", "--graph", "parts", "-o", "classes.csv")
    assert status == 0, err


@pytest.mark.parametrize(
    "words",
    [
        "-o parts/store.json",
        "-o m.safetensors --checkpoint parts/c.safetensors",
    ],
)
def test_nothing_is_written_over_the_files_of_a_store(kernode, words):
    assert kernode("data", "convert", "cora", "-o", "parts")[0] == 0
    before = {path.name: path.read_bytes() for path in (kernode.folder / "parts").iterdir()}
    fails(kernode("fit", "parts", "--variant", "n1", *words.split()), 2, "parts", "Give another")
    assert {path.name: path.read_bytes() for path in (kernode.folder / "parts").iterdir()} == before


def test_data_list_shows_table_1(kernode):
    _, out, _ = kernode("data", "list")
    for figure in ("2,708", "5,278 (5,429)", "1,208 / 500 / 1,000", "18,217 / 500 / 1,000"):
        assert figure in out
    _, out, _ = kernode("data", "list", "--json")
    assert [entry["name"] for entry in json.loads(out)["datasets"]] == ["cora", "citeseer", "pubmed"]


def test_data_info_describes_a_graph(kernode, graph_file):
    _, out, _ = kernode("data", "info", "cora", "--json")
    facts = json.loads(out)
    assert (facts["nodes"], facts["edges"], facts["classes"]["Theory"]) == (2708, 5278, 351)
    status, out, _ = kernode("data", "info", graph_file)
    assert status == 0
    assert "90 nodes" in out
