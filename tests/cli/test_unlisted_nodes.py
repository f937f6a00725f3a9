"""Nodes that only edges mention: answers about them say so, and similar nodes leave them out."""

import pytest

FIT = "fit edges.csv --nodes people.csv --label taste --epochs 30 --replicas 1 --variant k3-tuned"
FIT += " --with-graph -o m.safetensors --json"


@pytest.fixture
def model(workspace, shop):
    """Ten of sixty customers are in no table."""
    rows = list(zip(shop.ids, shop.age, shop.spent, shop.taste, strict=True))[:50]
    workspace.table("people.csv", ("id", "age", "spent", "taste"), rows)
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    report = workspace.kernode(FIT).json
    assert report["sizes"]["unlisted"] == 10
    return report["model"]


@pytest.fixture
def unlisted(shop):
    return set(shop.ids[50:])


def test_predictions_say_who_is_in_no_table(workspace, shop, model, unlisted):
    """Eve got a class with 93 %, and is in no table at all."""
    found = workspace.kernode(f"predict {model} --json").json
    assert found["unlisted"] == 10
    assert {row["node"] for row in found["predictions"] if not row["listed"]} == unlisted
    header, *lines = workspace.kernode(f"predict {model}").out.splitlines()
    assert header.startswith("node,class,known,listed,p_")
    assert sum(line.split(",")[3] == "False" for line in lines) == 10


def test_where_all_are_listed_nothing_is_added(workspace, shop):
    rows = zip(shop.ids, shop.age, shop.spent, shop.taste, strict=True)
    workspace.table("people.csv", ("id", "age", "spent", "taste"), rows)
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    assert "unlisted" not in workspace.kernode(FIT).json["sizes"]
    assert "listed" not in workspace.kernode("predict m.safetensors --json").json["predictions"][0]
    assert workspace.kernode("data info edges.csv --nodes people.csv --json").json["unlisted"] == 0


def test_similar_leaves_them_out_unless_asked(workspace, shop, model, unlisted):
    alike = f"similar {model} {shop.ids[0]} -k 59 --json"
    found = workspace.kernode(alike).json
    assert len(found["similar"][0]["similar"]) == found["among"] - 1 == 49
    assert not unlisted & {one["node"] for one in found["similar"][0]["similar"]}
    everyone = workspace.kernode(f"{alike} --unlisted").json["similar"][0]["similar"]
    assert {one["node"] for one in everyone if one.get("listed") is False} == unlisted
    named = workspace.kernode(f"{alike} --among {shop.ids[1]},{shop.ids[55]}").json["similar"][0]["similar"]
    assert {one["node"] for one in named} == {shop.ids[1], shop.ids[55]}
    assert "(not listed)" in workspace.kernode(f"similar {model} {shop.ids[55]}").out


def test_an_explanation_says_it(workspace, shop, model, unlisted):
    of_one = workspace.kernode(f"explain {model} {shop.ids[55]} --top 60 --json").json
    assert of_one["listed"] is False
    parts = of_one["neighbours"]["parts"]
    assert {one["name"] for one in parts if one.get("listed") is False} == {
        one["name"] for one in parts
    } & unlisted
    assert "listed" not in workspace.kernode(f"explain {model} {shop.ids[0]} --json").json
    pair = workspace.kernode(f"explain {model} {shop.ids[0]} {shop.ids[55]} --json").json
    assert "listed" not in pair
    assert pair["other_listed"] is False
    assert "only edges mention it" in workspace.kernode(f"explain {model} {shop.ids[55]}").out
    changed = workspace.kernode(f"explain {model} {shop.ids[55]} --smallest edges --json").json
    assert changed["listed"] is False


def test_nodes_that_arrive_by_edges_alone_are_marked(workspace, shop, model):
    workspace.table("new.csv", ("source", "target"), [(1, shop.ids[0]), (2, shop.ids[1])])
    found = workspace.kernode(f"predict {model} --new-edges new.csv --json").json
    assert [row["listed"] for row in found["predictions"]] == [False, False]
    assert found["unlisted"] == 12
