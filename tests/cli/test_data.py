"""``kernode data``: what there is, what is in it, and stores for every command."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from commands import fails
from kernode.io import Store, load_graph, read_table


@pytest.fixture
def tables(kernode):
    random = np.random.default_rng(0)
    ends = random.integers(0, 60, (200, 2))
    parquet.write_table(pa.table({"from": ends[:, 0], "to": ends[:, 1]}), kernode.folder / "ties.parquet")
    nodes = {"id": np.arange(60), "x": random.normal(size=60), "word": ["alpha beta"] * 30 + ["gamma"] * 30}
    parquet.write_table(pa.table(nodes), kernode.folder / "people.parquet")
    return "ties.parquet", "--nodes", "people.parquet"


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


def test_tables_are_sharded_as_every_command_reads_them(kernode, tables):
    report = json.loads(kernode("data", "convert", *tables, "-o", "store", "--json")[1])
    sizes = {path.name: path.stat().st_size for path in (kernode.folder / "store").iterdir()}
    assert report["files"] == sizes
    graph = read_table(kernode.folder / tables[0], kernode.folder / tables[2])
    store = Store.open(kernode.folder / "store")
    assert report["fingerprint"] == graph.fingerprint == store.fingerprint
    assert store.names().tolist() == graph.node_names.tolist()
    assert store.notes == graph.notes


def test_what_cannot_be_sharded_is_one_sentence_and_leaves_nothing(kernode, tables):
    words = (*tables, "--label", "third", "-o", "store")
    fails(kernode("data", "convert", *words), 2, "no column 'third' for the label")
    assert not (kernode.folder / "store").exists()


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


def test_a_damaged_array_is_named(kernode):
    kernode("data", "convert", "cora", "-o", "store", "--quiet")
    path = kernode.folder / "store" / "features.data.npy"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    fails(kernode("data", "info", "store"), 1, "features.data.npy is damaged")


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
