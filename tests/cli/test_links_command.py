"""``kernode links``: parts, checkpoints and output; what it computes is tested with link prediction."""

import json

import numpy as np
import pytest

import kernode as kn
from commands import fails
from kernode import storage
from kernode.io import load_graph
from kernode.tasks.links.variants import MEMBERS

QUICK = ("--replicas", "2", "--set", "run.device=cpu", "-q")


def test_json_is_one_object_with_the_variant(kernode, graph_file):
    status, out, err = kernode("links", graph_file, *QUICK, "--epochs", 3, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert "method" not in report
    assert (report["variant"], report["replicas"], report["epochs"]) == ("auto", 2, 3)
    assert report["model"] == "clusters-links-auto.safetensors"
    assert (report["notes"], report["repairs"]) == (["made undirected"], [])
    assert set(report["chosen_by_validation"]) == set(report["epochs_tried"]) == set(MEMBERS)
    assert sum(one["weight"] for one in report["members"]) == pytest.approx(1, abs=1e-3)
    assert all(set(one) == {"name", "weight", "validation"} for one in report["members"])
    assert {"edges", "common_neighbours", "features"} == set(report["baselines"])


def test_people_read_the_figures(kernode, graph_file):
    _, out, _ = kernode("links", graph_file, *QUICK, "--epochs", 3, "--seed", 4)
    assert "clusters · links by auto · 2 replicas, seeds 4-5" in out
    assert "test AUC" in out
    assert "weight  member (AUC on validation edges)" in out
    assert "common neighbours" in out


@pytest.mark.parametrize("variant", ["kernel", "gae"])
def test_parts_reach_the_model_and_a_map_is_as_wide_as_the_variants_own(kernode, graph_file, variant):
    parts = ("--set", "map=gcn(hidden=(8,))", "--set", "kernel=rbf")
    result = kernode("links", graph_file, *QUICK, "--variant", variant, *parts, "--epochs", 2, "-o", "m.st")
    assert result[0] == 0, result[2]
    method = storage.read_tensors("m.st", "link predictor")[1]["method"]
    assert (method["map"]["kind"], method["map"]["hidden"]) == ("GCN", [8])
    assert method["map"]["outputs"] == {"kernel": 256, "gae": 16}[variant]
    assert method["kernel"]["kind"] == "RBF"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--variant", "k3"), ("'k3'", "kernel", "vgae")),
        (("--checkpoint", ".", "--resume"), ("is a folder",)),
        (("--set", "training.patience=3", "--set", "training.selection=last"), ("--set training.patience=",)),
        (("--set", "loss.margin=3"), ("margin",)),
    ],
)
def test_wrong_options_are_one_sentence_and_leave_no_file(kernode, graph_file, options, words):
    fails(kernode("links", graph_file, *options), 2, *words)
    assert not any(kernode.folder.iterdir())


def test_every_edge_trains_for_vectors_of_nodes(kernode, graph_file):
    options = ("--all-edges", "--epochs", 3, "--with-graph", *QUICK)
    status, out, err = kernode("links", graph_file, *options, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert (report["variant"], report["model"]) == ("embedding", "clusters-links-embedding.safetensors")
    assert "test" not in report  # nothing was held out
    assert report["baselines"] == {}
    assert kernode("embed", report["model"], "-o", "vectors.npz", "-q")[0] == 0
    model = kn.load_model(report["model"])
    with np.load("vectors.npz") as held:
        np.testing.assert_array_equal(held["vectors"], model.transform(None))
    assert model.graph_.n_edges == load_graph(graph_file).n_edges


def test_vectors_of_a_predictor_are_its_kernels(kernode, graph_file):
    kernode("links", graph_file, "--epochs", 2, *QUICK, "-o", "m.safetensors")
    assert kernode("embed", "m.safetensors", "--graph", graph_file, "-o", "vectors.npz", "-q")[0] == 0
    links = kn.load_model("m.safetensors", load_graph(graph_file))
    with np.load("vectors.npz") as held:
        np.testing.assert_array_equal(held["vectors"], links.kernel_.vectors())
    fails(kernode("embed", "m.safetensors", "-o", "other.npz"), 2, "'clusters'")
