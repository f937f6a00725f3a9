from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split, load, load_graph, random_split, split_nodes
from kernode.io.node_split import fixed_split
from kernode.io.registry import find


@pytest.fixture(scope="module")
def cora() -> Graph:
    return load_graph("cora")


@pytest.fixture
def small() -> Graph:
    labels = np.arange(20) % 3
    labels[[4, 9]] = -1
    return Graph.from_edges([(0, 1)], np.eye(20), labels, name="small")


def sizes(split: Split) -> tuple[int, ...]:
    return tuple(map(len, (split.train, split.validation, split.test)))


# the value


def test_parts_are_sorted_read_only_int64():
    split = Split([5, 1], np.array([2], np.uint8), ())
    assert split.train.tolist() == [1, 5]
    for part in (split.train, split.validation, split.test):
        assert part.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            part[:1] = 0
    with pytest.raises(FrozenInstanceError):
        split.train = np.arange(3)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (([0, 1], [1], [2]), "node 1 is in train and in validation"),
        (([0, 1], [3], [3]), "node 3 is in validation and in test"),
        (([0, 4, 4], [], []), r"split.train: node 4 is listed twice"),
        (([0], [-2], []), r"split.validation must be a list of node indices from 0. Got -2"),
        (([0], [], [0.5]), r"split.test must be a list of node indices"),
        (([True, False], [], []), r"split.train must be a list of node indices. Got 'bool"),
    ],
)
def test_a_wrong_node_is_named(parts, sentence):
    with pytest.raises(InputError, match=sentence):
        Split(*parts)


# the fixed splits


def test_fastgcns_split_of_cora_is_the_papers(cora):
    split = fixed_split(cora, "fastgcn")
    assert sizes(split) == find("cora").fastgcn == (1208, 500, 1000)
    assert split.train.tolist() == list(range(1208))
    assert split.validation.tolist() == list(range(1208, 1708))
    assert split.test.tolist() == list(range(1708, 2708))


def test_nodes_whose_label_is_hidden_are_left_out_of_fixed_splits(cora):
    labels = cora.labels.copy()
    hidden = [3, 1500, 2000]
    labels[hidden] = -1
    split = fixed_split(replace(cora, labels=labels), "fastgcn")
    assert sizes(split) == (1207, 499, 999)


@pytest.mark.parametrize("how", ["fastgcn", "public"])
def test_another_graph_has_no_fixed_split(cora, small, how):
    renamed = replace(cora, name="mine")
    shuffled = replace(cora, features=cora.features[::-1])  # the name of Cora, other content
    for graph in (small, renamed, shuffled):
        with pytest.raises(InputError, match=f"have the split {how}.*'{graph.name}' use jk, or sizes"):
            split_nodes(graph, how, [0])


# random splits


def test_jks_sizes_in_the_registry_are_those_of_its_labelled_nodes():
    for name in ("cora", "citeseer", "pubmed"):
        entry = find(name)
        labels = np.zeros(entry.nodes - entry.unlabelled, int)
        assert sizes(random_split(labels, (0.6, 0.2, 0.2), 0)) == entry.jk


def test_a_seed_gives_one_split_and_another_seed_another(cora):
    first, again, other = split_nodes(cora, "jk", [7, 7, 8])
    np.testing.assert_array_equal(first.train, again.train)
    np.testing.assert_array_equal(first.test, again.test)
    assert not np.array_equal(first.train, other.train)
    assert split_nodes(cora, "jk", [7])[0].train[:5].tolist() == first.train[:5].tolist()


def test_the_splits_of_a_seed_never_change():
    split = random_split(np.zeros(12, int), (6, 3, 3), seed=0)
    parts = [part.tolist() for part in (split.train, split.validation, split.test)]
    assert parts == [[2, 4, 5, 7, 9, 11], [0, 3, 6], [1, 8, 10]]


@settings(deadline=None)
@given(
    labels=st.lists(st.integers(-1, 3), min_size=1, max_size=200),
    parts=st.tuples(*[st.floats(0, 1)] * 3),
    seed=st.integers(0, 2**40),
)
def test_random_splits_hold_labelled_nodes_once_and_as_many_as_asked(labels, parts, seed):
    labels = np.array(labels)
    fractions = tuple(part / max(1, sum(parts)) for part in parts)
    labelled = np.flatnonzero(labels >= 0)
    wanted = [fraction * len(labelled) for fraction in fractions]
    assume(round(sum(wanted)) > round(wanted[1]) + round(wanted[2]))  # else no training node is left
    split = random_split(labels, fractions, seed)
    nodes = np.concatenate([split.train, split.validation, split.test])
    assert len(np.unique(nodes)) == len(nodes) == min(round(sum(fractions) * len(labelled)), len(labelled))
    assert np.isin(nodes, labelled).all()
    assert np.abs(np.subtract(sizes(split), wanted)).max() <= 1.5 + 1e-6  # training takes up the rounding


def test_counts_are_taken_as_they_are(small):
    (split,) = split_nodes(small, "10/3/5", [0])
    assert sizes(split) == (10, 3, 5)
    assert not np.isin([4, 9], np.concatenate([split.train, split.validation, split.test])).any()


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("0.8/0.2/0.2", "sum to at most 1"),
        ("random", r"or a file \(.npz, .json, .csv\). Got 'random'"),
        ("0.5/0.5", "Got '0.5/0.5'"),
        ("-1/2/3", "three numbers ≥ 0"),
        ("0/5/5", "leaves no training nodes"),
        ("0-per-class", "leaves no training nodes"),
        ("1/2/3-per-class", "split must be 20-per-class"),
        ("0.01/0.5/0.4", "leaves no training nodes"),
    ],
)
def test_a_split_that_cannot_be_is_refused(small, how, sentence):
    with pytest.raises(InputError, match=sentence):
        split_nodes(small, how, [0])


@pytest.mark.parametrize(("how", "wanted"), [("20-per-class", (20, 30)), ("5/10-per-class", (5, 10))])
def test_per_class_every_class_trains_and_validates_alike_and_the_rest_is_tested(cora, how, wanted):
    first, again, other = split_nodes(cora, how, [3, 3, 4])
    for part, count in zip(("train", "validation"), wanted, strict=True):
        assert (np.bincount(cora.labels[getattr(first, part)]) == count).all()
    assert sum(sizes(first)) == cora.n_nodes
    assert (first.train == again.train).all()
    assert (first.train != other.train).any()


def test_per_class_a_class_that_is_too_small_is_named(small):
    with pytest.raises(InputError, match=r"The class .* has \d+ nodes: too few for 20 that train, 30 that"):
        split_nodes(small, "20-per-class", [0])


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
def test_a_seed_is_a_whole_number(small, seed):
    with pytest.raises(InputError, match="seed must be an integer ≥ 0"):
        split_nodes(small, "jk", [seed])[0]


def test_the_default_is_fastgcn_for_a_citation_graph_and_jk_elsewhere(cora, small):
    assert sizes(load(cora)[1]) == (1208, 500, 1000)
    graph, split = load(small)
    assert graph is small
    assert sizes(split) == (10, 4, 4)
    assert split.train.tolist() == split_nodes(small, "jk", [0])[0].train.tolist()
