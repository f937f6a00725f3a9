"""Answers over HTTP are those of the Python interface."""

import re
import struct
from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from kernode.viz.evaluation import EvaluationData
from kernode.viz.explorer.state import ExplorerState, matching
from kernode.viz.layout import node_positions


def ask(client, path, **parameters):
    reply = client.get(f"/api/{path}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


def names(parts):
    return [part["name"] for part in parts]


def test_the_model_is_described(client, model):
    found = ask(client, "model")
    graph = model._on(None).graph
    assert (found["nodes"], found["edges"], found["runs"]) == (2708, graph.n_edges, 2)
    assert [one["name"] for one in found["classes"]] == list(graph.class_names)
    assert sum(one["predicted"] for one in found["classes"]) == 2708
    assert found["no_explanation"] is None
    assert found["columns"] is None


def test_the_picture_has_every_node_where_the_layout_has_it(client, model):
    on = model._on(None)
    reply = client.get("/api/layout")
    n, c = struct.unpack("<II", reply.content[:8])
    assert (n, c) == (2708, 7)
    assert len(reply.content) == 8 + 9 * n
    places = np.frombuffer(reply.content, "<u2", 2 * n, 8).reshape(n, 2) / 65535 * 2 - 1
    assert np.abs(places - node_positions(on, "pca")).max() < 2e-5
    predicted = np.frombuffer(reply.content, "<u2", n, 8 + 4 * n)
    known = np.frombuffer(reply.content, "<u2", n, 8 + 6 * n)
    assert np.array_equal(predicted, on.calibrated().argmax(axis=1))
    assert np.array_equal(known, on.graph.labels + 1)
    assert client.get("/api/names").json() == on.graph.node_names.tolist()


def test_a_node_has_its_chances_known_class_and_neighbours(client, model):
    graph = model._on(None).graph
    found = ask(client, "node", name="35")
    chances = dict(zip(graph.class_names, model.predict_proba(["35"])[0], strict=True))
    assert {one["class"]: one["chance"] for one in found["chances"]} == pytest.approx(chances)
    assert found["predicted_class"] == found["chances"][0]["class"]
    assert found["known_class"] == graph.class_names[graph.labels[found["index"]]]
    around = graph.adjacency[[found["index"]]].indices
    assert names(found["neighbours"]) == graph.node_names[around].tolist()
    assert found["degree"] == len(around) == 168


def test_similar_nodes_are_those_of_the_model(client, model):
    found = ask(client, "similar", name="35", k=7)["similar"]
    expected = model.similar("35", k=7)
    assert [(one["name"], one["similarity"]) for one in found] == [
        (name, pytest.approx(value)) for name, value in expected
    ]
    theory = ask(client, "similar", name="35", k=3, of_class="Theory")["similar"]
    assert names(theory) == [name for name, _ in model.similar("35", k=3, of_class="Theory")]


def test_an_explanation_is_the_models_and_sums_to_the_lead(client, model):
    found = ask(client, "explain", name="1033", top=5)
    expected = model.explain("1033", top=5)
    assert found["lead"] == pytest.approx(expected.lead)
    assert names(found["neighbours"]["parts"]) == [str(part.name) for part in expected.neighbours.parts]
    for part, own in zip(found["neighbours"]["parts"], expected.neighbours.parts, strict=True):
        assert part["value"] == pytest.approx(own.value)
        assert (part["hops"], part["known_class"]) == (own.hops, own.known_class)
    whole = sum(part["value"] for part in found["neighbours"]["parts"]) + found["neighbours"]["rest"]
    assert whole + found["class_bias"] == pytest.approx(found["lead"])
    features = found["features"]
    whole = sum(part["value"] for part in features["parts"]) + features["rest"] + features["constant"]
    assert whole + features["other_nodes"] + found["class_bias"] == pytest.approx(found["lead"])
    assert sum(hop["value"] for hop in found["hops"]) + found["class_bias"] == pytest.approx(found["lead"])
    other = ask(client, "explain", name="1033", of_class="Theory", against="Case_Based")
    assert (other["of_class"], other["against"]) == ("Theory", "Case_Based")
    assert other["lead"] == pytest.approx(model.explain("1033", of_class=0, against=5).lead)


def test_links_lead_over_edges_to_the_node_in_the_middle(client, model):
    graph = model._on(None).graph
    found = ask(client, "explain", name="1033", top=30)
    middle = found["node"]["index"]
    through = {link["to"]: link["from"] for link in found["links"]}
    assert all(graph.adjacency[to, near] for to, near in through.items())
    assert any(part["hops"] == 2 for part in found["neighbours"]["parts"])
    for part in found["neighbours"]["parts"]:
        node, steps = part["index"], 0
        while node != middle:
            node, steps = through[node], steps + 1
        assert steps == part["hops"]
    parts = {part["index"]: part for part in found["neighbours"]["parts"]}
    adjacent = [one for one, part in parts.items() if part["hops"] == 1]
    for node in (one for one, part in parts.items() if part["hops"] == 2):
        if nearer := [one for one in adjacent if graph.adjacency[node, one]]:
            assert through[node] == max(nearer, key=lambda one: abs(parts[one]["value"]))
    known = {*parts, middle}
    assert {node["index"] for node in found["passing"]} == (set(through) | set(through.values())) - known


def test_two_nodes_are_taken_apart_as_by_the_model(client, model):
    found = ask(client, "pair", name="35", other="1033", top=4)
    expected = model.explain("35", "1033", top=4)
    assert found["similarity"] == pytest.approx(expected.similarity)
    assert [(one["left"]["name"], one["right"]["name"]) for one in found["pairs"]] == [
        (str(part.left), str(part.right)) for part in expected.pairs
    ]
    assert sum(one["value"] for one in found["pairs"]) + found["rest"] == pytest.approx(found["similarity"])
    assert ask(client, "kernel", name="35", other="1033")["similarity"] == pytest.approx(
        float(model.kernel_.pairs(["35"], ["1033"])[0])
    )


def test_search_finds_equal_names_first_then_prefixes_then_others(client):
    found = ask(client, "nodes", search="35", limit=5)["nodes"]
    assert found[0]["name"] == "35"
    assert len(found) == 5
    names = ["xAnn", "annA", "ANN", "ann", "bob", "joann", "a.c", "line\nbreak"]
    for part, expected in {
        "ann": ["ann", "ANN", "annA", "xAnn", "joann"],
        ".": ["a.c"],
        "LINE\nb": ["line\nbreak"],
        "b\nj": [],
    }.items():
        assert [names[i] for i in matching(names, part, 9)] == expected
    assert matching(names, "  ", 2) == [0, 1]


def test_odd_names_are_found_asked_about_and_given_back_as_they_are(table_client, tables):
    for name in tables.node_names[:9].tolist():
        found = ask(table_client, "node", name=name)
        assert found["name"] == name
        assert name in names(ask(table_client, "nodes", search=name, limit=50)["nodes"])
        assert ask(table_client, "similar", name=name)["node"]["name"] == name
        assert ask(table_client, "explain", name=name)["node"]["name"] == name


def test_features_are_found_by_their_names(table_client):
    def found(part):
        return {one["name"]: one["unit"] for one in ask(table_client, "features", search=part)["features"]}

    assert found("KERN") == {"title: kernel": "TF-IDF, in rows of length 1"}
    assert list(found("venue")) == ["venue=ICML", "venue=KDD"]


def test_numbers_of_a_table_come_with_what_gives_the_tables_own(table_client, client, tables):
    features = ask(table_client, "node", name="a/b")["features"]
    year = next(one for one in features if one["name"] == "year")
    said = re.fullmatch(r"standardised: mean ([\d.]+), deviation ([\d.]+)", year["unit"])
    mean, deviation = map(float, said.groups())
    assert mean + deviation * year["value"] == pytest.approx(2001, abs=0.6)
    assert all(one["unit"] for one in features)
    assert len(tables.encoding.feature_units) == tables.n_features
    assert all(one["unit"] is None for one in ask(client, "node", name="35")["features"])


def test_numbers_that_are_classes_here_and_there_are_not_taken_for_the_same(cora, cache):
    graph, split = cora
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2, folds=2)
    other_target = np.arange(len(split.train)) % 3
    model.fit(split.train, other_target, graph=graph)
    view = ExplorerState.of(model._on(None), layout="pca")
    assert view.class_names == ("0", "1", "2")
    assert (np.flatnonzero(view.known >= 0) == np.sort(split.train)).all()
    own = kn.NodeKernelClassifier("k1", hidden=4, epochs=2)
    own.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    assert ExplorerState.of(own._on(None), layout="pca").class_names == graph.class_names
    # Of another graph nobody knows what the numbers mean: nothing is said to be right or wrong.
    elsewhere = own._on(None).model.on(replace(graph, features=graph.features * 2))
    assert (ExplorerState.of(elsewhere, layout="pca").known == -1).all()
    assert (EvaluationData.of(elsewhere).known == -1).all()


@pytest.mark.parametrize("changes", [{"variant": "gat"}, {"variant": "k3", "kernel": kn.kernels.RBF()}])
def test_what_cannot_be_explained_is_refused_and_the_rest_is_answered(cora, cache, served, changes):
    graph, split = cora
    model = kn.NodeKernelClassifier(**changes, hidden=8, epochs=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    with served(model) as client:
        sentence = ask(client, "model")["no_explanation"]
        reply = client.get("/api/explain", params={"name": "35"})
        if changes["variant"] == "gat":
            assert "no exact explanation" in sentence
            assert (reply.status_code, reply.json()) == (400, {"error": sentence})
        assert client.get("/api/pair", params={"name": "35", "other": "1033"}).status_code == 400
        assert len(ask(client, "similar", name="35")["similar"]) == 10
