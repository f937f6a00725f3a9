"""A handful of labels, a single test node: what spoils a figure is said beside it."""

import numpy as np
import pytest

import kernode as kn


def write(workspace, labels, n=12):
    """Two cliques of n / 2 people, of whom some have told their team."""
    half = n // 2
    pairs = [(i, j) for i in range(n) for j in range(i) if (i < half) == (j < half)]
    workspace.table("edges.csv", ("source", "target"), pairs)
    rows = [(i, "tea drinker" if i < half else "likes coffee", labels.get(i, "")) for i in range(n)]
    workspace.table("people.csv", ("id", "about", "team"), rows)


FIT = "fit edges.csv --nodes people.csv --label team --epochs 30 --replicas 1"


def test_six_labels_all_train_and_no_figure_is_made_up(workspace):
    """Six labels, split 4/1/1, gave "test accuracy 0.00 %", on one node."""
    write(workspace, {0: "A", 1: "A", 2: "A", 9: "B", 10: "B", 11: "B"})
    answer = workspace.kernode(f"{FIT} --predictions out.csv")
    assert "none: no node was kept for a test" in answer.out
    assert "6 nodes with a class are too few to keep some for a test" in answer.err
    assert [*workspace.classes("out.csv").values()] == ["A"] * 6 + ["B"] * 6


def test_a_node_without_a_class_never_trains_a_class_called_minus_one():
    """All nodes and all labels are passed, −1 among them."""
    graph = kn.Graph.from_edges([(0, 1), (1, 2)], np.eye(3), [0, 1, -1])
    with pytest.raises(kn.InputError, match="node 2 has no label: keep it out of the training nodes"):
        kn.NodeKernelClassifier().fit(range(3), graph.labels, graph=graph)


def test_a_node_with_two_classes_is_refused():
    """A frame has one person twice, in two teams."""
    graph = kn.Graph.from_edges([(0, 1), (1, 2)], np.eye(3))
    with pytest.raises(kn.InputError, match="node 1 is given two classes, 'A' and 'B'"):
        kn.NodeKernelClassifier().fit([0, 1, 1], ["A", "A", "B"], graph=graph)
