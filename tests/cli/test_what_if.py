"""`kernode what-if`: the answer if edges or features were others."""

import json

import numpy as np
import pytest

import kernode as kn
from commands import fails
from graphs import clustered_graph

NEIGHBOUR = int(clustered_graph().adjacency[[0]].indices[0])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of three clusters, with its graph."""
    graph, train = clustered_graph(), np.arange(0, 60, 2)
    fitted = kn.NodeKernelClassifier("n1", epochs=20, random_state=0)
    fitted.fit(train, np.array(graph.class_names)[graph.labels[train]], graph=graph)
    return str(fitted.save(tmp_path_factory.mktemp("model") / "m.safetensors", with_graph=True))


def test_for_people_and_for_programs(kernode, model):
    status, out, err = kernode("what-if", model, 0, "--remove", NEIGHBOUR, "--set", "feature 1=3.5")
    assert status == 0, err
    assert "before" in out
    assert "after" in out
    found = json.loads(
        kernode("what-if", model, 0, "--remove", NEIGHBOUR, "--set", "feature 1=3.5", "--json")[1]
    )
    assert sum(found["after"].values()) == pytest.approx(1)
    assert found["before"] != found["after"]


@pytest.mark.parametrize("what", ["edges", "features"])
def test_the_smallest_is_searched_for(kernode, model, what):
    status, out, err = kernode("what-if", model, 0, "--smallest", what)
    assert status == 0, err
    assert "answers computed" in out
    found = json.loads(kernode("what-if", model, 0, "--smallest", what, "--json")[1])
    assert (found["was"] != found["becomes"]) == bool(found["smallest"]["found"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing would change"),
        (("--smallest", "edges", "--remove", NEIGHBOUR), "--smallest searches by itself"),
        (("--smallest", "nodes"), "--smallest must be edges or features"),
        (("--set", "feature 1"), "--set must be FEATURE=NUMBER"),
        (("--set", "feature 1=many"), "--set must be FEATURE=NUMBER"),
        (("--set", "nothing=1"), "has no feature 'nothing'"),
        (("--add", NEIGHBOUR), "have an edge already"),
        (("--add", "nobody"), "nobody"),
    ],
)
def test_wrong_use_is_one_sentence(kernode, model, options, words):
    fails(kernode("what-if", model, 0, *options), 2, words)
