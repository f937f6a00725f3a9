"""Nodes in several tables, ids of two kinds, distrust as a weight, and tables in databases."""

import duckdb
import numpy as np
import pytest

import kernode as kn

FIT = "fit edges.csv --label taste --epochs 20 --replicas 1 --variant k3-tuned -o m.safetensors"


@pytest.fixture
def two_tables(workspace, shop):
    """Ages in one table, spending and taste in another, in another order."""
    workspace.table("ages.csv", ("id", "age"), zip(shop.ids, shop.age, strict=True))
    rows = list(zip(shop.ids, shop.spent, shop.taste, strict=True))
    workspace.table("tastes.csv", ("id", "spent", "taste"), rows[::-1])
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    return "--nodes ages.csv --nodes tastes.csv"


def test_two_tables_go_through_every_command(workspace, shop, two_tables):
    answer = workspace.kernode(f"{FIT} {two_tables}")
    assert f"predict m.safetensors --graph edges.csv {two_tables}" in answer.out
    assert workspace.kernode(f"predict m.safetensors --graph edges.csv {two_tables} -o out.csv").status == 0
    assert shop.right(workspace.classes("out.csv")) > 0.9
    report = workspace.kernode(f"data convert edges.csv {two_tables} --label taste -o store --json").json
    assert (
        report["fingerprint"]
        == kn.read_table("edges.csv", ["ages.csv", "tastes.csv"], label="taste").fingerprint
    )
    tuned = workspace.kernode(f"tune edges.csv {two_tables} --label taste --trials 1 --epochs 2 --variant n1")
    assert f"fit edges.csv {two_tables} --label taste" in tuned.out


def test_new_nodes_may_arrive_in_two_tables(workspace, two_tables):
    assert workspace.kernode(f"{FIT} {two_tables} --with-graph").status == 0
    workspace.table("new-ages.csv", ("id", "age"), [(1, 25.0), (2, 40.0)])
    workspace.table("new-tastes.csv", ("id", "spent"), [(2, 3000.0), (1, 1000.0)])
    new = "--new-nodes new-ages.csv --new-nodes new-tastes.csv"
    found = workspace.kernode(f"predict m.safetensors {new} --json").json
    assert [row["node"] for row in found["predictions"]] == [1, 2]


def test_users_and_items_that_are_numbered_alike_are_kept_apart(workspace):
    """1,892 users became artists."""
    random = np.random.default_rng(0)
    heard = [(user, artist) for user in range(1, 31) for artist in random.choice(40, 8, replace=False) + 1]
    workspace.table("heard.csv", ("userID", "artistID"), heard)
    refusal = workspace.kernode("data info heard.csv").refusal
    assert "--set table.source_prefix=…" in refusal
    assert "--set table.target_prefix=…" in refusal
    facts = workspace.kernode(
        "data info heard.csv --set table.source_prefix=u --set table.target_prefix=a --json"
    ).json
    assert facts["nodes"] == 30 + len({artist for _, artist in heard})
    prefixes = "--set table.source_prefix=u --set table.target_prefix=a"
    tuned = f"tune heard.csv {prefixes} --metric auc --trials 1 --epochs 2"
    assert (
        "links heard.csv --set table.source_prefix=u --set table.target_prefix=a"
        in workspace.kernode(tuned).out
    )


def test_tables_in_a_database_are_data(workspace, shop):
    people = list(zip(map(str, shop.ids), shop.age, shop.spent, shop.taste, strict=True))
    pairs = [(str(one), str(other)) for one, other in shop.bought_together]
    con = duckdb.connect("shop.db")
    con.execute("CREATE TABLE follows (source VARCHAR, target VARCHAR)")
    con.execute("CREATE TABLE users (id VARCHAR, age DOUBLE, spent DOUBLE, taste VARCHAR)")
    con.executemany("INSERT INTO follows VALUES (?, ?)", pairs)
    con.executemany("INSERT INTO users VALUES (?, ?, ?, ?)", people)
    con.close()
    data = "duckdb:shop.db?edges=follows&nodes=SELECT * FROM users WHERE age > 0"
    options = ("--label", "taste", "--epochs", 20, "--replicas", 1, "--variant", "k3-tuned", "--json")
    report = workspace.kernode("fit", data, *options).json
    assert (report["dataset"], report["model"]) == ("shop", "shop-k3-tuned.safetensors")
    assert workspace.kernode("predict shop-k3-tuned.safetensors --graph", data, "-o", "out.csv").status == 0
    assert shop.right(workspace.classes("out.csv")) > 0.9
    assert workspace.kernode("data convert -o store", data, "--json").json["nodes"] == 60
    separate = "data info duckdb:shop.db?follows --nodes duckdb:shop.db?users --json"
    assert workspace.kernode(separate).json["nodes"] == 60
    assert workspace.kernode("fit --dry-run", data).status == 0
    refusal = workspace.kernode("fit -o shop.db", data, *options).refusal
    assert "shop.db is in use by this command" in refusal
