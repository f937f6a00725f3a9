"""Public data sets as new users tried them: what can mean two things is refused or said."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import kernode as kn
from refusals import refused

USERS, ARTISTS = 1_892, 17_632
N = 200
RING = [(i, (i + step) % N) for i in range(N) for step in (1, 2, 5)]


def listens():
    """Who hears whom: users and artists are each numbered from 1 up."""
    return [(1 + i % USERS, 1 + i % ARTISTS, 1 + i % 90) for i in range(ARTISTS)]


def packages(**columns):
    """A ring of packages with some columns."""
    edges = {"source": [f"p{i}" for i, _ in RING], "target": [f"p{j}" for _, j in RING]}
    return edges, {"id": [f"p{i}" for i in range(N)], "age": [i % 9 for i in range(N)], **columns}


def test_two_numberings_are_not_one(workspace):
    """Users and artists overlap by number, and 1,892 users became artists."""
    workspace.table("plays.csv", ("userID", "artistID", "weight"), listens())
    with refused("ambiguous", setting=("source_prefix", "target_prefix")) as caught:
        kn.read_table("plays.csv")
    assert "1,892 numbers are in both" in str(caught.value)
    graph = kn.read_table("plays.csv", source_prefix="user ", target_prefix="artist ")
    assert graph.n_nodes == USERS + ARTISTS == 19_524
    assert {name.split()[0] for name in graph.node_names} == {"user", "artist"}
    assert not graph.adjacency[: graph.n_nodes][graph.find(["user 1"])][:, graph.find(["user 2"])].nnz
    assert kn.read_table("plays.csv", like=graph).n_nodes == 19_524
    one = kn.read_table("plays.csv", target_prefix="a")
    assert one.n_nodes == 19_524
    friends = kn.read_table("plays.csv", source="userID", target="artistID")  # said to be the same nodes
    assert friends.n_nodes == ARTISTS


def test_prefixes_are_those_of_the_listed_nodes(workspace):
    """Only users are listed, by their prefixed names."""
    workspace.table("plays.csv", ("userID", "artistID", "weight"), listens())
    workspace.table("users.csv", ("id", "age"), [(f"u{i}", 20 + i % 50) for i in range(1, 1 + USERS)])
    graph = kn.read_table("plays.csv", "users.csv", source_prefix="u", target_prefix="a")
    assert graph.n_nodes == 19_524
    assert graph.origin.listed.sum() == USERS
    assert "without features: a1, a2" in " ".join(graph.notes)


def test_friends_by_number_are_one_numbering(workspace):
    """Both columns are users, and say so by their names; others have usual names."""
    pairs = [(1 + i, 1 + j) for i, j in RING]
    for ends in (
        ("user_1", "user_2"),
        ("userID", "friend_userID"),
        ("source", "target"),
        ("follower", "followee"),
    ):
        workspace.table("edges.csv", ends, pairs)
        assert kn.read_table("edges.csv").n_nodes == N


def test_distrust_is_no_missing_weight(workspace):
    """Trust from -10 to 10: a tenth is below 0, and was dropped as rows that had no weight."""
    trust = [-1 - i % 10 if i % 10 == 0 else 1 + i % 10 for i in range(len(RING))]
    table = [(i, j, weight, 1_289_241_911 + i) for (i, j), weight in zip(RING, trust, strict=True)]
    workspace.table("trust.csv", ("source", "target", "weight", "time"), table)
    below = sum(weight < 0 for weight in trust)
    with refused("ambiguous", setting="negative") as caught:
        kn.read_table("trust.csv")
    sentence = str(caught.value)
    assert f"weights below 0 ({below}, such as -1)" in sentence
    for way in ("absolute value", "drop these edges", "rename the column"):
        assert way in sentence
    assert "time" not in sentence.replace("timestamp", "")
    absolute = kn.read_table("trust.csv", negative="absolute")
    assert (absolute.n_edges, absolute.adjacency.max(), absolute.adjacency.min()) == (len(RING), 10, 0)
    dropped = kn.read_table("trust.csv", negative="drop")
    assert dropped.n_edges == len(RING) - below
    (repair,) = dropped.repairs
    assert repair.count == below
    for graph in (absolute, dropped):
        assert kn.read_table("trust.csv", like=graph).fingerprint == graph.fingerprint
    with refused("setting", setting="negative"):
        kn.read_table("trust.csv", negative="zero")


def test_a_number_that_is_an_id_is_no_feature():
    """An account of 15 digits, different in each row, became a standardised feature."""
    account = [100_000_000_000_000 + 7_919 * i * i for i in range(N)]
    team = [i % 7 for i in range(N)]  # a number that repeats is none, whatever its name
    edges, nodes = packages(account=account, order_id=[3 * i for i in range(N)], team_nr=team)
    graph = kn.read_table(edges, nodes)
    assert graph.encoding.feature_names == ("constant", "age", "team_nr")
    for name in ("account", "order_id"):
        assert any(note.startswith(f"{name}: left out, it looks like an id") for note in graph.notes)
    asked_for = kn.read_table(edges, nodes, features={"account": "number", "age": None})
    assert asked_for.encoding.feature_names == ("constant", "account", "age")


def test_a_skewed_size_becomes_its_logarithm():
    """Installed sizes with mean 7,417 and deviation 121,600: a few packages outweighed all others."""
    size = np.round(np.exp(np.random.default_rng(0).normal(5, 3.5, N))).tolist()
    edges, nodes = packages(size=size)
    graph = kn.read_table(edges, nodes)
    logs = np.log1p(size)
    assert np.allclose(graph.features[:, 2], np.clip((logs - logs.mean()) / logs.std(), -5, 5), atol=1e-5)
    assert f"size: log, standardised (mean {logs.mean():.4g}, deviation {logs.std():.4g})" in graph.notes
    linear = kn.read_table(edges, nodes, features={"age": None, "size": "number"})
    scaled = (np.array(size) - np.mean(size)) / np.std(size)
    assert np.allclose(linear.features[:, 2], np.clip(scaled, -5, 5), atol=1e-5)
    even = kn.read_table(*packages(size=[1000 + i for i in range(N)]))
    assert any(note.startswith("size: number, standardised") for note in even.notes)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_small_file_that_unfolds_to_gigabytes_is_refused(workspace):
    """A Parquet file of 54 kB with one text 20,000 times took 6.4 GB, and ended in an internal error."""
    rows, text = 20_000, pa.array(["a text that is repeated " * 8_500])
    about = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), text)
    parquet.write_table(
        pa.table({"id": np.arange(rows), "about": about}), "nodes.parquet", store_schema=False
    )
    assert workspace.folder.joinpath("nodes.parquet").stat().st_size < 200_000
    workspace.table("edges.csv", ("source", "target"), [(i, i + 1) for i in range(rows - 1)])
    code = """
import resource, psutil
import kernode as kn, scipy.sparse, sklearn.feature_extraction.text, duckdb
resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 4 * 10**9,) * 2)
try:
    kn.read_table("edges.csv", "nodes.parquet")
except kn.KernodeError as error:
    print(error.code, error)
    status = open("/proc/self/status").read()  # ru_maxrss begins with the parent's
    print(status.split("VmHWM:")[1].split()[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    sentence, most = done.stdout.splitlines()
    assert re.match(r"too-large nodes\.parquet: .* of memory or more, and .* are free\. ", sentence)
    assert int(most) < 1_500_000  # kB
