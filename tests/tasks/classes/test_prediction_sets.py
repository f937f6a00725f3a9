"""Prediction sets: coverage where nodes are exchangeable, never empty, kept in files, folds and replicas."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from golden.cases import DATA, HERE
from graphs import CLUSTERS, rare_graph
from kernode.errors import KernodeWarning
from kernode.io.node_split import random_split
from kernode.tasks.classes.calibration import Calibration, Tempering, fit_calibration
from kernode.tasks.classes.prediction_sets import in_sets, least_probability, prediction_sets, sets_report
from kernode.tasks.classes.threshold import Threshold
from refusals import refused

SPLIT = random_split(CLUSTERS.labels, (0.4, 0.2, 0.4), 0)
LABELS = CLUSTERS.labels[SPLIT.train]


def fitted(**settings):
    chosen = {"variant": "k3", "epochs": 10, "device": "cpu", **settings}
    model = kn.NodeKernelClassifier(**chosen)
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)


def drawn(m, seed, c=4):
    """Probabilities that are not calibrated, and classes: pairs that are exchangeable."""
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.full(c, 0.4), m)
    return p, (Tempering(1.7, 0.05)(p).cumsum(axis=1) > random.random(m)[:, None]).argmax(axis=1)


def model_of(calibration=None, c=4, threshold=None):
    """What prediction sets need of a model."""
    model = fitted(epochs=1).model_
    return replace(model, classes=tuple("abcdefgh"[:c]), calibration=calibration, threshold=threshold)


@pytest.fixture(scope="module")
def model():
    return fitted(replicas=3)


FOUR = model_of()


# The guarantee


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("m", [19, 60])
def test_over_many_draws_the_coverage_is_exact(coverage, m):
    """With fixed probabilities, without the class that is always there: ⌈(m + 1) · coverage⌉ / (m + 1)."""
    covered = []
    for seed in range(1500):
        p, truth = drawn(m + 1, seed)
        own = np.take_along_axis(p, truth[:, None], axis=1)[:, 0]
        held_out = Calibration((), Tempering(), m, tuple(np.sort(own[:m]).tolist()))
        covered.append(own[m] >= least_probability(held_out, coverage))
    exactly = np.ceil((m + 1) * coverage - 1e-9) / (m + 1)
    assert np.mean(covered) == pytest.approx(exactly, abs=3 * np.sqrt(exactly * (1 - exactly) / 1500))
    assert exactly >= coverage


def test_calibrated_sets_cover_what_chance_allows_in_nearly_all_draws():
    within = 0
    for seed in range(60):
        p, truth = drawn(1300, seed)
        calibration = fit_calibration(p[None, :300], truth[None, :300], 300)
        one = replace(FOUR, calibration=calibration)
        report = sets_report(one, p[None, 300:], np.arange(1000)[None], truth[None, 300:])
        low, high = report["by_chance_95"]
        within += low <= report["covered"] <= high
        assert low < 90 < high
        assert report["held_out"] == 300
    assert 53 <= within <= 60  # 95 % of 60, within three deviations


def test_the_range_by_chance_is_that_of_simulated_draws():
    p, truth = drawn(300, 0)
    report = sets_report(
        replace(FOUR, calibration=fit_calibration(p[None, :60], truth[None, :60], 60)),
        p[None, 60:], np.arange(240)[None], truth[None, 60:],
    )  # fmt: skip
    random = np.random.default_rng(0)
    held_out, new = np.sort(random.random((4000, 60))), random.random((4000, 240))
    covered = 100 * (new >= held_out[:, 5:6]).mean(axis=1)  # the sixth lowest: ⌊61 · 0.1⌋
    assert report["by_chance_95"] == pytest.approx(np.quantile(covered, [0.025, 0.975]), abs=1)


def test_a_class_that_is_as_probable_as_a_held_out_one_but_for_rounding_is_in_the_set():
    held_out = Calibration((), Tempering(), 9, tuple(np.linspace(1 / 3, 1, 9).round(6).tolist()))
    p = np.array([[2 / 3 + 2e-7, 1 / 3 - 2e-7], [0.667, 0.333]])
    assert in_sets(model_of(held_out, 2), p, least_probability(held_out, 0.9)).tolist() == [
        [True, True],
        [True, False],
    ]


@given(st.integers(0, 10**6), st.integers(10, 80), st.floats(0.02, 0.97), st.floats(0, 0.03))
def test_sets_are_never_empty_and_grow_with_the_coverage(seed, m, coverage, more):
    p, truth = drawn(m + 30, seed)
    calibration = fit_calibration(p[None, :m], truth[None, :m], m)
    one, new = replace(FOUR, calibration=calibration), calibration.together(p[m:])
    small, large = (
        in_sets(one, new, least_probability(calibration, share)) for share in (coverage, coverage + more)
    )
    assert small[np.arange(30), new.argmax(axis=1)].all()
    assert (small <= large).all()


def test_a_held_out_class_that_no_training_node_has_is_in_no_set():
    p, truth = drawn(40, 0)
    truth[:8] = -1
    calibration = fit_calibration(p[None], truth[None], 40)
    assert calibration.true_probabilities[:8] == (0.0,) * 8
    assert calibration.true_probabilities[8] > 0
    assert least_probability(calibration, 0.9) == 0.0  # 20 % of such nodes: even all classes are too few
    report = sets_report(
        model_of(calibration), p[None], np.arange(40)[None], np.where(truth < 0, 4, truth)[None]
    )
    assert report["covered"] == 80
    assert report["mean_size"] == 4


def test_with_too_few_held_out_nodes_every_set_has_all_classes_and_a_warning_says_so():
    p, truth = drawn(20, 1)
    one = model_of(fit_calibration(p[None], truth[None], 20))
    with pytest.warns(
        KernodeWarning, match="a coverage of 0.99 takes 99 held-out nodes, and this model had 20"
    ):
        found = prediction_sets(one, p, 0.99)
    assert {frozenset(row) for row in found} == {frozenset("abcd")}
    few = replace(one, calibration=fit_calibration(p[None, :5], truth[None, :5], 5))
    assert sets_report(few, p[None], np.arange(20)[None], truth[None])["by_chance_95"] == [100, 100]


def test_replicas_with_nodes_of_their_own_count_each_node_once():
    p, truth = drawn(300, 2)
    rows, classes = p.reshape(3, 100, 4), truth.reshape(3, 100)
    calibration = fit_calibration(rows, classes, 150)
    expected = np.sort(np.take_along_axis(calibration.together(p), truth[:, None], axis=1)[:, 0])
    assert calibration.true_probabilities == tuple(expected.round(6).tolist())
    assert calibration.for_sets == 150
    assert least_probability(calibration, 0.9) == calibration.true_probabilities[15 * 300 // 150 - 1]
    own = sets_report(model_of(calibration), rows, np.arange(300).reshape(3, 100), classes)
    alone = sets_report(model_of(calibration), p[None], np.arange(300)[None], truth[None])
    assert (own["covered"], own["mean_size"]) == (alone["covered"], alone["mean_size"])


def test_at_most_2000_numbers_are_kept():
    p, truth = drawn(5000, 3)
    found = fit_calibration(p[None], truth[None], 5000)
    assert len(found.true_probabilities) == found.for_sets == 1667
    assert found.true_probabilities == tuple(sorted(found.true_probabilities))


def test_with_a_threshold_the_class_that_predict_gives_is_in_the_set():
    p = np.array([[0.7, 0.3], [0.95, 0.05]])
    held_out = Calibration((), Tempering(), 9, tuple(np.linspace(0.6, 0.9, 9)))
    rare = model_of(held_out, 2, Threshold("f1", 1, 0.2))
    assert prediction_sets(rare, p, 0.9) == [["a", "b"], ["a"]]


# Models


def test_sets_of_a_model_are_sorted_classes_and_a_node_alone_gives_one(model):
    nodes, p = SPLIT.test, model.predict_proba(SPLIT.test)
    found = model.predict_set(nodes, coverage=0.95)
    least = least_probability(model.model_.calibration, 0.95)
    for one, row in zip(found, p, strict=True):
        by_hand = [k for k in np.argsort(-row) if row[k] >= least - 1e-6 or k == row.argmax()]
        assert one == by_hand
        assert all(type(name) is int for name in one)
    assert model.predict_set(int(nodes[0]), coverage=0.95) == found[0]
    assert model.predict_set([int(nodes[0])], coverage=0.95) == found[:1]
    assert model.predict_set([]) == []


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, np.nan, "0.9", True, None])
def test_a_coverage_outside_of_0_and_1_is_refused(model, coverage):
    with refused("setting", setting="coverage"):
        model.predict_set([0], coverage)


def test_a_file_keeps_the_sets(model, tmp_path):
    again = kn.load_model(model.save(tmp_path / "m.safetensors"), graph=CLUSTERS)
    assert again.model_.calibration == model.model_.calibration
    for coverage in (0.5, 0.9, 0.95):
        assert again.predict_set(SPLIT.test, coverage) == model.predict_set(SPLIT.test, coverage)


@pytest.mark.parametrize("path", ["0.1.0/k3.safetensors", "0.2.0/sage.safetensors"])
def test_a_file_of_an_earlier_version_says_to_train_again(path):
    graph, _ = kn.load(DATA, split="0.5/0.25/0.25", seed=2)
    old = kn.load_model(HERE / path, graph=graph)
    with refused("unsupported", setting="coverage") as error:
        old.predict_set([0])
    assert "Train it again with validation nodes." in str(error.value)


def test_a_report_has_the_sets_of_all_replicas_together(model):
    truth = CLUSTERS.labels[SPLIT.test]
    report = model.report(SPLIT.test, truth)
    found, sets = report["sets"], model.predict_set(SPLIT.test)
    covered = [one in names for one, names in zip(truth, sets, strict=True)]
    assert found["covered"] == pytest.approx(100 * np.mean(covered), abs=1e-3)
    assert found["mean_size"] == pytest.approx(np.mean([*map(len, sets)]), abs=1e-3)
    assert found["single"] == pytest.approx(100 * np.mean([len(one) == 1 for one in sets]), abs=1e-3)
    assert found["held_out"] == len(SPLIT.validation)
    low, high = found["by_chance_95"]
    line = (
        f"90 % sets            cover {found['covered']:.1f} % (chance: {low:.1f} to {high:.1f} %), "
        f"{found['mean_size']:.2f} classes each"
    )
    assert line in str(report).splitlines()
    json.dumps(report.to_json())


def test_a_model_without_held_out_nodes_has_no_sets():
    plain = kn.NodeKernelClassifier("label-propagation", device="cpu")
    plain.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    report = plain.report(SPLIT.test, CLUSTERS.labels[SPLIT.test])
    assert report["sets"] is None
    assert "% sets" not in str(report)
    with refused("unsupported", setting="coverage"):
        plain.predict_set([0])


def test_one_of_several_replicas_has_no_sets_as_they_are_of_the_mean(model):
    every, one = (model.model_.of_replicas(rows).calibration for rows in ([0, 1, 2], [1]))
    assert every == model.model_.calibration
    assert one.true_probabilities == ()


@pytest.mark.parametrize("variant", ["k3-tuned", "instant", "auto"])
def test_without_validation_nodes_folds_or_left_out_scores_make_the_sets(variant):
    short = {} if variant == "instant" else {"epochs": 10}
    model = kn.NodeKernelClassifier(variant, device="cpu", replicas=2, **short)
    model.fit(SPLIT.train, LABELS, graph=CLUSTERS)
    assert model.model_.calibration.for_sets > 0.9 * len(SPLIT.train)
    again = model.refit()
    for one in (model, again):
        assert all(one.predict_set(SPLIT.test))
    if variant != "instant":  # which has scores of its own of all labels
        assert again.model_.calibration.true_probabilities == model.model_.calibration.true_probabilities


# Nodes held out for it


def test_nodes_held_out_calibrate_a_model_with_labels_that_were_added_later():
    later = fitted(variant="k1").add_labels(SPLIT.validation[:2], [7, 7])
    with refused("unsupported", setting="coverage"):
        later.predict_set([0])
    half, other = SPLIT.test[::2], SPLIT.test[1::2]
    found = later.calibrate(half, CLUSTERS.labels[half])
    assert later.model_.calibration is None
    assert found.model_.calibration.nodes == found.model_.calibration.for_sets == len(half)
    assert np.array_equal(found.predict(other), later.predict(other))
    assert found.report(other, CLUSTERS.labels[other])["sets"]["held_out"] == len(half)
    assert np.array_equal(found.kernel_.gram([0, 1]), later.kernel_.gram([0, 1]))


def test_held_out_nodes_of_a_class_that_the_model_does_not_know_are_in_no_set():
    two = SPLIT.train[LABELS < 2]
    model = kn.NodeKernelClassifier("instant", device="cpu").fit(two, CLUSTERS.labels[two], graph=CLUSTERS)
    found = model.calibrate(SPLIT.test, CLUSTERS.labels[SPLIT.test]).model_.calibration
    assert found.true_probabilities.count(0) == (CLUSTERS.labels[SPLIT.test] == 2).sum() > 5


def test_calibrating_keeps_the_report_of_the_split():
    whole = kn.NodeKernelClassifier("k3", epochs=5, device="cpu").fit(graph=CLUSTERS, split=SPLIT)
    half = SPLIT.test[::2]
    found = whole.calibrate(half, CLUSTERS.labels[half]).report()
    assert found["test"]["sets"]["held_out"] == len(half)
    assert found["test"]["accuracy_mean"] == whole.report()["test"]["accuracy_mean"]


def test_a_model_that_decides_by_a_threshold_on_its_probabilities_is_not_calibrated_anew():
    graph = rare_graph()
    model = kn.NodeKernelClassifier("k3", epochs=5, threshold="f1", device="cpu").fit(graph=graph)
    nodes = kn.positions(range(graph.n_nodes))
    assert all(
        one in names for one, names in zip(model.predict(nodes), model.predict_set(nodes), strict=True)
    )
    with refused("unsupported"):
        model.calibrate(nodes, graph.labels)


def test_nodes_that_trained_or_are_too_few_do_not_calibrate(model):
    with refused("conflict", setting="X"):
        model.calibrate(SPLIT.train, LABELS)
    with refused("too-few", setting="X"):
        model.calibrate(SPLIT.test[:9], CLUSTERS.labels[SPLIT.test[:9]])
    with pytest.warns(KernodeWarning, match="validated the model"):
        model.calibrate(SPLIT.validation, CLUSTERS.labels[SPLIT.validation])
