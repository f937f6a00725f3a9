"""--profile: where the seconds of a command went, with the same names everywhere."""

import json

import pytest

FIT = ("--variant", "n1", "--epochs", "2", "--replicas", "1")
SPLIT = ("--split", "0.5/0.25/0.25")


@pytest.fixture
def words(kernode, graph_file):
    """The words of each command that has it."""
    assert kernode("fit", graph_file, *FIT, *SPLIT, "-o", "model.safetensors", "--quiet")[0] == 0
    return {
        "fit": (graph_file, *FIT, *SPLIT),
        "links": (graph_file, "--epochs", "2", "--replicas", "1"),
        "compare": (
            graph_file,
            "--variants",
            "smoother,label-propagation",
            "--splits",
            "2",
            "--results",
            "r",
        ),
        "predict": ("model.safetensors", graph_file, "-o", "p.csv"),
    }


PARTS = {
    "fit": {"imports", "reading the graph", "training n1", "features and hops", "saving", "evaluation"},
    "links": {"imports", "reading the graph", "training auto", "saving", "baselines"},
    "compare": {"imports", "reading the graph", "training smoother", "training label-propagation"},
    "predict": {"reading model and graph", "predicting", "saving"},
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_have_their_names_and_sum_to_the_whole(kernode, words, name):
    status, out, _ = kernode(name, *words[name], "--profile", "--json")
    assert status == 0
    profile = json.loads(out)["profile"]
    assert PARTS[name] | {"other"} <= set(profile["parts"])
    assert sum(profile["parts"].values()) == pytest.approx(profile["total"], abs=0.01)
    assert profile["total"] > 0


def test_people_see_it_on_stderr(kernode, words):
    _, out, err = kernode("predict", *words["predict"], "--profile", "--quiet")
    assert "predicting" in err
    assert "predicting" not in out
