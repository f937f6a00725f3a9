"""Which nodes train and validate, for every replica, and which classes there are."""

from dataclasses import replace

import numpy as np
import pytest

from graphs import CLUSTERS
from kernode.errors import InputError
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.training.run import Run
from tasks import DOUBLE, NO_NODES, labelled_nodes, node_task, split_of

RUN = Run((0, 1), DOUBLE)


def rows(nodes):
    return [array.tolist() for array in vars(nodes).values()]


def test_repeated_nodes_are_the_same_rows_in_the_same_order():
    nodes = labelled_nodes(split_seeds=(0, 1, 2))
    twice = nodes.repeated(2)
    assert twice.train.shape == (6, 60)
    for i in range(6):
        assert rows(twice.of(slice(i, i + 1))) == rows(nodes.of(slice(i % 3, i % 3 + 1)))


def test_nodes_that_all_replicas_share_need_no_repeating():
    shared = labelled_nodes()
    assert shared.repeated(5) is shared
    assert shared.of(slice(2, 3)) is shared


def test_rows_of_some_replicas_are_theirs():
    nodes = labelled_nodes(split_seeds=(0, 1, 2))
    assert rows(nodes.of(slice(1, 3))) == rows(labelled_nodes(split_seeds=(1, 2)))


def test_nodes_without_validation():
    nodes = LabelledNodes.without_validation(np.array([4, 2]), np.array([0, 1]))
    assert (nodes.train.tolist(), nodes.train_labels.tolist()) == ([[4, 2]], [[0, 1]])
    assert not nodes.validates
    assert labelled_nodes().validates


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_labels": np.full((1, 60), -1)}, r"node \d+ has no label: keep it out of the training nodes"),
        (
            {"train_labels": np.zeros((1, 59))},
            r"nodes and labels must have one shape. Got \(1, 60\), \(1, 59\)",
        ),
        ({"train": np.zeros(60), "train_labels": np.zeros(60)}, "must have one shape"),
        ({"train": NO_NODES, "train_labels": NO_NODES}, "there are no training nodes"),
    ],
)
def test_wrong_nodes_are_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        replace(labelled_nodes(), **changes)


def test_classes_with_a_single_training_node_are_named():
    """In any replica, and by what they are called; a class without any is not one of them."""
    none = np.empty((2, 0), int)
    labels = np.array([[0, 0, 1, 1, 3], [0, 0, 0, 1, 3]])
    nodes = LabelledNodes(np.stack([np.arange(5), np.arange(5)]), labels, none, none)
    task = node_task(nodes=nodes, classes=("a", "b", "c", "d"), seeds=(0, 1))
    assert task.single_node_classes() == ["b", "d"]
    assert replace(task, nodes=labelled_nodes(), classes=(0, 1, 2)).single_node_classes() == []


def test_splits_become_rows_and_one_row_where_all_share_them():
    splits = [split_of(CLUSTERS, seed) for seed in (0, 1)]
    assert rows(NodeTask.of_splits(CLUSTERS, splits, RUN).nodes) == rows(labelled_nodes(split_seeds=(0, 1)))
    assert rows(NodeTask.of_splits(CLUSTERS, splits[:1] * 2, RUN).nodes) == rows(labelled_nodes())


def test_only_training_nodes_say_which_classes_there_are():
    split = split_of(CLUSTERS)
    train = split.train[CLUSTERS.labels[split.train] != 1]
    named = replace(CLUSTERS, class_names=("red", "green", "blue"))
    task = NodeTask.of_splits(named, [replace(split, train=train)], RUN)
    assert task.classes == ("red", "blue")
    numbers = {0: 0, 1: -1, 2: 1}  # what no training node has is wrong whatever is answered
    assert task.nodes.validation_labels[0].tolist() == [numbers[y] for y in CLUSTERS.labels[split.validation]]
    assert set(task.nodes.train_labels[0]) == {0, 1}


def test_validation_nodes_without_a_label_are_always_wrong():
    labels = CLUSTERS.labels.copy()
    split = split_of(CLUSTERS)
    labels[split.validation[0]] = -1
    task = NodeTask.of_splits(replace(CLUSTERS, labels=labels), [split], RUN)
    assert task.nodes.validation_labels[0, 0] == -1


def test_the_same_task_can_be_run_otherwise():
    task = node_task()
    other = task.with_run(RUN)
    assert other.run is RUN
    assert (other.graph, other.nodes, other.classes) == (task.graph, task.nodes, task.classes)
