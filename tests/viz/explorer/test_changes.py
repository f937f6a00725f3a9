"""What-if and new nodes are answered as in Python, and not stored."""

from dataclasses import replace

import numpy as np
import pytest

import kernode as kn


def post(client, path, body):
    reply = client.post(f"/api/{path}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def chances(model, values):
    """By the names of the classes, of which the model has numbers."""
    names = model._on(None).graph.class_names
    return {name: pytest.approx(float(value)) for name, value in zip(names, values, strict=True)}


def as_chances(found):
    return {one["class"]: one["chance"] for one in found}


def test_changed_edges_and_features_give_what_the_model_says(client, model):
    neighbour = client.get("/api/node", params={"name": "1033"}).json()["neighbours"][0]["name"]
    found = post(
        client,
        "what-if",
        {
            "name": "1033",
            "add": ["1110563"],
            "remove": [neighbour],
            "features": {"feature 3": 1, "feature 9": 2},
        },
    )
    expected = model.what_if("1033", add=["1110563"], remove=[neighbour], features={3: 1, 9: 2})
    assert as_chances(found["after"]) == chances(model, expected.after)
    assert as_chances(found["before"]) == chances(model, expected.before)
    assert as_chances(found["after"]) != as_chances(found["before"])
    classes = model._on(None).graph.class_names
    assert (found["was"], found["becomes"]) == (classes[expected.was], classes[expected.becomes])


def test_features_and_columns_of_tables_are_changed_by_name(table_client, table_model):
    expected = table_model.what_if("a/b", features={"venue=KDD": 1.0, "venue=ICML": 0.0})
    for changes in ({"features": {"venue=KDD": 1.0, "venue=ICML": 0.0}}, {"columns": {"venue": "KDD"}}):
        found = post(table_client, "what-if", {"name": "a/b", **changes})
        assert as_chances(found["after"]) == chances(table_model, expected.after)


def test_a_new_node_gets_the_class_that_extend_gives_it(client, model):
    on = model._on(None)
    body = {
        "name": "newcomer",
        "features": {"feature 3": 1, "feature 17": 1},
        "edges": ["35", "1033"],
        "k": 4,
    }
    found = post(client, "new-node", body)
    row = np.zeros((1, on.graph.n_features))
    row[0, [3, 17]] = 1
    larger = model.extend(None, row, [("newcomer", "35"), ("newcomer", "1033")], names=["newcomer"])
    assert as_chances(found["chances"]) == chances(model, larger.predict_proba(["newcomer"])[0])
    assert [one["name"] for one in found["similar"]] == [name for name, _ in larger.similar("newcomer", k=4)]
    why = larger.explain("newcomer")
    assert found["explanation"]["lead"] == pytest.approx(why.lead)
    assert [one["name"] for one in found["explanation"]["neighbours"]["parts"]] == [
        str(part.name) for part in why.neighbours.parts
    ]
    assert client.get("/api/node", params={"name": "newcomer"}).status_code == 404
    assert client.get("/api/model").json()["nodes"] == 2708


def test_a_new_row_of_the_tables_gets_the_class_that_extend_gives_it(table_client, table_model):
    row = {"year": 1994, "venue": "ICML", "title": "kernel methods"}
    found = post(table_client, "new-node", {"name": "<new>", "columns": row, "edges": ["<b>bold</b>", "a/b"]})
    nodes = {"id": ["<new>"], **{name: [value] for name, value in row.items()}}
    edges = {"source": ["<new>"] * 2, "target": ["<b>bold</b>", "a/b"]}
    larger = table_model.extend(None, nodes, edges)
    expected = chances(table_model, larger.predict_proba(["<new>"])[0])
    assert as_chances(found["chances"]) == expected


def test_a_new_row_may_lack_columns_and_edges_and_have_new_values(table_client):
    found = post(table_client, "new-node", {"columns": {"venue": "NeurIPS"}})
    assert len(found["chances"]) == 2
    assert any("NeurIPS" in note for note in found["notes"])


def test_nodes_without_names_are_numbers_and_new_edges_have_weight_1(cora, cache, served, client):
    graph, split = cora
    graph = replace(graph, node_names=None, adjacency=graph.adjacency * 3)
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    with served(model) as weighted:
        assert weighted.get("/api/node", params={"name": "7"}).json()["index"] == 7
        assert weighted.get("/api/node", params={"name": "2708"}).status_code == 404
        found = post(weighted, "new-node", {"features": {"feature 3": 1}, "edges": ["7"]})
        assert len(found["similar"]) == 10
        for notes in (found["notes"], post(weighted, "what-if", {"name": "7", "add": ["11"]})["notes"]):
            assert any("weight 1" in note for note in notes)
        assert post(weighted, "what-if", {"name": "7", "features": {"feature 3": 1}})["notes"] == []
    assert post(client, "what-if", {"name": "35", "add": ["1110563"]})["notes"] == []


def test_a_value_that_is_not_a_number_or_vector_is_refused(cache, served):
    nodes = {
        "id": [f"n{i}" for i in range(20)],
        "at": [[i % 2 + 0.1 * i, 1.0 * i, -1.0] for i in range(20)],
        "topic": [("a", "b")[i % 2] for i in range(20)],
    }
    edges = {"source": nodes["id"][:18], "target": nodes["id"][2:]}
    graph = kn.read_table(edges, nodes, label="topic", features={"at": "vector"})
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2, folds=2)
    model.fit(graph.node_names[:16], graph.labels[:16], graph=graph)
    with served(model) as client:
        for at in ("1,,2", "1, x, 3", [1.0, 2.0]):
            reply = client.post("/api/new-node", json={"columns": {"at": at}})
            assert (reply.status_code, "'at'" in reply.json()["error"]) == (400, True), reply.text
        reply = client.post("/api/what-if", json={"name": "n1", "features": {"at[0]": ""}})
        assert (reply.status_code, "number" in reply.json()["error"]) == (422, True)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("what-if", {"name": "35"}, 400, "nothing changes"),
        ("what-if", {"name": "nobody", "add": ["35"]}, 404, "'nobody'"),
        ("what-if", {"name": "35", "add": ["35"]}, 400, "itself"),
        ("what-if", {"name": "35", "add": ["nobody"]}, 404, "'nobody'"),
        ("what-if", {"name": "35", "features": {"colour": 1}}, 400, "'colour'"),
        ("what-if", {"name": "35", "features": {"feature 3": "much"}}, 422, "number"),
        ("what-if", {"name": "35", "features": {"feature 3": 1e99}}, 422, "less than"),
        ("what-if", {"name": "35", "add": [str(i) for i in range(101)]}, 422, "at most 100"),
        ("what-if", {"name": "35", "remove": "1033"}, 422, "list"),
        ("what-if", ["35"], 422, "object"),
        ("what-if", {"name": "35", "colour": 1}, 422, "colour"),
        ("new-node", {"name": "35"}, 400, "already"),
        ("new-node", {"name": ""}, 422, "at least 1"),
        ("new-node", {"edges": ["35", "35"]}, 400, "twice"),
        ("new-node", {"columns": {"year": 1}}, 400, "not read from tables"),
        ("new-node", {"k": 1001}, 422, "1000"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(client, path, body, status, said):
    reply = client.post(f"/api/{path}", json=body)
    assert reply.status_code == status, reply.text
    assert list(reply.json()) == ["error"]
    assert said in reply.json()["error"]


def test_columns_that_the_tables_do_not_have_are_refused(table_client):
    reply = table_client.post("/api/new-node", json={"columns": {"colour": "red"}})
    assert (reply.status_code, "no column 'colour'" in reply.json()["error"]) == (400, True)
    reply = table_client.post("/api/new-node", json={"features": {"venue=KDD": 1}})
    assert (reply.status_code, "Give columns" in reply.json()["error"]) == (400, True)


def test_a_value_too_large_to_compute_with_is_no_server_error(client):
    reply = client.post("/api/what-if", json={"name": "35", "features": {"feature 3": 1e30}})
    assert reply.status_code in (200, 400)
    assert client.post("/api/new-node", json={"features": {"feature 3": -1e30}}).status_code in (200, 400)
