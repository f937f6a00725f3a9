"""Links to look for: never one that is there, whoever knows of it."""

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


def test_nobody_is_told_to_meet_a_friend(friends):
    """Whom to introduce? A tenth of the answers were friends, held out for the test."""
    graph = kn.read_table("friends.csv", "people.csv")
    links = kn.LinkPredictor(epochs=20).fit(graph)
    assert len(links.split_.test) > 10
    links.save("m.safetensors", with_graph=True)
    for asked in (links, kn.load_model("m.safetensors"), kn.load_model("m.safetensors", graph)):
        assert not pairs_of(asked.missing_links(k=400)) & friends.pairs
        found = asked.missing_links(friends.someone, k=39)
        assert not pairs_of(found, friends.someone) & friends.pairs
        assert friends.someone not in dict(found)
        # Whoever is neither a friend nor the person is there.
        assert len(found) == 39 - sum(friends.someone in pair for pair in friends.pairs)


def test_the_command_knows_the_held_out_friends_too(friends):
    """Asked at the prompt, with the tables at hand, and without them."""
    friends.kernode(LINKS)
    friends.kernode(LINKS.replace("links.safetensors", "with.safetensors --with-graph"))
    for words in ("links.safetensors --graph friends.csv --nodes people.csv", "with.safetensors"):
        rows = [*csv.DictReader(io.StringIO(friends.kernode(f"predict-links {words} -k 400").out))]
        assert not {frozenset((row["node"], row["other"])) for row in rows} & friends.pairs
        assert float(rows[0]["probability"]) >= float(rows[-1]["probability"])
        report = friends.kernode(f"predict-links {words} -k 5 --json {friends.someone}").json
        assert report["count"] == 5
        assert {str(row["node"]) for row in report["missing"]} == {friends.someone}
        assert isinstance(report["missing"][0]["other"], int)
        assert (
            not {frozenset((friends.someone, str(row["other"]))) for row in report["missing"]} & friends.pairs
        )
    python = kn.load_model("with.safetensors").missing_links(friends.someone, k=5)
    assert [(str(row["other"]), row["probability"]) for row in report["missing"]] == python


def test_edges_beside_the_pairs_that_were_given_are_not_missing(friends):
    """Half of the friendships trained as pairs; the other half was known already."""
    graph = kn.read_table("friends.csv", "people.csv")
    edges = np.argwhere(np.triu(graph.adjacency.toarray()))
    links = kn.LinkPredictor(epochs=10).fit(kn.positions(edges[::2]), graph=graph)
    links.save("pairs.safetensors")
    for asked in (links, kn.load_model("pairs.safetensors", links.split_.graph)):
        assert not pairs_of(asked.missing_links(k=700)) & friends.pairs


def test_a_file_that_cannot_know_says_so(friends):
    """The file is of before: what was held out is not in it."""
    split = split_edges(kn.read_table("friends.csv", "people.csv"), seed=3)
    links = kn.LinkPredictor(epochs=3).fit(
        EdgeSplit(split.graph, split.validation, split.validation_negatives, [], [])
    )
    object.__setattr__(links.model_, "held_out", None)
    links.save("old.safetensors")
    with pytest.warns(UserWarning, match="does not say which edges of 'friends' were held out"):
        kn.load_model("old.safetensors", split.graph).missing_links(k=3)


def test_a_model_of_classes_has_no_links(friends):
    """The wrong one of two files was given."""
    friends.table("people.csv", ("id", "age", "team"), [(i, i % 7, "AB"[i % 2]) for i in range(700, 740)])
    friends.kernode(
        "fit friends.csv --nodes people.csv --label team --variant n1 --epochs 3 -o c.safetensors"
    )
    assert "c.safetensors" in friends.kernode("predict-links c.safetensors").refusal
    friends.kernode(LINKS)
    assert "was trained on 'friends'" in friends.kernode("predict-links links.safetensors").refusal
    asked = "predict-links links.safetensors --graph friends.csv --nodes people.csv"
    assert "no node of 'friends' is called 'nobody'" in friends.kernode(f"{asked} nobody").refusal
    assert "--count" in friends.kernode(f"{asked} -k 0").refusal


def test_pairs_that_are_edges_only_as_positions_are_not_taken_as_names(workspace):
    """Ids are integers, and pairs came from numpy: a model of nonsense was fitted."""
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
    by_name = by_name.astype(str)
    with pytest.raises(
        kn.InputError, match=rf"the pair \('{by_name[3, 0]}', '{by_name[3, 1]}'\) is given both"
    ):
        links.fit([*by_name, by_name[3]], [1] * n + [0], graph=graph)
    with pytest.raises(kn.InputError, match=r"the pair \('7', '7'\) joins a node with itself"):
        links.fit([*by_name, ("7", "7")], graph=graph)


def test_the_next_command_that_links_prints_is_one(friends):
    """Friends have names of Windows-1250; what was to be typed next had no such option."""
    names = ["Ťapa", "Žofie", *(f"f{at}" for at in range(38))]
    random = np.random.default_rng(1)
    pairs = [(names[i], names[j]) for i in range(40) for j in range(i) if random.random() < 0.3]
    friends.table("friends.csv", ("source", "target"), [*pairs, ("Ťapa", "")], "cp1250")
    said = friends.kernode("links friends.csv --epochs 5 --replicas 1 --set table.encoding=cp1250").out
    following = said.split("Next: kernode ")[1].replace("\n", " ")
    assert "--set table.encoding=cp1250" in following
    answer = friends.kernode(f"{following} -k 400")
    assert answer.status == 0, answer.err
    assert "Žofie" in answer.out
    assert "friends.csv: dropped 1 row that lacked one of the two nodes" in answer.err
    assert friends.kernode(f"{following} -k 3 --quiet").err == ""
    report = friends.kernode(f"{following} -k 3 --json").json
    assert report["repairs"][0]["what"] == "lacked one of the two nodes"


def test_an_own_split_keeps_its_held_out_edges_in_the_file(friends):
    """Edges were split by the user; from the file, theirs were suggested again."""
    split = split_edges(kn.read_table("friends.csv", "people.csv"), seed=3, test=0.3)
    links = kn.LinkPredictor(epochs=10).fit(split)
    links.save("own.safetensors", with_graph=True)
    for asked in (links, kn.load_model("own.safetensors"), kn.load_model("own.safetensors", split.graph)):
        assert not pairs_of(asked.missing_links(k=700)) & friends.pairs
    assert friends.kernode("predict-links own.safetensors -k 3").out.count("\n") == 4
