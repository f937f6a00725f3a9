"""Cross-entropy on links is a naive loop over edges and over the pairs that count."""

import json

import numpy as np
import pytest
import torch

from graphs import CLUSTERS, vectors
from kernode.compute.draws import Draws
from kernode.config import Config
from kernode.io.edge_split import split_edges
from kernode.losses import LinkCrossEntropy

TRAINING = split_edges(CLUSTERS, 0).graph
SEEDS = torch.tensor([3, 4])


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


def test_settings_travel_as_json():
    assert Config.from_json(json.loads(json.dumps(LinkCrossEntropy().to_json()))) == LinkCrossEntropy()
