"""``kernode predict-links``: never an edge that is there, held out or not."""

import csv
import io

import numpy as np
import pytest

import kernode as kn
from kernode.io.edge_split import EdgeSplit, split_edges

LINKS = "links friends.csv --nodes people.csv --epochs 20 --replicas 2 -q -o links.safetensors"


@pytest.fixture
def friends(workspace):
    """Forty people with integer ids in three circles; who knows whom is in the table."""
    random = np.random.default_rng(5)
    of, ids = np.arange(40) % 3, 700 + random.permutation(40)
    rows = [(ids[i], 30 + 10 * of[i] + random.integers(5)) for i in range(40)]
    workspace.table("people.csv", ("id", "age"), rows)
    pairs = [
        (i, j) for i in range(40) for j in range(i) if random.random() < (0.5 if of[i] == of[j] else 0.02)
    ]
    workspace.table("friends.csv", ("source", "target"), [(ids[i], ids[j]) for i, j in pairs])
    workspace.pairs = {frozenset((str(ids[i]), str(ids[j]))) for i, j in pairs}
    workspace.someone = str(ids[0])
    return workspace


def pairs_of(found, node=None):
    return {frozenset(row[:2] if node is None else (node, row[0])) for row in found}


def test_no_edge_is_ever_missing_held_out_or_not(friends):
    """In Python, from a file with and without its graph, and at the command line."""
    graph = kn.read_table("friends.csv", "people.csv")
    links = kn.LinkPredictor(epochs=20).fit(graph)
    assert len(links.split_.test) > 10
    links.save("m.safetensors", with_graph=True)
    for model in (links, kn.load_model("m.safetensors"), kn.load_model("m.safetensors", graph)):
        assert not pairs_of(model.missing_links(k=400)) & friends.pairs
        found = model.missing_links(friends.someone, k=39)
        assert not pairs_of(found, friends.someone) & friends.pairs
        assert friends.someone not in dict(found)
        # all other nodes without an edge to it
        assert len(found) == 39 - sum(friends.someone in pair for pair in friends.pairs)
    friends.kernode(LINKS)
    for words in ("links.safetensors --graph friends.csv --nodes people.csv", "m.safetensors"):
        rows = [*csv.DictReader(io.StringIO(friends.kernode(f"predict-links {words} -k 400").out))]
        assert not {frozenset((row["node"], row["other"])) for row in rows} & friends.pairs
        assert float(rows[0]["probability"]) >= float(rows[-1]["probability"])
    report = friends.kernode(f"predict-links {words} -k 5 --json {friends.someone}").json
    assert report["count"] == 5
    assert {str(row["node"]) for row in report["missing"]} == {friends.someone}
    assert isinstance(report["missing"][0]["other"], int)
    found = [(str(row["other"]), row["probability"]) for row in report["missing"]]
    assert found == links.missing_links(friends.someone, k=5)


def test_own_splits_and_pairs_leave_no_edge_missing(friends):
    graph = kn.read_table("friends.csv", "people.csv")
    split = split_edges(graph, seed=3, test=0.3)
    links = kn.LinkPredictor(epochs=10).fit(split)
    links.save("own.safetensors", with_graph=True)
    of_file = kn.load_model("own.safetensors")
    of_pairs = kn.LinkPredictor(epochs=10)  # which know half of the edges
    of_pairs.fit(kn.positions(np.argwhere(np.triu(graph.adjacency.toarray()))[::2]), graph=graph)
    for model in (links, of_file, kn.load_model("own.safetensors", split.graph), of_pairs):
        assert not pairs_of(model.missing_links(k=700)) & friends.pairs
    assert friends.kernode("predict-links own.safetensors -k 3").out.count("\n") == 4


def test_a_file_without_the_held_out_edges_warns(friends):
    split = split_edges(kn.read_table("friends.csv", "people.csv"), seed=3)
    links = kn.LinkPredictor(epochs=3)
    links.fit(EdgeSplit(split.graph, split.validation, split.validation_negatives, [], []))
    object.__setattr__(links.model_, "held_out", None)  # as in files of before
    links.save("old.safetensors")
    with pytest.warns(UserWarning, match="does not say which edges of 'friends' were held out"):
        kn.load_model("old.safetensors", split.graph).missing_links(k=3)


def test_wrong_use_is_one_sentence(friends):
    friends.table("people.csv", ("id", "age", "team"), [(i, i % 7, "AB"[i % 2]) for i in range(700, 740)])
    fit = "fit friends.csv --nodes people.csv --label team --variant n1 --epochs 3 -o c.safetensors"
    friends.kernode(fit)
    assert "c.safetensors" in friends.kernode("predict-links c.safetensors").refusal
    friends.kernode(LINKS)
    assert "was trained on 'friends'" in friends.kernode("predict-links links.safetensors").refusal
    line = "predict-links links.safetensors --graph friends.csv --nodes people.csv"
    assert "no node of 'friends' is called 'zoe'" in friends.kernode(f"{line} zoe").refusal
    assert "--count" in friends.kernode(f"{line} -k 0").refusal


def test_pairs_that_are_edges_only_as_positions_are_not_taken_as_names(workspace):
    """Ids are integers, and pairs come from numpy."""
    n = 30
    ring = [(i, (i + 1) % n) for i in range(n)]
    random = np.random.default_rng(0)
    graph = kn.Graph.from_edges(ring, np.eye(n), node_names=random.permutation(n))
    links = kn.LinkPredictor(epochs=2)
    with pytest.raises(kn.InputError, match=r"as positions they all are: write kn.positions\(pairs\)"):
        links.fit(ring, graph=graph)
    with pytest.raises(kn.InputError, match=r"kn.positions\(pairs\)"):
        links.fit([*ring, (0, 2)], [1] * n + [0], graph=graph)
    by_name = graph.node_names[np.array(ring)].astype(int)
    with pytest.warns(UserWarning, match="integers were taken as names of nodes of 'graph'"):
        links.fit(by_name, graph=graph)
    for pairs in (kn.positions(ring), np.array(ring).astype(str)):
        links.fit(pairs, graph=graph)


def test_the_next_command_that_links_prints_is_one(friends):
    """Also where tables are in Windows-1250."""
    names = ["Ťapa", "Žofie", *(f"f{at}" for at in range(38))]
    random = np.random.default_rng(1)
    pairs = [(names[i], names[j]) for i in range(40) for j in range(i) if random.random() < 0.3]
    friends.table("friends.csv", ("source", "target"), [*pairs, ("Ťapa", "")], "cp1250")
    out = friends.kernode("links friends.csv --epochs 5 --replicas 1 --set table.encoding=cp1250").out
    following = out.split("Next: kernode ")[1].replace("\n", " ")
    assert "--set table.encoding=cp1250" in following
    answer = friends.kernode(f"{following} -k 400")
    assert answer.status == 0, answer.err
    assert "Žofie" in answer.out
    assert "friends.csv: dropped 1 row that lacked one of the two nodes" in answer.err
    assert friends.kernode(f"{following} -k 3 --quiet").err == ""
    report = friends.kernode(f"{following} -k 3 --json").json
    assert report["repairs"][0]["what"] == "lacked one of the two nodes"
