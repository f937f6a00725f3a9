"""A split of one's own: everybody in the group trains on the same nodes and tests on the same."""

import numpy as np
import pytest

import kernode as kn

QUICK = "--replicas 2 --epochs 10 --variant k3"


@pytest.fixture
def told(workspace, shop):
    """Sixty customers who all told their taste."""
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    workspace.table("nodes.csv", ("id", "age", "taste"), zip(shop.ids, shop.age, shop.taste, strict=True))
    return "fit edges.csv --nodes nodes.csv --label taste"


def test_a_table_of_parts_is_the_split_of_all_runs(workspace, shop, told):
    """A group keeps a spreadsheet: who trains, who validates, who is for the test."""
    parts = ["train"] * 30 + ["validation"] * 15 + ["test"] * 15
    workspace.table("parts.csv", ("customer", "part"), zip(shop.ids, parts, strict=True))
    report = workspace.kernode(f"{told} {QUICK} --split parts.csv --json").json
    assert report["split"] == "parts.csv"
    assert {part: report["sizes"][part] for part in ("train", "validation", "test")} == {
        "train": 30, "validation": 15, "test": 15
    }  # fmt: skip
    graph = kn.read_table("edges.csv", "nodes.csv", label="taste")
    model = kn.load_model("edges-k3.safetensors", graph=graph).model_
    assert model.split == "parts.csv"
    assert sorted(graph.node_names[model.train[0]]) == sorted(str(one) for one in shop.ids[:30])
    _, split = kn.load(graph, split="parts.csv")
    assert sorted(graph.node_names[split.test]) == sorted(str(one) for one in shop.ids[45:])


@pytest.mark.slow
def test_a_search_takes_the_same_file(workspace, told):
    """A search on the split of the group says how to use what was found there."""
    nodes = np.arange(60)
    np.savez("split.npz", train=nodes[:40], valid=nodes[40:50], test=nodes[50:])
    line = told.replace("fit", "tune") + " --variant k3 --trials 2 --epochs 3 --split split.npz"
    out = workspace.kernode(line).out
    assert "split split.npz" in out
    assert "--split split.npz" in out
    assert "--seed" not in out
