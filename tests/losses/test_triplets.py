"""Triplets: who is drawn how often, and nodes class by class."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.compute.draws import Draws
from kernode.errors import InputError
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.triplets import Triplets, TripletSampler

CPU = torch.device("cpu")


class Sampler:
    """Draws triplets as node indices: r × t each."""

    def __init__(self, nodes, labels, classes, count=300, weights=None):
        weights = None if weights is None else np.atleast_2d(weights)
        self.members = NodesByClass.of(np.atleast_2d(nodes), np.atleast_2d(labels), classes, CPU, weights)
        self.sampler = TripletSampler(self.members, count)

    def draw(self, draws):
        r = len(draws.seeds)
        rows = [part.T for part in self.sampler.draw(draws)]
        assert all(torch.equal(part % r, torch.arange(r)[:, None].expand_as(part)) for part in rows)
        return Triplets(*(self.members.nodes.expand(r, -1).gather(1, part // r) for part in rows))


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=30),
    st.integers(0, 2**31),
    st.integers(1, 3),
    st.sampled_from([None, 0.0, 3.0, 20.0]),
)
def test_triplets_are_same_class_other_class_and_training_nodes_only(labels, seed, replicas, spread):
    labels = np.array(labels)
    if len(np.unique(labels)) < 2:
        return
    random = np.random.default_rng(seed)
    nodes = random.permutation(1000)[: len(labels)]
    label_of = dict(zip(nodes.tolist(), labels.tolist(), strict=True))
    weights = None if spread is None else np.exp(spread * random.normal(size=len(labels)))
    triplets = Sampler(nodes, labels, 5, weights=weights).draw(Draws(torch.arange(replicas) + seed, 3))
    assert all(part.shape == (replicas, 300) for part in triplets)
    sizes = np.bincount(labels, minlength=5)
    for anchor, positive, negative in torch.stack(triplets).reshape(3, -1).T.tolist():
        assert label_of[anchor] == label_of[positive] != label_of[negative]
        assert anchor != positive or sizes[label_of[anchor]] == 1


def test_every_class_gets_the_same_number():
    labels = np.array([0] * 50 + [1] * 5 + [3])
    triplets = Sampler(np.arange(56), labels, 4, count=300).draw(Draws(torch.tensor([0])))
    assert np.bincount(labels[triplets.anchor[0]], minlength=4).tolist() == [100, 100, 0, 100]


def test_draws_are_uniform_within_classes():
    labels = np.array([0] * 4 + [1] * 3 + [2] * 3)
    drawn = Sampler(np.arange(10), labels, 3, count=90_000).draw(Draws(torch.tensor([1])))
    anchors = np.bincount(drawn.anchor[0], minlength=10)
    assert np.allclose(anchors, [7_500] * 4 + [10_000] * 6, rtol=0.05)
    of_zero = drawn.anchor[0] == 0
    positives = np.bincount(drawn.positive[0][of_zero], minlength=10)
    assert np.allclose(positives[:4], [0, 2_500, 2_500, 2_500], rtol=0.1)
    negatives = np.bincount(drawn.negative[0][of_zero], minlength=10)
    assert np.allclose(negatives, [0] * 4 + [1_250] * 6, rtol=0.15)


def test_a_node_is_drawn_as_often_as_its_weight_says():
    """The oracle: probabilities by their definition, node by node."""
    labels, weights = np.array([0, 1, 0, 1, 0, 2, 2]), np.array([1.0, 2, 3, 4, 5, 6, 0.5])
    drawn = Sampler(np.arange(7), labels, 3, count=90_000, weights=weights).draw(Draws(torch.tensor([1])))
    anchor, positive, negative = (part[0].numpy() for part in drawn)
    for node in range(7):
        mates, others = (labels == labels[node]) & (np.arange(7) != node), labels != labels[node]
        share = weights[node] / weights[labels == labels[node]].sum()
        assert (anchor == node).mean() == pytest.approx(share / 3, abs=0.006)
        for drawn_nodes, among in ((positive, mates), (negative, others)):
            found = np.bincount(drawn_nodes[anchor == node], minlength=7) / (anchor == node).sum()
            assert np.allclose(found, among * weights / (among * weights).sum(), atol=0.03)


@pytest.mark.parametrize("weights", [None, np.array([[1.0, 2, 3, 4, 5, 6], [6.0, 5, 4, 3, 2, 1]])])
def test_replicas_draw_as_they_do_alone_from_their_own_nodes(weights):
    nodes = np.stack([np.arange(6), np.arange(10, 16)])
    labels = np.array([[0, 1, 0, 1, 2, 2], [2, 2, 1, 1, 0, 0]])
    stack = Sampler(nodes, labels, 3, weights=weights).draw(Draws(torch.tensor([4, 5]), 7))
    for i in (0, 1):
        own = None if weights is None else weights[i]
        alone = Sampler(nodes[i], labels[i], 3, weights=own).draw(Draws(torch.tensor([4 + i]), 7))
        assert all(torch.equal(a[i], b[0]) for a, b in zip(stack, alone, strict=True))


def test_one_class_has_nothing_to_compare():
    with pytest.raises(InputError):
        Sampler(np.arange(4), np.zeros(4, int), 3)


def test_nodes_come_class_by_class_in_the_order_in_which_they_were_given():
    nodes, labels = np.array([[7, 3, 9, 5]]), np.array([[2, 0, 2, 0]])
    found = NodesByClass.of(nodes, labels, 4, CPU)
    assert found.nodes.tolist() == [[3, 5, 7, 9]]
    assert found.labels.tolist() == [[0, 0, 2, 2]]
    assert found.sizes.tolist() == found.class_weights.tolist() == [[2, 0, 2, 0]]
    assert found.starts.tolist() == [[0, 2, 2, 4]]
    assert found.averaging.tolist() == [[[0.5, 0.5, 0, 0], [0] * 4, [0, 0, 0.5, 0.5], [0] * 4]]
    weighted = NodesByClass.of(nodes, labels, 4, CPU, np.array([[1.0, 2.0, 3.0, 6.0]]))
    assert weighted.weights.tolist() == [[2, 6, 1, 3]]
    assert weighted.class_weights.tolist() == [[8, 0, 4, 0]]
    assert weighted.averaging.tolist() == [[[0.25, 0.75, 0, 0], [0] * 4, [0, 0, 0.25, 0.75], [0] * 4]]


def test_rounding_of_weights_makes_no_node_of_the_own_class_a_negative():
    weights = [3.0, 1e16]  # which add up to 1e16 + 4, so that the second seems to begin at 4
    for order in (1, -1):
        drawn = Sampler([0, 1], [0, 1], 2, weights=weights[::order]).draw(Draws(torch.tensor([0, 1])))
        assert torch.equal(drawn.anchor, drawn.positive)  # of one node in each class
        assert torch.equal(drawn.negative, 1 - drawn.anchor)
