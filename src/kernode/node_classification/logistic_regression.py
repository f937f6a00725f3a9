"""Multinomial logistic regression as scikit-learn has it, without the second that importing that takes."""

from __future__ import annotations

from typing import Any

import numpy as np

_STEPS = 100


def fit_logistic(x: Any, labels: np.ndarray, inverse_penalty: float) -> np.ndarray:
    """Weights W and offsets b that minimise ``C Σ_i −log softmax(Wᵀ x_i + b)[y_i] + ½ ‖W‖²`` by L-BFGS.

    x: m × f, dense or sparse; labels: m numbers, of which those that occur are told apart. Returns
    (f + 1) × c with the offsets in the last row; c counts up to the largest label, and what does not occur
    has the offset −∞. At most 100 steps: near enough for a baseline.
    """
    from scipy.optimize import minimize

    x = x if x.dtype.kind == "f" else x.astype(np.float32)
    transposed = x.T
    present, y = np.unique(labels, return_inverse=True)
    (m, f), c = x.shape, len(present)
    rows = np.arange(m)
    # Of two classes scikit-learn has one column of weights, w₁ − w₀: half as long, penalised half as much.
    penalty = (2 if c == 2 else 1) / (inverse_penalty * m)

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(f + 1, c)
        scores = _scores(x, weights)
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        totals = shares.sum(axis=1, keepdims=True)
        loss = float((np.log(totals[:, 0]) - scores[rows, y]).mean())
        shares /= totals
        shares[rows, y] -= 1
        shares /= m
        gradient = np.vstack([transposed @ shares.astype(x.dtype), shares.sum(axis=0)])
        gradient[:-1] += penalty * weights[:-1]
        return loss + penalty / 2 * float((weights[:-1] ** 2).sum()), gradient.ravel()

    found = minimize(
        loss_and_gradient,
        np.zeros((f + 1) * c),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps},
    )
    weights = np.zeros((f + 1, int(present[-1]) + 1))
    weights[-1] = -np.inf
    weights[:, present] = found.x.reshape(f + 1, c)
    return weights


def classify(x: Any, weights: np.ndarray) -> np.ndarray:
    """The most likely class of each row: m numbers."""
    return _scores(x, weights).argmax(axis=1)


def _scores(x: Any, weights: np.ndarray) -> np.ndarray:
    """m × c, in float64; the product in the numbers of x, or they would be copied for each."""
    own = x.dtype if x.dtype.kind == "f" else np.float64
    return np.asarray(x @ weights[:-1].astype(own)) + weights[-1]
