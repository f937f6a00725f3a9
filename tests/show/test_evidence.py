"""What pictures and the report know of a model: which nodes were tested, and what was answered about them."""

from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from kernode.errors import InputError, KernodeWarning
from kernode.io import Split, split_nodes
from kernode.node_classification.experiment import fit_all_labels, run_variant
from kernode.node_classification.model import Model
from kernode.node_classification.summary import summary
from kernode.show.evidence import Evidence
from kernode.show.node_parts import OTHER, TEST, TRAIN, VALIDATION, NodeParts
from kernode.training.run import Run
from tasks import DOUBLE


def without_lists(on):
    """The model as files of before had it: without the nodes that validated and were tested."""
    return replace(on, model=replace(on.model, validation=None, tested=None))


def test_a_model_file_says_who_validated_and_who_was_tested(own_splits, clusters, tmp_path):
    read = Model.load(own_splits.model.save(tmp_path / "model.safetensors"))
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


def test_the_split_of_an_old_file_is_made_again_by_its_name(own_splits):
    old, new = (NodeParts.of(on) for on in (without_lists(own_splits), own_splits))
    assert np.array_equal(old.test, new.test)
    assert np.array_equal(old.validation, new.validation)


def test_a_split_that_does_not_come_out_again_is_not_guessed(own_splits, clusters):
    hidden = clusters.labels.copy()
    hidden[:9] = -1  # a fingerprint has no labels in it, and a split is made of them
    other = replace(clusters, labels=hidden)
    parts = NodeParts.of(replace(without_lists(own_splits), graph=other))
    assert parts.test is None
    assert parts.validation is None
    assert "does not say which nodes" in parts.without_test


def test_a_split_file_is_known_by_the_lists_in_the_model(clusters, tmp_path):
    split = Split(range(40), range(40, 60), range(60, 90))
    path = tmp_path / "own.npz"
    np.savez(path, train=split.train, validation=split.validation, test=split.test)
    on = run_variant(clusters, "k3", Run((0,), DOUBLE), split=str(path), changes={"epochs": 3}).on
    assert NodeParts.of(on).test.tolist() == [list(range(60, 90))]
    assert NodeParts.of(without_lists(on)).test is None


def test_who_taught_the_model_since_is_no_test_node(own_splits, clusters):
    again = fit_all_labels(clusters, own_splits.model, Run((0, 1), DOUBLE))
    assert dict(summary(again.model))["trained on"] == "90 nodes: all that have a class"
    evidence = Evidence.of(again)
    with pytest.raises(InputError, match="every node with a known class taught the model"):
        _ = evidence.answers
    moved = replace(own_splits.model, tested=own_splits.model.train[:, :5])
    assert "have taught the model since" in NodeParts.of(replace(own_splits, model=moved)).without_test


def test_another_graph_has_no_test_nodes(own_splits, clusters):
    other = kn.Graph.from_edges([(0, 1), (1, 2)], clusters.features[:3], clusters.labels[:3], name="other")
    evidence = Evidence.of(own_splits.model.on(other))
    assert evidence.parts.without_test == ("'other' is not 'clusters', the graph that the model learned from")
    assert evidence.known.tolist() == clusters.labels[:3].tolist()


def test_answers_equal_a_slow_count(own_splits, clusters):
    answers = Evidence.of(own_splits).answers
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
    assert np.array_equal(answers.found, found)
    assert answers.confidence == pytest.approx(confidence, abs=1e-12)
    assert "each on test nodes of its own" in answers.of


def test_classes_may_be_the_graphs_numbers_or_another_target(clusters):
    nodes = np.arange(60)
    by_number = kn.NodeKernelClassifier("k3", epochs=3, folds=2).fit(
        nodes, clusters.labels[nodes], graph=clusters
    )
    evidence = Evidence.of(by_number._on(None))
    assert np.array_equal(evidence.known, clusters.labels)
    with pytest.raises(InputError, match="was not told of test nodes"):
        _ = evidence.tested
    other = np.array(["odd", "even"])[nodes % 2]
    model = kn.NodeKernelClassifier("k3", epochs=3, folds=2).fit(nodes, other, graph=clusters)
    evidence = Evidence.of(model._on(None))
    assert evidence.names == ("even", "odd")
    assert (evidence.known[60:] == -1).all()
    assert np.array_equal(evidence.known[:60], (nodes % 2 == 0).astype(int))


def test_given_nodes_are_judged_by_given_classes_or_the_graphs_own(clusters):
    train, test = np.arange(60), np.arange(60, 90)
    names = np.array(clusters.class_names)
    model = kn.NodeKernelClassifier("k3", epochs=10, folds=2)
    model.fit(train, names[clusters.labels[train]], graph=clusters)
    on = model._on(None)
    by_graph, by_name, by_number = (
        Evidence.of(on, test, y) for y in (None, names[clusters.labels[test]], clusters.labels[test])
    )
    expected = 100 * model.score(test, clusters.labels[test])
    for evidence in (by_graph, by_name, by_number):
        assert evidence.answers.accuracy == pytest.approx(expected)
    with pytest.warns(KernodeWarning, match="5 of the 35 nodes taught some run: the picture flatters"):
        Evidence.of(on, np.arange(55, 90))
    with pytest.raises(InputError, match="no class in y, such as 'tea'"):
        Evidence.of(on, test[:2], ["tea", "coffee"])
    with pytest.raises(InputError, match="give X, too"):
        Evidence.of(on, None, [1])


def test_figures_are_those_of_the_experiment(clusters):
    from kernode.node_classification.report import judge_outcome

    outcome = run_variant(clusters, "k3", Run((0, 1), DOUBLE), split="jk", changes={"epochs": 5})
    expected = judge_outcome(outcome)
    judged = Evidence.of(outcome.on).judged
    assert {name: judged[name] for name in expected} == expected
    assert judged["runs"] == outcome.report["test"]["runs"]
