"""Training nodes class by class, by hand."""

import numpy as np
import torch

from kernode.losses.nodes_by_class import NodesByClass

NODES, LABELS = np.array([[7, 3, 9, 5]]), np.array([[2, 0, 2, 0]])


def by_class(weights=None):
    return NodesByClass.of(NODES, LABELS, 4, torch.device("cpu"), weights)


def test_nodes_come_class_by_class_in_the_order_in_which_they_were_given():
    found = by_class()
    assert found.nodes.tolist() == [[3, 5, 7, 9]]
    assert found.labels.tolist() == [[0, 0, 2, 2]]
    assert found.sizes.tolist() == [[2, 0, 2, 0]]
    assert found.starts.tolist() == [[0, 2, 2, 4]]


def test_without_weights_a_class_weighs_what_it_has_nodes():
    assert by_class().class_weights.tolist() == [[2, 0, 2, 0]]
    assert by_class().averaging.tolist() == [[[0.5, 0.5, 0, 0], [0] * 4, [0, 0, 0.5, 0.5], [0] * 4]]


def test_weights_go_with_their_nodes():
    found = by_class(np.array([[1.0, 2.0, 3.0, 6.0]]))
    assert found.weights.tolist() == [[2, 6, 1, 3]]
    assert found.class_weights.tolist() == [[8, 0, 4, 0]]
    assert found.averaging.tolist() == [[[0.25, 0.75, 0, 0], [0] * 4, [0, 0, 0.25, 0.75], [0] * 4]]
