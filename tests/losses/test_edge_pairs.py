"""Who is compared with whom on links: training edges, pairs that are drawn, and pairs known to be none."""

import numpy as np
import torch

from graphs import CLUSTERS
from kernode.compute.draws import Draws
from kernode.io.edge_split import split_edges
from kernode.losses.edge_pairs import EdgePairs

TRAINING = split_edges(CLUSTERS, 0).graph
CPU = torch.device("cpu")


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


def test_no_known_pairs_are_as_none_given():
    assert EdgePairs.of(TRAINING, CPU, np.empty((0, 2), int)).others is None


def test_pairs_are_drawn_afresh_in_every_epoch_and_by_each_replica_as_alone():
    pairs = EdgePairs.of(TRAINING, CPU)
    first, second = (pairs.draw_negatives(Draws(torch.tensor([3, 4]), epoch))[0] for epoch in (1, 2))
    assert not torch.equal(first, second)
    assert torch.equal(first[1], pairs.draw_negatives(Draws(torch.tensor([4]), 1))[0][0])
