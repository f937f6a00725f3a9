"""Paired tests against scipy's, their level over overlapping splits, and Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kernode.metrics.significance import holm, paired


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=30).filter(lambda d: np.std(d) > 0.01))
def test_without_overlap_the_test_is_students(values):
    ours, theirs = paired(values, test_to_train=0.0), stats.ttest_1samp(values, 0.0)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)
    low, high = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-7)


def test_correction_holds_its_level_where_students_does_not():
    """Means of overlapping resamples of the same numbers: no difference is there to be found."""
    random, naive, corrected = np.random.default_rng(0), 0, 0
    for _ in range(300):
        numbers = random.normal(size=100)  # a node's difference between two equal methods
        resamples = [numbers[random.permutation(100)[:25]].mean() for _ in range(20)]
        naive += paired(resamples, 0.0).p < 0.05
        corrected += paired(resamples, 1 / 3).p < 0.05
    assert naive > 60
    assert corrected < 30


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_nothing_and_bonferroni(p_values):
    corrected = holm(p_values)
    assert all(c >= min(1, p) - 1e-9 for p, c in zip(p_values, corrected, strict=True))
    assert min(corrected) == pytest.approx(min(1, len(p_values) * min(p_values)), abs=1e-9)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= 0).all()
