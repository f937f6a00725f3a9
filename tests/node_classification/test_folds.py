"""From nodes and classes to labelled nodes, and folds where none validate."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import CLUSTERS
from kernode.tasks.classes.labels import can_hold_out, in_folds, labelled
from kernode.tasks.classes.task import LabelledNodes
from tasks import LABELS, SPLIT


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40), st.integers(2, 10))
def test_folds_hold_every_node_out_at_most_once_and_no_class_as_a_whole(labels, count):
    y = np.unique(labels, return_inverse=True)[1]
    nodes = LabelledNodes.without_validation(np.arange(len(y)) + 7, y)
    if (np.bincount(y) > 1).sum() == 0:
        return
    parts = in_folds(nodes, count, seed=3)
    held_out = parts.validation.ravel()
    assert len(np.unique(held_out)) == len(held_out)
    for train, train_labels, out, out_labels in zip(
        parts.train, parts.train_labels, parts.validation, parts.validation_labels, strict=True
    ):
        assert np.array_equal(np.sort(np.concatenate([train, out])), nodes.train[0])
        assert np.array_equal(train_labels, y[train - 7])
        assert np.array_equal(out_labels, y[out - 7])
        assert set(train_labels) == set(y)
    assert in_folds(nodes, count, 3, replicas=7).train.shape[0] == 7


def test_classes_are_numbered_in_their_order_and_unknown_ones_are_no_number():
    classes, nodes = labelled(np.array([4, 2, 9]), np.array(["b", "a", "b"]), CLUSTERS, ([1, 3], ["a", "z"]))
    assert classes.tolist() == ["a", "b"]
    assert nodes.train.tolist() == [[4, 2, 9]]
    assert nodes.train_labels.tolist() == [[1, 0, 1]]
    assert (nodes.validation.tolist(), nodes.validation_labels.tolist()) == ([[1, 3]], [[0, -1]])


def test_folds_are_seeded():
    _, nodes = labelled(SPLIT.train, LABELS, CLUSTERS, None)
    assert not nodes.validates
    first, same, other = (in_folds(nodes, 3, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.validation, same.validation)
    assert not np.array_equal(first.validation, other.validation)
    assert first.train.shape == (3, 40)
    assert np.array_equal(np.sort(first.validation.ravel()), SPLIT.train)  # each once


def test_nodes_are_held_out_only_where_others_of_their_class_are_left():
    nodes = np.array([3, 4, 5])
    assert not can_hold_out(LabelledNodes.without_validation(nodes, np.array([0, 1, 2])))
    assert can_hold_out(LabelledNodes.without_validation(nodes, np.array([0, 1, 1])))
