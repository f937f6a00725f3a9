"""Figures of every class against scikit-learn's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from kernode.metrics.accuracy import class_figures

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@given(st.lists(pairs, min_size=1, max_size=3))
def test_figures_are_scikit_learns_mean_over_the_runs(runs):
    truth, found = ([np.array(run)[:, i] for run in runs] for i in (0, 1))
    present = sorted({number for run in runs for pair in run for number in pair})
    expected = np.mean(
        [
            precision_recall_fscore_support(t, f, labels=present, zero_division=0)
            for t, f in zip(truth, found, strict=True)
        ],
        axis=0,
    )
    figures = class_figures(truth, found, list("abcde"))
    assert [one["class"] for one in figures["classes"]] == ["abcde"[i] for i in present]
    got = [[one[name] for one in figures["classes"]] for name in ("precision", "recall", "f1", "support")]
    np.testing.assert_allclose(got, expected * [[100], [100], [100], [1]], atol=1e-4)
    counts = [[sum(run.count((i, j)) for run in runs) for j in present] for i in present]
    assert figures["confusion"] == counts
