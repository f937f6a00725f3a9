"""Graphs made of a name: exact sizes, the same bits each time, and something in them to learn."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernode.cli import main
from kernode.errors import InputError
from kernode.graph.adjacency import checked_adjacency
from kernode.io import Synthetic, load, load_graph, synthetic
from kernode.io.planetoid import fetch
from kernode.io.registry import is_registered
from kernode.io.synthetic import (
    BlockModel,
    bell,
    below,
    class_affinity,
    class_bounds,
    draw_features,
    is_synthetic,
)
from refusals import refused


@st.composite
def specs(draw, most=60):
    """Any small graph, up to the densest and the most classes."""
    nodes = draw(st.integers(2, most))
    return Synthetic(
        nodes,
        draw(st.integers(1, nodes // 2)),
        draw(st.integers(1, nodes)),
        draw(st.integers(1, 9)),
        draw(st.integers(0, 2**63 - 1)),
    )


@pytest.fixture(scope="module")
def large():
    return Synthetic(nodes=20_000).graph()


# names


@given(specs(), st.randoms())
def test_a_name_says_everything_in_any_order(spec, random):
    assert Synthetic.parse(spec.name) == spec
    settings = [f"{key} = {value:_}" for key, value in asdict(spec).items()]
    random.shuffle(settings)
    assert Synthetic.parse("synthetic:" + ", ".join(settings)).name == spec.name


def test_what_a_name_leaves_out_is_as_by_default():
    default = "synthetic:nodes=10000,degree=10,classes=8,features=64,seed=0"
    for name in ("synthetic", "synthetic:", "synthetic:degree=10"):
        assert Synthetic.parse(name).name == default
    assert Synthetic.parse("synthetic:seed=7,nodes=50") == Synthetic(nodes=50, seed=7)
    assert Synthetic(nodes=1_000_000, degree=20).edges == 10_000_000
    assert Synthetic(nodes=7, degree=3, classes=2).edges == 10


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("synthetic:node=5", "data"),
        ("synthetic:nodes=50,nodes=60", "data"),
        ("synthetic:nodes", "nodes"),
        ("synthetic:nodes=1e6", "nodes"),
        ("synthetic:nodes=1", "nodes"),
        ("synthetic:nodes=20,degree=11", "degree"),
        ("synthetic:nodes=20,classes=21,degree=2", "classes"),
        ("synthetic:features=0", "features"),
        ("synthetic:seed=9223372036854775808", "seed"),
    ],
)
def test_a_name_that_is_wrong_is_refused(name, setting):
    with refused("setting", setting=setting):
        load_graph(name)


def test_a_synthetic_graph_is_loaded_by_its_name_and_needs_no_file():
    name = "synthetic:degree=4,nodes=60"
    assert is_synthetic(name)
    assert is_registered(name)
    assert not is_synthetic("synthetics")
    graph, split = load(name)
    assert graph.name == Synthetic(nodes=60, degree=4).name
    assert [len(part) for part in (split.train, split.validation, split.test)] == [36, 12, 12]
    with pytest.raises(InputError, match="is made when it is loaded, so there is nothing to fetch"):
        fetch(name)


# draws


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(1, 2**53 - 1))
def test_bounded_numbers_are_the_exact_ones_but_for_rounding(words, bound):
    drawn = below(np.array(words, np.uint64), bound)
    assert (drawn >= 0).all()
    assert (drawn < bound).all()
    exact = [(word >> 11) * bound >> 53 for word in words]
    assert np.abs(drawn - np.array(exact)).max() <= 1


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_a_bell_number_is_the_sum_of_four_parts(words):
    expected = [sum((word >> shift) & 0xFFFF for shift in (0, 16, 32, 48)) - 131_070 for word in words]
    assert bell(np.array(words, np.uint64)).tolist() == expected


# edges


@given(specs())
def test_a_graph_is_as_large_as_its_name_says(spec):
    graph = spec.graph()
    assert (graph.n_nodes, graph.n_edges) == (spec.nodes, spec.edges)
    assert (graph.n_features, graph.n_classes) == (spec.features, spec.classes)
    assert graph.features.dtype == np.float32
    assert graph.notes == ()
    assert (np.bincount(graph.labels, minlength=spec.classes) > 0).all()
    checked_adjacency(graph.adjacency.copy())  # symmetric, no loops, although nobody looked
    assert (graph.adjacency.data == 1).all()


@given(specs(), st.sampled_from([1, 7, 2**18]))
def test_edges_are_the_first_different_pairs_that_are_drawn(spec, portion):
    model = BlockModel(spec.nodes, spec.classes, spec.degree, spec.seed)
    before, synthetic._DRAWS = synthetic._DRAWS, portion
    try:
        edges = model.edges(spec.edges)
    finally:
        synthetic._DRAWS = before

    def different():
        seen, start = {-1}, 0
        while True:
            for key in model._draw(start, start + 50).tolist():
                if key not in seen:
                    seen.add(key)
                    yield key
            start += 50

    assert edges.tolist() == sorted(islice(different(), spec.edges))


@given(specs(most=30))
def test_a_draw_is_what_its_words_say(spec):
    """One draw after the other, with Python's integers and a walk along the places."""
    model = BlockModel(spec.nodes, spec.classes, spec.degree, spec.seed)
    words = synthetic.random_words(spec.seed, synthetic._EDGES, 0, 40).tolist()
    widths = np.diff(model.reach).tolist()
    labels = model.labels()

    def walk(places, word):
        left = min(int((word >> 11) * 2.0**-53 * sum(widths[p] for p in places)), 2**53)
        for place in places:
            if left < widths[place]:
                break
            left -= widths[place]
        return int(model.nodes[place])

    expected = []
    everywhere = list(range(spec.nodes))
    for first, second in zip(words[0::2], words[1::2], strict=True):
        one = walk(everywhere, first)
        own = [place for place in everywhere if labels[model.nodes[place]] == labels[one]]
        other = walk(own if second % 2048 < int(2048 * class_affinity(spec.degree)) else everywhere, second)
        expected.append(-1 if one == other else min(one, other) * spec.nodes + max(one, other))
    assert model._draw(0, 20).tolist() == expected


def test_degrees_follow_a_power_law(large):
    degrees = np.sort(np.diff(large.adjacency.indptr))[::-1]
    assert degrees.mean() == 10
    assert 15 * degrees.mean() < degrees[0] < 30 * degrees.mean()
    # P(degree ≥ k) ~ k^(1 − 3): four times as many nodes have half the degree
    assert (degrees >= 30).sum() / (degrees >= 60).sum() == pytest.approx(4, rel=0.15)


@given(st.integers(1, 200), st.data())
def test_classes_are_mildly_unequal(n, data):
    classes = data.draw(st.integers(1, n))
    sizes = np.diff(class_bounds(n, classes))
    assert sizes.sum() == n
    assert len(sizes) == classes
    assert sizes.min() >= 1
    assert sizes.max() <= 2 * sizes.min() + 2


# features


def test_features_do_not_depend_on_blocks(monkeypatch):
    labels = np.arange(700) % 4
    whole = draw_features(labels, 4, 6, seed=1)
    monkeypatch.setattr("kernode.compute.chunks._BYTES", 8)
    np.testing.assert_array_equal(draw_features(labels, 4, 6, seed=1), whole)


# the same bits


def test_a_seed_gives_the_same_bits_everywhere_and_for_ever():
    graph = load_graph("synthetic:nodes=300,degree=6,classes=5,features=7,seed=3")
    assert graph.fingerprint == "8831fb7284ab4d270cf28392692528d4a4d1742730cd8bb353222d7eff148686"
    assert np.bincount(graph.labels).tolist() == [43, 51, 60, 69, 77]
    assert graph.labels[:12].tolist() == [2, 2, 4, 3, 1, 4, 0, 2, 1, 1, 4, 0]


# models


def test_commands_take_a_synthetic_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def kernode(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernode", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    name = "synthetic:nodes=80,features=6"
    out = kernode("fit", name, "--epochs", "3", "--replicas", "1", "--set", "loss.triplets=50")
    file = "synthetic-nodes=80-features=6.safetensors"
    assert f"kernode predict {file} -o" in out  # nothing more is needed
    assert (tmp_path / file).is_file()
    assert kernode("predict", file).count("\n") == 81
    kernode("links", name, "--epochs", "3", "--replicas", "1")
    assert (tmp_path / "synthetic-nodes=80-features=6-links-auto.safetensors").is_file()
    assert "80 nodes, 400 edges, 6 features" in kernode("data", "info", name)
    assert "synthetic:nodes=" in kernode("data", "list")
