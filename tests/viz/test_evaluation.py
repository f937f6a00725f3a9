"""Data of pictures and the report: parts of the split, predictions, scores."""

from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from kernode.errors import KernodeWarning
from kernode.io import split_nodes
from kernode.tasks.classes.labels import fit_all_labels
from kernode.tasks.classes.model import NodeModel
from kernode.training.run import Run
from kernode.viz.evaluation import OTHER, TEST, TRAIN, VALIDATION, EvaluationData, NodeParts
from refusals import refused
from tasks import DOUBLE, fit_split


def test_a_model_file_says_who_validated_and_who_was_tested(own_splits, clusters, tmp_path):
    read = NodeModel.load(own_splits.model.save(tmp_path / "model.safetensors"))
    splits = split_nodes(clusters, "jk", read.seeds)
    assert np.array_equal(read.tested, np.stack([split.test for split in splits]))
    assert np.array_equal(read.validation, np.stack([split.validation for split in splits]))
    parts = NodeParts.of(read.on(clusters))
    assert parts.own_splits
    for run, split in enumerate(splits):
        of = parts.of_nodes(90, run)
        assert np.array_equal(np.flatnonzero(of == TEST), split.test)
        assert np.array_equal(np.flatnonzero(of == VALIDATION), split.validation)
        assert np.array_equal(np.flatnonzero(of == TRAIN), split.train)
        assert not (of == OTHER).any()


def test_there_are_no_test_nodes_where_they_are_unknown_or_were_trained_on(own_splits, clusters):
    def without_test(**changes):
        on = replace(own_splits, model=replace(own_splits.model, **changes))
        assert NodeParts.of(on).test is None
        with refused("missing", setting="X"):
            _ = EvaluationData.of(on).predictions
        return NodeParts.of(on).without_test

    assert "does not list its test nodes" in without_test(tested=None, validation=None)
    assert "used for training since" in without_test(tested=own_splits.model.train[:, :5])
    again = fit_all_labels(clusters, own_splits.model, Run((0, 1), DOUBLE))
    assert NodeParts.of(again).without_test == "every labelled node is a training node"
    other = kn.Graph.from_edges([(0, 1), (1, 2)], clusters.features[:3], clusters.labels[:3], name="other")
    evaluation = EvaluationData.of(own_splits.model.on(other))
    assert "'other' is not 'clusters'" in evaluation.parts.without_test
    assert evaluation.known.tolist() == clusters.labels[:3].tolist()


def test_answers_equal_a_slow_count(own_splits, clusters):
    answers = EvaluationData.of(own_splits).predictions
    expected = []
    for run, seed in enumerate(own_splits.model.seeds):
        split = split_nodes(clusters, "jk", [seed])[0]
        alone = own_splits.of_replicas([run])
        for node in split.test:
            chance = own_splits.model.calibration.of_runs(own_splits.probabilities([node]))[run, 0]
            assert alone.probabilities([node])[0, 0].argmax() == chance.argmax()
            expected.append((clusters.labels[node], chance.argmax(), chance.max()))
    truth, found, confidence = map(np.array, zip(*expected, strict=True))
    assert np.array_equal(answers.truth, truth)
    assert np.array_equal(answers.predicted, found)
    assert answers.confidence == pytest.approx(confidence, abs=1e-12)
    assert "each on test nodes of its own" in answers.of


def test_classes_may_be_the_graphs_numbers_or_another_target(clusters):
    nodes = np.arange(60)
    by_number = kn.NodeKernelClassifier("k3", epochs=3, folds=2).fit(
        nodes, clusters.labels[nodes], graph=clusters
    )
    evaluation = EvaluationData.of(by_number._on(None))
    assert np.array_equal(evaluation.known, clusters.labels)
    with refused("missing", setting="X"):
        _ = evaluation.test_nodes
    other = np.array(["odd", "even"])[nodes % 2]
    model = kn.NodeKernelClassifier("k3", epochs=3, folds=2).fit(nodes, other, graph=clusters)
    evaluation = EvaluationData.of(model._on(None))
    assert evaluation.class_names == ("even", "odd")
    assert (evaluation.known[60:] == -1).all()
    assert np.array_equal(evaluation.known[:60], (nodes % 2 == 0).astype(int))


def test_given_nodes_are_judged_by_given_classes_or_the_graphs_own(clusters):
    train, test = np.arange(60), np.arange(60, 90)
    names = np.array(clusters.class_names)
    model = kn.NodeKernelClassifier("k3", epochs=10, folds=2)
    model.fit(train, names[clusters.labels[train]], graph=clusters)
    on = model._on(None)
    by_graph, by_name, by_number = (
        EvaluationData.of(on, test, y) for y in (None, names[clusters.labels[test]], clusters.labels[test])
    )
    expected = 100 * model.score(test, clusters.labels[test])
    for evaluation in (by_graph, by_name, by_number):
        assert evaluation.predictions.accuracy == pytest.approx(expected)
    with pytest.warns(KernodeWarning, match="5 of the 35 nodes are training nodes"):
        EvaluationData.of(on, np.arange(55, 90))
    with refused("unknown", what="class", name="tea"):
        EvaluationData.of(on, test[:2], ["tea", "coffee"])
    with refused("missing", setting="X"):
        EvaluationData.of(on, None, [1])


def test_figures_are_those_of_the_experiment(clusters):
    model = fit_split(clusters, "k3", (0, 1), "jk", epochs=5)
    expected = model.report()["test"]
    scores = EvaluationData.of(model._on(None)).scores
    del expected["baselines"], expected["similarity"]  # which know the validation nodes, and the labels
    assert {name: scores[name] for name in expected} == expected
