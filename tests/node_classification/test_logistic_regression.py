"""Logistic regression against scikit-learn's."""

import numpy as np
import pytest
from kernode.node_classification.logistic_regression import classify, fit_logistic
from scipy import sparse
from sklearn.linear_model import LogisticRegression


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda x: x.astype(np.float32)])
@pytest.mark.parametrize("inverse_penalty", [1.0, 0.01])
def test_weights_and_answers_are_scikit_learns(classes, form, inverse_penalty):
    random = np.random.default_rng(classes)
    labels = random.integers(0, classes, 60)
    x = form(random.normal(size=(60, 5)) + np.eye(5)[labels])
    weights = fit_logistic(x, labels, inverse_penalty)
    expected = LogisticRegression(C=inverse_penalty, tol=1e-8, max_iter=1000).fit(x, labels)
    if classes == 2:  # scikit-learn has the difference alone
        np.testing.assert_allclose(weights[:-1, 1] - weights[:-1, 0], expected.coef_[0], atol=2e-3)
    else:
        np.testing.assert_allclose(weights[:-1].T, expected.coef_, atol=2e-3)
    assert (classify(x, weights) == expected.predict(x)).mean() > 0.98


def test_a_class_that_nobody_has_is_never_answered():
    x = np.eye(4)
    weights = fit_logistic(x, np.array([0, 0, 3, 3]), 1.0)
    assert weights.shape == (5, 4)
    assert classify(x, weights).tolist() == [0, 0, 3, 3]


def test_words_that_are_integers_are_features_too():
    x = sparse.csr_array(np.array([[1, 0], [2, 0], [0, 1], [0, 3]]))
    assert classify(x, fit_logistic(x, np.array([1, 1, 0, 0]), 100.0)).tolist() == [1, 1, 0, 0]


def test_one_feature_alone_is_penalised_as_well():
    random = np.random.default_rng(0)
    x = random.normal(size=(30, 1))
    labels = (x[:, 0] + random.normal(size=30) > 0).astype(int) + (x[:, 0] > 1)
    expected = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000).fit(x, labels)
    np.testing.assert_allclose(fit_logistic(x, labels, 0.1)[:-1].T, expected.coef_, atol=2e-3)
