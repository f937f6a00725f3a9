"""Training on the classes of nodes: which nodes train and validate, what labels reach, what selects."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from graphs import CLUSTERS
from kernode.models.overrides import by_part
from kernode.tasks.classes.labels import in_folds, labelled, warn_of_single_nodes
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.training.run import Run
from parts import METHODS
from refusals import refused
from tasks import (
    DOUBLE,
    NO_NODES,
    SHORT,
    SPLIT,
    fit,
    labelled_nodes,
    node_task,
    retrieval,
    split_of,
    trained,
)

JOINT = METHODS["joint"]
RUN = Run((0, 1), DOUBLE)


def fitted(method=JOINT, training=SHORT, **task):
    return fit(node_task(**task), method, training).model


def rows(nodes):
    return [array.tolist() for array in vars(nodes).values()]


# nodes of every replica


def test_splits_become_rows_and_one_row_where_all_share_them():
    splits = [split_of(CLUSTERS, seed) for seed in (0, 1)]
    assert rows(NodeTask.of_splits(CLUSTERS, splits, RUN).nodes) == rows(labelled_nodes(split_seeds=(0, 1)))
    assert rows(NodeTask.of_splits(CLUSTERS, splits[:1] * 2, RUN).nodes) == rows(labelled_nodes())


def test_only_training_nodes_say_which_classes_there_are():
    split, labels = split_of(CLUSTERS), CLUSTERS.labels.copy()
    train = split.train[labels[split.train] != 1]
    labels[
        split.validation[0]
    ] = -1  # no label: wrong whatever is answered, as is a class that no node trains
    named = replace(CLUSTERS, class_names=("red", "green", "blue"), labels=labels)
    task = NodeTask.of_splits(named, [replace(split, train=train)], RUN)
    assert task.classes == ("red", "blue")
    numbers = {0: 0, 1: -1, 2: 1, -1: -1}
    assert task.nodes.validation_labels[0].tolist() == [numbers[y] for y in labels[split.validation]]
    assert set(task.nodes.train_labels[0]) == {0, 1}


def test_classes_with_a_single_training_node_in_any_replica_are_named():
    none = np.empty((2, 0), int)
    labels = np.array([[0, 0, 1, 1, 3], [0, 0, 0, 1, 3]])
    nodes = LabelledNodes(np.stack([np.arange(5), np.arange(5)]), labels, none, none)
    task = node_task(nodes=nodes, classes=("a", "b", "c", "d"), seeds=(0, 1))
    with pytest.warns(kn.KernodeWarning, match=r"2 of 4 classes have .* in some replica \(b, d\)"):
        warn_of_single_nodes(task)
    warn_of_single_nodes(replace(task, nodes=labelled_nodes(), classes=(0, 1, 2)))


def test_classes_are_numbered_in_their_order_and_unknown_ones_have_no_number():
    classes, nodes = labelled(np.array([4, 2, 9]), np.array(["b", "a", "b"]), CLUSTERS, ([1, 3], ["a", "z"]))
    assert classes.tolist() == ["a", "b"]
    assert (nodes.train.tolist(), nodes.train_labels.tolist()) == ([[4, 2, 9]], [[1, 0, 1]])
    assert (nodes.validation.tolist(), nodes.validation_labels.tolist()) == ([[1, 3]], [[0, -1]])


# folds


@given(st.lists(st.integers(0, 3), min_size=4, max_size=40), st.integers(2, 10))
def test_folds_hold_every_node_out_at_most_once_and_no_class_as_a_whole(labels, count):
    y = np.unique(labels, return_inverse=True)[1]
    nodes = LabelledNodes.without_validation(np.arange(len(y)) + 7, y)
    if np.bincount(y).max() < 2:
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


# records


def test_history_has_losses_accuracies_and_hop_weights_per_epoch():
    history = trained(JOINT, seeds=(0, 1)).history
    assert history["hop_weights"].shape == (12, 2, 3)
    for name in ("loss", "kernel_loss", "softmax_loss", "validation_loss", "validation_accuracy"):
        assert history[name].shape == (12, 2)
    assert np.allclose(history["loss"], history["softmax_loss"] + 0.1 * history["kernel_loss"])


# selection by mean average precision


@pytest.mark.parametrize("name", ["joint", "kernel", "logistic", "rbf"])
def test_epoch_with_the_highest_validation_map_can_be_kept(name):
    by_map = trained(METHODS[name], replace(SHORT, select_by="map"), seeds=(0, 1, 2))
    for i, epoch in enumerate(by_map.epochs):
        precision = by_map.history["validation_map"][:, i]
        loss = np.where(precision == precision.max(), by_map.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1
    plain = trained(METHODS[name], seeds=(0, 1, 2))
    assert "validation_map" not in plain.history
    assert np.array_equal(plain.history["loss"], by_map.history["loss"])
    assert not np.array_equal(plain.epochs, by_map.epochs)


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_validation_map_is_that_of_the_normalised_gram_matrix_among_own_validation_nodes(seeds):
    nodes = labelled_nodes(split_seeds=seeds)
    training = replace(SHORT, select_by="map", selection="last")
    model = fitted(METHODS["logistic"], training, seeds=seeds, nodes=nodes)  # its kernel is not normalised
    g = model.on(CLUSTERS).g
    for i in range(len(seeds)):
        own = g[i, nodes.validation[i]] / g[i, nodes.validation[i]].norm(dim=1, keepdim=True)
        expected, _ = retrieval((own @ own.T)[None], torch.from_numpy(nodes.validation_labels[i]))
        assert model.history["validation_map"][-1, i] == pytest.approx(expected.item(), abs=1e-9)


def test_where_no_two_validation_nodes_are_of_one_class_the_loss_selects():
    nodes = replace(
        labelled_nodes(), validation=np.arange(3)[None], validation_labels=CLUSTERS.labels[None, :3]
    )
    found = trained(JOINT, replace(SHORT, select_by="map"), nodes=nodes)
    assert found.epochs[0] == found.history["validation_loss"][:, 0].argmin() + 1


# what labels reach


def test_changing_test_labels_changes_nothing_at_all(tmp_path):
    labels = CLUSTERS.labels.copy()
    labels[SPLIT.test] = (labels[SPLIT.test] + 1) % 3
    files = []
    for number, own in enumerate((CLUSTERS.labels, labels)):
        model = fitted(graph=replace(CLUSTERS, labels=own), nodes=labelled_nodes(labels=own))
        files.append(model.save(tmp_path / f"{number}.safetensors").read_bytes())
    assert files[0] == files[1]


def test_changing_validation_labels_changes_no_trained_weight_only_the_kept_epoch():
    nodes = labelled_nodes()
    turned = replace(nodes, validation_labels=(nodes.validation_labels + 1) % 3)
    last = replace(SHORT, selection="last")
    weights, other_weights = (trained(JOINT, last, nodes=one).parameters for one in (nodes, turned))
    assert all(torch.equal(value, other_weights[name]) for name, value in weights.items())
    kept, other = trained(JOINT, nodes=nodes), trained(JOINT, nodes=turned)
    for name in ("loss", "hop_weights"):
        assert np.array_equal(kept.history[name], other.history[name])
    assert kept.epochs != other.epochs


def test_validation_and_test_labels_never_reach_the_losses():
    """Labels of −1 outside the training nodes would show in any loss they touched."""
    labels = np.full_like(CLUSTERS.labels, -1)
    labels[SPLIT.train] = CLUSTERS.labels[SPLIT.train]
    hidden = LabelledNodes.without_validation(SPLIT.train, labels[SPLIT.train])
    last = replace(SHORT, selection="last")
    blind, seeing = trained(JOINT, last, nodes=hidden), trained(JOINT, last)
    assert np.array_equal(blind.history["loss"], seeing.history["loss"])


def test_the_best_epoch_needs_validation_nodes():
    none = replace(labelled_nodes(), validation=NO_NODES, validation_labels=NO_NODES)
    with refused("missing", setting="selection"):
        trained(JOINT, nodes=none)


# replicas


@pytest.mark.parametrize("select_by", ["accuracy", "map"])
def test_replicas_with_their_own_nodes_and_settings_equal_runs_made_alone(select_by):
    seeds = (0, 1, 2)
    of_training = {
        "learning_rate": (0.01, 0.03, 0.002), "weight_decay": (0.0, 1e-3, 5e-4), "dropout": (0.0, 0.5, 0.8),
    }  # fmt: skip
    of_loss = {"kernel_weight": (0.0, 1.0, 0.1), "margin": (0.1, 0.5, 1.0)}

    def model(seeds, i=slice(None)):
        method = JOINT.changed(by_part(**{name: values[i] for name, values in of_loss.items()}))
        own = {name: values[i] for name, values in of_training.items()}
        nodes = labelled_nodes(split_seeds=seeds)
        return fitted(method, replace(SHORT, select_by=select_by, **own), seeds=seeds, nodes=nodes)

    together = model(seeds)
    for i, seed in enumerate(seeds):
        alone = model((seed,), i)
        assert together.kept_epochs[i] == alone.kept_epochs[0]
        found, expected = (one.on(CLUSTERS).probabilities() for one in (together, alone))
        assert np.abs(found[i] - expected[0]).max() < 1e-8


# explicit and factored hop operators
