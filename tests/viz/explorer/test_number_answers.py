"""Answers about a regressor over HTTP are those of the Python interface."""

import struct

import numpy as np
import pytest

import kernode as kn
from tasks import number_model


@pytest.fixture(scope="module")
def model(cache):
    return number_model()


@pytest.fixture(scope="module")
def numbers(model, served):
    with served(model) as client:
        yield client


def ask(client, path, **parameters):
    reply = client.get(f"/api/{path}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


def node_of(model, *, learned):
    there = np.isin(np.arange(model.graph_.n_nodes), model.model_.train[0])
    return str(model.graph_.node_names[np.flatnonzero(there == learned)[0]])


def test_the_model_is_described_with_ranges_of_its_numbers(numbers, model):
    found = ask(numbers, "model")
    assert (found["task"], found["target"], found["nodes"]) == ("numbers", "price", 160)
    assert len(found["classes"]) == 8
    assert sum(one["predicted"] for one in found["classes"]) == 160
    assert sum(one["known"] for one in found["classes"]) == np.isfinite(model.graph_.targets).sum()
    assert found["interval"] == {"coverage": 0.9, "method": "conformal"}


def test_the_picture_has_each_node_in_the_range_of_its_number(numbers, model):
    content, described = numbers.get("/api/layout").content, ask(numbers, "model")
    n, c = struct.unpack("<II", content[:8])
    assert (n, c) == (160, 8)
    assert len(content) == 8 + 9 * n
    predicted, known = (np.frombuffer(content, "<u2", n, 8 + start * n) for start in (4, 6))
    order = np.argsort(model.predict(model.graph_.node_names), kind="stable")
    assert np.all(np.diff(predicted[order].astype(int)) >= 0)
    assert np.array_equal(known == 0, np.isnan(model.graph_.targets))
    for at in (0, 40, 120):
        one = ask(numbers, "node", name=f"house {at}")
        assert one["predicted_class"] == described["classes"][predicted[at]]["name"]


def test_a_node_has_its_number_and_an_interval_unless_it_was_learned_from(numbers, model):
    name = node_of(model, learned=False)
    found = ask(numbers, "node", name=name)
    (number,), (deviation,) = model.predict([name], return_std=True)
    assert found["number"] == pytest.approx(number)
    assert found["deviation"] == pytest.approx(deviation)
    assert found["interval"] == pytest.approx(model.predict_interval([name])[0].tolist())
    assert found["learned"] is False
    known = ask(numbers, "node", name=node_of(model, learned=True))
    assert (known["interval"], known["learned"]) == (None, True)


def test_an_explanation_is_the_models_and_sums_to_the_number(numbers, model):
    name = node_of(model, learned=False)
    found, expected = ask(numbers, "explain", name=name, top=5), model.explain(name, top=5)
    assert found["number"] == pytest.approx(expected.number)
    assert found["mean"] + sum(found["parts"].values()) == pytest.approx(found["number"])
    known = sum(one["value"] for one in found["numbers"])
    assert found["mean"] + known + found["rest"] == pytest.approx(found["number"])
    assert [one["name"] for one in found["numbers"]] == [one.node for one in expected.known]


def test_similar_nodes_and_what_if_are_those_of_the_model(numbers, model):
    name = node_of(model, learned=False)
    found = ask(numbers, "similar", name=name, k=4)["similar"]
    expected = [(one, pytest.approx(value)) for one, value in model.similar(name, k=4)]
    assert [(one["name"], one["similarity"]) for one in found] == expected
    other = ask(numbers, "node", name=name)["neighbours"][0]["name"]
    reply = numbers.post("/api/what-if", json={"name": name, "remove": [other], "features": {"feature 0": 2}})
    answer, slow = reply.json(), model.what_if(name, remove=[other], features={0: 2.0})
    assert answer["after"]["number"] == pytest.approx(slow.after[0])
    assert answer["before"]["deviation"] == pytest.approx(slow.before[1])
    assert model.predict([name])[0] == pytest.approx(answer["before"]["number"])  # nothing is stored


def test_a_new_node_has_the_number_that_extend_gives(numbers, model):
    body = {"name": "new", "edges": ["house 3"], "features": {"feature 1": 1.5}, "k": 3}
    found = numbers.post("/api/new-node", json=body).json()
    edges = kn.positions(np.array([[160, 3]]))
    larger = model.extend(None, np.array([[0, 1.5, 0]]), edges, names=["new"])
    assert found["number"] == pytest.approx(larger.predict(["new"])[0])
    assert len(found["similar"]) == 3
    parts = found["explanation"]["parts"]
    assert found["explanation"]["mean"] + sum(parts.values()) == pytest.approx(found["number"])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pair?name=house 1&other=house 2", "not a sum over neighbours"),
        ("similar?name=house 1&of_class=a", "predicts numbers"),
        ("explain?name=house 1&against=a", "predicts numbers"),
    ],
)
def test_what_is_of_classes_is_refused_in_a_sentence(numbers, path, words):
    reply = numbers.get(f"/api/{path}")
    assert reply.status_code == 400
    assert words in reply.json()["error"]
    assert ask(numbers, "kernel", name="house 1", other="house 2")["similarity"] == pytest.approx(
        float(number_model()._on().kernel.gram(["house 1"], ["house 2"])[0, 0])
    )


def test_equal_numbers_are_one_range(served, cache):
    graph = kn.Graph.from_edges([(0, 1), (1, 2), (2, 3)], np.eye(4), targets=[5.0] * 4)
    with pytest.warns(UserWarning, match="the same"):
        model = kn.NodeKernelRegressor().fit(kn.positions([0, 1, 2]), [5.0] * 3, graph=graph)
    with served(model) as client:
        assert [one["name"] for one in ask(client, "model")["classes"]] == ["any"]
