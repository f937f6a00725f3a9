"""The loss on links, and which pairs it compares: training edges, drawn pairs, and known non-edges."""

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS, vectors
from kernode.compute.draws import Draws
from kernode.losses import LinkCrossEntropy
from kernode.losses.link_cross_entropy import EdgePairs

TRAINING = kn.split_edges(CLUSTERS, 0).graph
CPU = torch.device("cpu")
SEEDS = torch.tensor([3, 4])


def test_edges_are_those_of_the_graph_each_once():
    edges = EdgePairs.of(TRAINING, CPU).edges.numpy()
    assert np.array_equal(
        edges[np.lexsort(edges.T[::-1])], np.argwhere(np.triu(TRAINING.adjacency.toarray()))
    )


def test_sampled_pairs_that_are_edges_do_not_count():
    drawn, counts = EdgePairs.of(TRAINING, CPU).draw_negatives(Draws(torch.arange(200), 1))
    assert drawn.shape == (200, TRAINING.n_edges, 2)
    dense = TRAINING.adjacency.toarray() > 0
    u, v = drawn[..., 0].numpy(), drawn[..., 1].numpy()
    assert np.array_equal(counts.numpy(), ~dense[u, v] & (u != v))
    assert 0.5 < counts.double().mean() < 1
    assert np.allclose(np.bincount(u.ravel(), minlength=120), u.size / 120, rtol=0.3)


def test_every_known_pair_that_is_no_edge_counts():
    others = np.array([(0, 1), (2, 7), (3, 5)])
    drawn, counts = EdgePairs.of(TRAINING, CPU, others).draw_negatives(Draws(torch.arange(4), 1))
    usual, usual_counts = EdgePairs.of(TRAINING, CPU).draw_negatives(Draws(torch.arange(4), 1))
    assert torch.equal(drawn[:, :-3], usual)
    assert torch.equal(counts[:, :-3], usual_counts)
    assert (drawn[:, -3:].numpy() == others).all()
    assert counts[:, -3:].all()


def test_pairs_are_drawn_afresh_in_every_epoch_and_by_each_replica_as_alone():
    pairs = EdgePairs.of(TRAINING, CPU)
    first, second = (pairs.draw_negatives(Draws(torch.tensor([3, 4]), epoch))[0] for epoch in (1, 2))
    assert not torch.equal(first, second)
    assert torch.equal(first[1], pairs.draw_negatives(Draws(torch.tensor([4]), 1))[0][0])


@pytest.mark.parametrize("others", [None, np.array([(0, 1), (2, 7), (3, 5)])])
def test_loss_equals_a_naive_loop(others):
    g = vectors(2, 120)
    pairs = LinkCrossEntropy().prepare(TRAINING, torch.device("cpu"), others)

    def logits(pairs):
        return torch.stack([(g[r, row[:, 0]] * g[r, row[:, 1]]).sum(-1) for r, row in
                            enumerate(pairs.expand(2, -1, -1))])  # fmt: skip

    loss = LinkCrossEntropy()(pairs, logits, Draws(SEEDS, 1))
    drawn, counts = pairs.draw_negatives(Draws(SEEDS, 1))
    for r in range(2):
        edges = [torch.log1p(torch.exp(-(g[r, u] @ g[r, v]))) for u, v in pairs.edges.tolist()]
        none = [
            torch.log1p(torch.exp(g[r, u] @ g[r, v]))
            for (u, v), counted in zip(drawn[r].tolist(), counts[r].tolist(), strict=True)
            if counted
        ]
        assert torch.allclose(loss[r], (torch.stack(edges).mean() + torch.stack(none).mean()) / 2)


def test_loss_of_given_pairs_is_that_of_both_kinds():
    linked, others = vectors(2, 9, 1)[..., 0], vectors(2, 5, 1, seed=1)[..., 0]
    expected = (torch.log1p(torch.exp(-linked)).mean(1) + torch.log1p(torch.exp(others)).mean(1)) / 2
    assert torch.allclose(LinkCrossEntropy().on(linked, others), expected)
