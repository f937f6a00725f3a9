"""L_Y is torch's cross-entropy, replica by replica, and class weights are what they say."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from kernode.errors import InputError
from kernode.losses import Softmax
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import class_scores, cross_entropy, node_weights
from tasks import DOUBLE

RANDOM = torch.Generator().manual_seed(0)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_cross_entropy_equals_torchs_one_replica_at_a_time(shared, weighted):
    scores = torch.randn(3, 20, 4, dtype=torch.float64, generator=RANDOM)
    labels = torch.randint(0, 4, (1 if shared else 3, 20), generator=RANDOM)
    weights = torch.rand(1 if shared else 3, 4, dtype=torch.float64, generator=RANDOM) if weighted else None
    scores.requires_grad_()
    ours = cross_entropy(scores, labels, node_weights(labels, weights, torch.float64))
    gradient = torch.autograd.grad(ours @ torch.arange(1.0, 4, dtype=torch.float64), scores)[0]
    for i in range(3):
        q = 0 if shared else i
        weight = None if weights is None else weights[q]
        theirs = functional.cross_entropy(scores[i], labels[q], weight=weight)
        assert torch.allclose(ours[i], theirs)
        assert torch.allclose(gradient[i], torch.autograd.grad((i + 1) * theirs, scores)[0][i])


def test_cross_entropy_of_large_scores_is_finite_and_unknown_labels_add_nothing():
    scores = torch.tensor([[[1e4, -1e4], [0.0, 0.0]]], dtype=torch.float64)
    for labels, loss in ((torch.tensor([[0, -1]]), 0), (torch.tensor([[1, 0]]), (2e4 + np.log(2)) / 2)):
        found = cross_entropy(scores, labels, node_weights(labels, None, scores.dtype))
        assert found.item() == pytest.approx(loss)


def test_without_weights_nodes_count_alike_and_balance_evens_out_classes():
    labels = np.array([[0] * 5 + [1] * 2 + [2] * 3])
    nodes = NodesByClass.of(np.arange(10)[None], labels, 3, DOUBLE.device)
    balanced = Softmax(class_weights="balanced").prepare(nodes, {}, DOUBLE).weights
    assert torch.allclose(balanced, torch.tensor([5 * [1 / 15] + 2 * [1 / 6] + 3 * [1 / 9]]).double())
    assert torch.allclose(Softmax().prepare(nodes, {}, DOUBLE).weights, torch.full((1, 10), 0.1).double())


def test_weights_of_nodes_are_shares_and_balance_evens_out_classes():
    labels, weights = np.array([[1, 0, 1]]), np.array([[3.0, 4.0, 1.0]])
    nodes = NodesByClass.of(np.arange(3)[None], labels, 2, DOUBLE.device, weights)
    assert Softmax().prepare(nodes, {}, DOUBLE).weights.tolist() == [[0.5, 0.375, 0.125]]
    balanced = Softmax(class_weights="balanced").prepare(nodes, {}, DOUBLE).weights
    assert balanced.tolist() == [[0.5, 0.375, 0.125]]  # 4 and 3 + 1: even already
    uneven = NodesByClass.of(np.arange(3)[None], labels, 2, DOUBLE.device, np.array([[3.0, 1.0, 1.0]]))
    assert Softmax(class_weights="balanced").prepare(uneven, {}, DOUBLE).weights.tolist() == balanced.tolist()


def test_softmax_needs_one_output_per_class():
    g = torch.randn(1, 4, 5)
    with pytest.raises(InputError):
        class_scores(g, torch.zeros(1, 3))
