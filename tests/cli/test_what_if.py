"""`kernode what-if`: the answer if edges or features were others."""

import json

import pytest

from commands import fails
from graphs import clustered_graph

NEIGHBOUR = int(clustered_graph().adjacency[[0]].indices[0])


@pytest.fixture
def model(kernode, graph_file):
    options = ("--variant", "n1", "--epochs", 20, "--with-graph", "--quiet", "-o", "m.safetensors")
    assert kernode("fit", graph_file, *options)[0] == 0
    return "m.safetensors"


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
