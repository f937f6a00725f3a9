"""Calibration figures against what they mean: loops, all outcomes of a few draws, scikit-learn."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from kernode.metrics.calibration import (
    BINS,
    THRESHOLDS,
    brier,
    calibration_error,
    coverage,
    error_by_chance,
    negative_log_likelihood,
    reliability,
)

answers = st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=80)


def as_arrays(pairs):
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


def rows(draw_seed, m, c):
    random = np.random.default_rng(draw_seed)
    return random.dirichlet(np.ones(c), m), random.integers(0, c, m)


@given(answers)
def test_error_is_the_weighted_gap_of_the_bins(pairs):
    confidence, right = as_arrays(pairs)
    bins = reliability(confidence, right)
    expected = sum(one["nodes"] * abs(one["confidence"] - one["accuracy"]) for one in bins) / len(pairs)
    assert calibration_error(confidence, right) == pytest.approx(expected, abs=1e-3)
    assert sum(one["nodes"] for one in bins) == len(pairs)
    assert [one["confidence"] for one in bins] == sorted(one["confidence"] for one in bins)


def test_bins_hold_equally_many_nodes_and_equal_confidences_share_one():
    many = np.linspace(0.2, 1, 20 * BINS)
    assert {one["nodes"] for one in reliability(many, many > 0)} == {20}
    crowded = np.concatenate([np.ones(900), np.linspace(0.3, 0.9, 100)])
    assert reliability(crowded, crowded > 0)[-1]["nodes"] >= 900


def test_no_error_where_bins_are_right_as_often_as_they_claim():
    confidence = np.repeat([0.5, 0.75, 1.0], [2, 4, 3])
    right = np.array([1, 0, 1, 1, 1, 0, 1, 1, 1], bool)
    assert calibration_error(confidence, right) == 0
    assert calibration_error(confidence, ~right) == pytest.approx(100 * (0 + 4 * 0.5 + 3) / 9)


@pytest.mark.parametrize("confidence", [[0.9, 0.9, 0.6, 0.6, 0.6], [0.7] * 6, [0.2, 0.5, 0.8]])
def test_chance_is_the_mean_over_all_outcomes(confidence):
    confidence = np.array(confidence)
    errors, weights = [], []
    for outcome in product((False, True), repeat=len(confidence)):
        right = np.array(outcome)
        errors.append(calibration_error(confidence, right))
        weights.append(np.where(right, confidence, 1 - confidence).prod())
    expected, at_most = error_by_chance(confidence[None])
    assert expected == pytest.approx(np.dot(errors, weights), rel=0.06)
    below = sum(weight for error, weight in zip(errors, weights, strict=True) if error <= at_most + 1e-9)
    assert below >= 0.93


def test_runs_on_the_same_nodes_err_together_and_on_others_average_out():
    confidence = np.tile(np.random.default_rng(1).uniform(0.5, 1, 400), (8, 1))
    mean, at_most = error_by_chance(confidence)
    own_mean, own_at_most = error_by_chance(confidence, np.arange(8 * 400).reshape(8, 400))
    assert error_by_chance(confidence[:1]) == (pytest.approx(mean), pytest.approx(at_most))
    assert own_mean == pytest.approx(mean, rel=0.05)
    assert own_at_most - own_mean < (at_most - mean) / 2
    assert error_by_chance(confidence, np.arange(400)[None]) == (mean, at_most)


def test_a_calibrated_forecaster_is_within_chance_and_an_overconfident_one_is_not():
    random = np.random.default_rng(2)
    true = random.uniform(0.5, 1, 4000)
    right = random.random(4000) < true
    assert calibration_error(true, right) < error_by_chance(true[None])[1]
    too_sure = true**0.3
    assert calibration_error(too_sure, right) > 2 * error_by_chance(too_sure[None])[1]


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 6))
def test_brier_and_likelihood_are_those_of_loops_and_of_scikit_learn(seed, m, c):
    p, y = rows(seed, m, c)
    assert brier(p, y) == pytest.approx(np.mean(((p - np.eye(c)[y]) ** 2).sum(axis=1)), abs=1e-9)
    assert negative_log_likelihood(p, y) == pytest.approx(log_loss(y, p, labels=range(c)), rel=1e-6)


def test_a_class_that_no_probability_is_for():
    p = np.array([[0.6, 0.4], [0.6, 0.4]])
    for other in (-1, 2):
        assert brier(p, np.array([0, other])) == pytest.approx((0.32 + 1.52) / 2)
        assert negative_log_likelihood(p, np.array([0, other])) == pytest.approx(-np.log(0.6))
    assert negative_log_likelihood(p, np.array([-1, -1])) is None


@given(answers)
def test_coverage_counts_who_is_sure(pairs):
    found = coverage(*as_arrays(pairs))
    assert [one["threshold"] for one in found] == list(THRESHOLDS)
    for one in found:
        sure = [right for confidence, right in pairs if confidence >= one["threshold"]]
        assert one["answered"] == pytest.approx(100 * len(sure) / len(pairs), abs=1e-3)
        assert one["accuracy"] == (pytest.approx(100 * np.mean(sure), abs=1e-3) if sure else None)
