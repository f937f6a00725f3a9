"""Calibrated probabilities: the best fit, the same classes, kept in files, folds and replicas."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import kernode as kn
from graphs import CLUSTERS
from kernode.errors import KernodeWarning
from kernode.io.node_split import random_split
from kernode.metrics.calibration import calibration_error, error_by_chance
from kernode.tasks.classes.calibration import Tempering, fit_calibration, fit_tempering
from kernode.tasks.classes.evaluation import calibration_lines, calibration_report
from kernode.tasks.classes.model import NodeModel

SPLIT = random_split(CLUSTERS.labels, (0.4, 0.2, 0.4), 0)
LABELS = CLUSTERS.labels[SPLIT.train]


def fitted(**settings):
    chosen = {"variant": "k3", "epochs": 20, "replicas": 3, "device": "cpu", **settings}
    model = kn.NodeKernelClassifier(**chosen)
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)


def softmax(scores):
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def made_up(temperature, floor, m=4000, c=4, seed=0):
    """Scores, and classes drawn from what their tempering says."""
    random = np.random.default_rng(seed)
    p = softmax(3 * random.standard_normal((m, c)))
    calibrated = Tempering(temperature, floor)(p)
    return p, (calibrated.cumsum(axis=1) > random.random(m)[:, None]).argmax(axis=1)


@given(st.floats(0.02, 50), st.floats(0, 0.5), st.integers(0, 10**6))
def test_a_tempering_keeps_every_order_and_sums_to_one(temperature, floor, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(5), 20).astype(np.float32)
    calibrated = Tempering(temperature, floor)(p)
    assert np.allclose(calibrated.sum(axis=1), 1)
    assert (calibrated.argmax(axis=1) == p.argmax(axis=1)).all()
    assert (np.diff(np.take_along_axis(calibrated, p.argsort(axis=1), 1), axis=1) >= 0).all()


@pytest.mark.parametrize(("temperature", "floor"), [(0.3, 0.01), (1.0, 0.05), (2.5, 0.02), (0.05, 0.1)])
def test_the_tempering_that_classes_were_drawn_from_is_found(temperature, floor):
    p, truth = made_up(temperature, floor)
    found = fit_tempering(p, truth)
    assert found.temperature == pytest.approx(temperature, rel=0.15)
    assert found.floor == pytest.approx(floor, abs=0.02)
    calibrated = found(p)
    right = calibrated.argmax(axis=1) == truth
    assert calibration_error(calibrated.max(axis=1), right) < error_by_chance(calibrated.max(axis=1)[None])[1]


def test_no_other_search_finds_a_better_one():
    random = np.random.default_rng(3)
    p, truth = softmax(2 * random.standard_normal((150, 3))), random.integers(-1, 3, 150)
    p[np.arange(150), np.maximum(truth, 0)] += 0.5 * random.random(150)
    p /= p.sum(axis=1, keepdims=True)

    def loss(at):
        floor = 1 / 152 + (0.5 - 1 / 152) / (1 + np.exp(-at[1]))
        calibrated = Tempering(np.exp(at[0]), floor)(p)
        own = np.where(truth < 0, floor / 3, calibrated[np.arange(150), np.maximum(truth, 0)])
        top = calibrated.max(axis=1)
        confident = np.where(calibrated.argmax(axis=1) == truth, top, 1 - top)
        return -np.log(own).sum() - np.log(confident).sum() + at[0] ** 2 / 2

    found = fit_tempering(p, truth)
    best = min(minimize(loss, start, method="Nelder-Mead").fun for start in ((0, 0), (1, -2), (-1, 2)))
    share = (found.floor - 1 / 152) / (0.5 - 1 / 152)
    share = np.clip(share, 1e-9, 1 - 1e-9)
    assert loss((np.log(found.temperature), np.log(share / (1 - share)))) <= best + 1e-3


def test_runs_with_nodes_of_their_own_are_fitted_together_where_each_has_few():
    pairs = [made_up(0.5, 0.02, m=8, seed=seed) for seed in range(5)]
    p, truth = (np.stack(values) for values in zip(*pairs, strict=True))
    found = fit_calibration(p, truth, 40)
    assert found.runs == (found.together,) * 5
    assert found.together == fit_tempering(p.reshape(40, 4), truth.ravel())


@pytest.mark.parametrize("variant", ["k1", "k3"])
def test_predict_is_what_it_was_and_agrees_with_the_probabilities(variant):
    model = fitted(variant=variant)
    mean = model.model_.on(CLUSTERS).probabilities(SPLIT.test).mean(axis=0)
    calibrated = model.predict_proba(SPLIT.test)
    assert not np.allclose(calibrated, mean, atol=1e-3)
    assert np.array_equal(model.predict(SPLIT.test), mean.argmax(axis=1))
    assert np.array_equal(calibrated.argmax(axis=1), mean.argmax(axis=1))
    assert calibrated.max() > 0.8  # nearest centroids are never so sure by themselves


def test_a_file_keeps_the_calibration_and_one_without_answers_as_before(tmp_path):
    model = fitted()
    again = kn.load_model(model.save(tmp_path / "new.safetensors"), graph=CLUSTERS)
    assert again.model_.calibration == model.model_.calibration
    assert np.array_equal(again.predict_proba(SPLIT.test), model.predict_proba(SPLIT.test))
    path = replace(model.model_, calibration=None).save(tmp_path / "old.safetensors")
    assert NodeModel.load(path).calibration is None
    old = kn.load_model(path, graph=CLUSTERS)
    as_trained = model.model_.on(CLUSTERS).probabilities(SPLIT.test).mean(axis=0)
    assert np.array_equal(old.predict_proba(SPLIT.test), as_trained)
    assert old.predict_proba(SPLIT.test).dtype == as_trained.dtype


def test_a_replica_alone_has_the_calibration_that_it_would_have_had():
    three, last = (
        fitted(training={"precision": 64}, **one) for one in ({}, {"replicas": 1, "random_state": 2})
    )
    one = three.model_.of_replicas([2]).calibration
    assert one.together == one.runs[0] == three.model_.calibration.runs[2]
    assert one.together.temperature == pytest.approx(last.model_.calibration.together.temperature, rel=1e-3)
    assert three.model_.of_replicas([0, 1]).calibration.together == three.model_.calibration.together


def test_without_validation_nodes_the_folds_calibrate():
    model = kn.NodeKernelClassifier("k3-tuned", epochs=20, replicas=2, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=CLUSTERS)
    found = model.model_.calibration
    assert found.nodes > 0.9 * len(SPLIT.train)
    assert found.runs == (found.together,) * 2


@pytest.mark.parametrize("variant", ["label-propagation", "k3"])
def test_without_held_out_nodes_probabilities_stay_as_they_were_trained(variant):
    if variant == "k3":
        model = kn.NodeKernelClassifier(variant, training={"selection": "last", "epochs": 5}, device="cpu")
        model.fit(SPLIT.train, LABELS, graph=CLUSTERS)
    else:
        model = kn.NodeKernelClassifier(variant, device="cpu")
        model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    assert model.model_.calibration is None
    with pytest.warns(KernodeWarning, match="as they were trained"):
        model.predict(SPLIT.test, abstain=0.5)
    found = model.report(SPLIT.test, CLUSTERS.labels[SPLIT.test])
    assert found["calibration"]["calibrated_on"] == 0
    assert "probabilities are not calibrated" in str(found)


@pytest.mark.parametrize(("count", "calibrated"), [(9, False), (10, True)])
def test_nine_nodes_are_too_few(count, calibrated):
    model = kn.NodeKernelClassifier("k3", epochs=5, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation[:count])
    assert (model.model_.calibration is not None) == calibrated


def test_abstaining_gives_none_below_the_threshold_and_the_same_class_above():
    model = fitted(variant="k1", epochs=3)
    calibrated, answers = model.predict_proba(SPLIT.test).max(axis=1), model.predict(SPLIT.test)
    threshold = np.sort(calibrated)[len(calibrated) // 2]  # at it there is an answer
    found = model.predict(SPLIT.test, abstain=threshold)
    assert found.dtype == object
    assert [one is None for one in found] == (calibrated < threshold).tolist()
    assert 0 < sum(one is None for one in found) < len(found)
    assert all(a == b for a, b in zip(found, answers, strict=True) if a is not None)
    assert np.array_equal(model.predict(SPLIT.test, abstain=1e-9), answers)


def test_scaling_lowers_the_error_of_probabilities_that_were_too_sure():
    p, truth = made_up(3.0, 0.01, m=2000)
    calibration = fit_calibration(p[None, :1000], truth[None, :1000], 1000)
    found = calibration_report(calibration, p[None, 1000:], np.arange(1000)[None], truth[None, 1000:])
    assert found["error_mean"] < found["by_chance_at_most"] < 10 < 20 < found["error_uncalibrated"]
    (_, error), (name, sure) = calibration_lines(found, runs=1)
    assert "±" not in error
    assert (name, sure.split(",")[0]) == (
        "at least 90 % sure",
        f"{found['coverage'][2]['answered']:.1f} % of the nodes",
    )


@pytest.mark.parametrize("m", [8, 100])
def test_nobody_is_surer_than_so_many_right_answers_can_show(m):
    found = fit_tempering(np.tile([0.98, 0.01, 0.01], (m, 1)), np.zeros(m, int))
    assert found.floor == pytest.approx(1 / (m + 2), rel=0.01)
