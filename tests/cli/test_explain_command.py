"""`kernode explain`: the model's answers taken apart, for people and for programs."""

import json

import numpy as np
import pytest

import kernode as kn
from commands import fails
from graphs import clustered_graph


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of three clusters, with its graph."""
    graph, train = clustered_graph(), np.arange(0, 60, 2)
    fitted = kn.NodeKernelClassifier("k3", epochs=3, replicas=2, random_state=0)
    fitted.fit(train, np.array(graph.class_names)[graph.labels[train]], graph=graph)
    return str(fitted.save(tmp_path_factory.mktemp("model") / "m.safetensors", with_graph=True))


def test_a_node_for_people(kernode, model):
    status, out, _ = kernode("explain", model, 0, "--top", 3)
    assert status == 0
    for word in ("lead of", "1 hop away", "by neighbour", "by feature", "other nodes", "Held fixed"):
        assert word in out


def test_two_nodes_for_people(kernode, model):
    status, out, _ = kernode("explain", model, 0, 1)
    assert status == 0
    for word in ("K = ", "by pairs of neighbours", "other pairs", "through neighbours of 1"):
        assert word in out


def test_json_sums_to_the_whole(kernode, model):
    one = json.loads(kernode("explain", model, 0, "--json")[1])
    shown = sum(part["value"] for part in one["neighbours"]["parts"]) + one["neighbours"]["rest"]
    assert shown + one["class_bias"] == pytest.approx(one["lead"])
    two = json.loads(kernode("explain", model, 0, 5, "--json", "--top", 2)[1])
    assert sum(pair["value"] for pair in two["pairs"]) + two["rest"] == pytest.approx(two["similarity"])
    assert len(two["pairs"]) == 2


def test_a_class_is_chosen_by_its_name(kernode, model):
    found = json.loads(kernode("explain", model, 0, "--class", "1", "--against", "2", "--json")[1])
    assert (str(found["of_class"]), str(found["against"])) == ("1", "2")


def test_features_of_tables_have_their_names(kernode, tables):
    kernode("fit", *tables, "--variant", "n1", "--epochs", 3, "--with-graph", "-q", "-o", "m.safetensors")
    found = json.loads(kernode("explain", "m.safetensors", "n0", "--json")[1])
    names = {part["name"] for part in found["features"]["shown"]["parts"]}
    assert any(name.startswith("x") for name in names)
    assert found["node"] == "n0"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("nobody",), ()),
        ((0, "--top", 0), ("--top",)),
        ((0, 1, "--class", "1"), ("--against",)),
        ((0, "--class", "none"), ("'none'",)),
    ],
)
def test_wrong_use_is_one_sentence(kernode, model, options, words):
    fails(kernode("explain", model, *options), 2, *words)


def test_attention_is_refused(kernode, graph_file):
    kernode("fit", graph_file, "--variant", "gat", "--epochs", 2, "--with-graph", "-q", "-o", "m.safetensors")
    fails(kernode("explain", "m.safetensors", 0), 2, "GAT")
