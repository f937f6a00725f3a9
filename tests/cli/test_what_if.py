"""`kernode explain` with changes: the answer if edges or features were others."""

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
    words = ("explain", model, 0, "--remove", NEIGHBOUR, "--change", "feature 1=3.5")
    status, out, err = kernode(*words)
    assert status == 0, err
    assert "before" in out
    assert "after" in out
    found = json.loads(kernode(*words, "--json")[1])
    assert sum(found["after"].values()) == pytest.approx(1)
    assert found["before"] != found["after"]


@pytest.mark.parametrize("what", ["edges", "features"])
def test_the_smallest_is_searched_for(kernode, model, what):
    status, out, err = kernode("explain", model, 0, "--smallest", what)
    assert status == 0, err
    assert "answers computed" in out
    found = json.loads(kernode("explain", model, 0, "--smallest", what, "--json")[1])
    assert (found["was"] != found["becomes"]) == bool(found["smallest"]["found"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((1, "--smallest", "edges"), "--add, --remove, --change, --smallest"),
        (("--smallest", "edges", "--remove", NEIGHBOUR), "--smallest"),
        (("--change", "feature 1=many"), "--change"),
        (("--change", "nothing=1"), "'nothing'"),
        (("--add", "nobody"), ""),
    ],
)
def test_wrong_use_is_one_sentence(kernode, model, options, words):
    fails(kernode("explain", model, 0, *options), 2, words)


NODES = {
    "id": [f"n{i}" for i in range(40)],
    "year": [1990 + i % 2 * 9 + i % 7 for i in range(40)],
    "venue": ["ABC"[i % 3] for i in range(40)],
    "on": [f"20{10 + i % 9}-03-0{1 + i % 9}" for i in range(40)],
    "open": [("yes", "no", None)[i % 3] for i in range(40)],
    "topic": ["xy"[i % 2] for i in range(40)],
}
EDGES = {"source": [f"n{i}" for i in range(38)], "target": [f"n{i + 2}" for i in range(38)]}


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory):
    """A model of a graph that was read from tables."""
    graph = kn.read_table(EDGES, NODES, label="topic")
    fitted = kn.NodeKernelClassifier("n1", epochs=20, random_state=0)
    fitted.fit(graph.node_names, np.array(graph.class_names)[graph.labels], graph=graph)
    return str(fitted.save(tmp_path_factory.mktemp("model") / "m.safetensors", with_graph=True))


@pytest.mark.parametrize(
    ("column", "value"),
    [("year", 99_999), ("venue", "B"), ("on", "2012-12-31"), ("open", None)],
)
def test_a_column_of_a_table_is_set_to_a_value_of_the_table(kernode, of_tables, column, value):
    """The answer is that about the graph of the tables with this value."""
    change = f"{column}={'' if value is None else value}"
    found = json.loads(kernode("explain", of_tables, "n4", "--change", change, "--json")[1])
    model = kn.load_model(of_tables)
    values = [*NODES[column]]
    values[4] = value
    other = kn.read_table(EDGES, NODES | {column: values}, like=kn.read_table(EDGES, NODES, label="topic"))
    expected = model.predict_proba(["n4"], graph=other)[0]
    assert [*found["after"].values()] == pytest.approx(expected, abs=1e-5)
    assert model.what_if("n4", columns={column: value}).after == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--change", "year=many"), "'many'"),
        (("--change", "year=1999", "--change", "year=2000"), "--change"),
        (("--change", "venue=Z"), "'A', 'B', 'C'"),
        (("--change", "place=1"), "'year'"),
        (("--change", "year"), "--change"),
    ],
)
def test_what_no_table_could_hold_is_one_sentence(kernode, of_tables, options, words):
    fails(kernode("explain", of_tables, "n4", *options), 2, words)
