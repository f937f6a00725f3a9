"""Label propagation and Correct & Smooth are PyTorch Geometric's, and validation chooses their settings."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.rivals.jk import torch_geometric_nn
from graphs import CLUSTERS, clustered_graph, graphs
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.tasks.classes.propagation import (
    CorrectAndSmooth,
    LabelPropagation,
    correct,
    edge_step,
    known_labels,
    smooth,
    spread,
)
from kernode.tasks.classes.task import LabelledNodes
from kernode.training.settings import Training
from parts import METHODS
from refusals import refused
from tasks import DOUBLE, fit, labelled_nodes, node_task


def edges_of(graph):
    return torch.tensor(np.stack(graph.adjacency.nonzero()))


def known_of(graph, rows, classes=3):
    return known_labels(rows, graph.labels[rows], graph.n_nodes, classes, DOUBLE)


@given(graphs(), st.integers(1, 4))
def test_clamped_training_nodes_keep_their_labels_in_every_step(graph, steps):
    train = np.arange(0, graph.n_nodes, 2)[None]
    known = known_of(graph, train)
    a = graph.adjacency.toarray().astype(float)
    degrees = np.maximum(a.sum(axis=1), 1e-12)
    s, y = a / np.sqrt(degrees[:, None] * degrees), known[:, 0].numpy()
    expected = y
    for _ in range(steps):
        expected = 0.7 * s @ expected + 0.3 * y
        expected[train[0]] = y[train[0]]
    found = spread(edge_step(graph, DOUBLE), known, 0.7, steps, known.any(dim=2))
    np.testing.assert_allclose(found[:, 0].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("correction", "smoothing"), [(0.5, 0.8), (0.0, 0.5), (0.9, 0.0)])
def test_correct_and_smooth_equals_pygs(correction, smoothing):
    graph, train = clustered_graph(n=40), np.arange(12)
    step, known = edge_step(graph, DOUBLE), known_of(graph, train[None])
    before = torch.rand(40, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).softmax(-1)
    corrected = correct(step, before, known, correction, 6)
    smoothed = smooth(step, corrected, known, smoothing, 6)
    theirs = torch_geometric_nn().CorrectAndSmooth(6, correction, 6, smoothing, autoscale=True)
    y, mask = torch.tensor(graph.labels[train]), torch.tensor(train)
    mask = torch.zeros(40, dtype=torch.bool).index_fill(0, mask, True)
    for i in range(2):
        better = theirs.correct(before[:, i].clone(), y, mask, edges_of(graph))
        assert torch.allclose(corrected[:, i], better, atol=1e-12)
        expected = theirs.smooth(better.clone(), y, mask, edges_of(graph))
        assert torch.allclose(smoothed[:, i], expected, atol=1e-12)


@pytest.mark.parametrize("method", [METHODS["labels"], METHODS["correct"]], ids=["labels", "correct"])
def test_each_replica_has_the_setting_that_validates_best(method):
    """Against one training for each setting; a row of nodes for each replica."""
    task = node_task(seeds=(3, 4), nodes=labelled_nodes(split_seeds=(0, 1)))
    training = Training(epochs=5)
    on = fit(task, method, training)
    names = (
        ("shares", "clamped") if method is METHODS["labels"] else ("correction_shares", "smoothing_shares")
    )
    found = []
    for setting in method.settings:
        one = replace(method, **{name: (value,) for name, value in zip(names, setting, strict=True)})
        found.append(fit(task, one, training).probabilities())
    validation = task.nodes.validation
    right = np.stack(
        [
            (np.take_along_axis(each.argmax(-1), validation, 1) == task.nodes.validation_labels).mean(axis=1)
            for each in found
        ]
    )
    best = right.argmax(axis=0)
    for i in range(2):
        assert np.allclose(on.probabilities()[i], found[best[i]][i])
    history, kept = on.model.history["validation_accuracy"], on.model.kept_epochs
    assert np.allclose(history[kept - 1, [0, 1]], 100 * right.max(axis=0))


def test_a_label_that_weighs_more_goes_further():
    path = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), np.array([0, 0, 1]))
    ends = np.array([0, 2])
    nodes = LabelledNodes.without_validation(ends, path.labels[ends])
    task = node_task(path, nodes=nodes, classes=(0, 1))
    method = LabelPropagation(shares=(0.5,), clamped=(False,))
    even, uneven = (
        fit(replace(task, weights=weights), method, Training(epochs=0)).probabilities()[0, 1]
        for weights in (None, np.array([1.0, 1.0, 3.0]))
    )
    assert np.allclose(even, [0.5, 0.5])
    assert np.allclose(uneven, [0.25, 0.75])


def test_whom_no_label_reaches_gets_the_classes_shares():
    graph = Graph.from_edges([(0, 1)], np.eye(5), np.array([1, 1, 0, 0, 0]))
    train = np.array([0, 1, 2])
    nodes = LabelledNodes.without_validation(train, graph.labels[train])
    task = node_task(graph, nodes=nodes, classes=(0, 1))
    on = fit(task, LabelPropagation(shares=(0.5,), clamped=(True,)), Training(epochs=0))
    assert np.allclose(on.probabilities()[0, [2, 3]], [[1, 0], [1 / 3, 2 / 3]])


def test_without_validation_nodes_there_is_nothing_to_choose_by():
    everyone = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    for method in (LabelPropagation(), CorrectAndSmooth()):
        with refused("missing"):
            fit(node_task(nodes=everyone), method, Training(epochs=3, selection="last"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LabelPropagation(shares=()),
        lambda: LabelPropagation(shares=(1.0,)),
        lambda: LabelPropagation(clamped=()),
        lambda: LabelPropagation(steps=0),
        lambda: CorrectAndSmooth(METHODS["kernel"]),
        lambda: CorrectAndSmooth(smoothing_shares=(-0.1,)),
        lambda: CorrectAndSmooth(steps=0),
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()
