"""Hyperparameters of a Gaussian process by marginal likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from kernode.compute.stack import Parameters
from kernode.kernels.covariance import Between, Covariance
from kernode.progress import log_event, report_progress

JITTER = 1e-6
_STEPS = 40
_DEVIATION = {"scales": 1.0, "amplitude": 2.0, "amplitudes": 2.0, "noise": 2.0}  # of the priors, in logs
_BOUNDS = {
    "scales": (0.05, 1e3),
    "amplitude": (1e-6, 1e2),
    "amplitudes": (1e-6, 1e2),
    # A target is never known to less than 10 % of its deviation: nodes with the same neighbours and the same
    # target would else decide that there is no noise.
    "noise": (1e-2, 2.0),
}
_NOISE = 0.3


def fit_hyperparameters(
    covariance: Covariance, own: Between, targets: np.ndarray
) -> tuple[Parameters, float]:
    """Maximise ``log p(y) + log p(hyperparameters)`` for targets of mean 0 and variance 1; return both.

    ``own``: what is needed between the nodes themselves. The priors are weak normal ones on the logarithms,
    around the first values. L-BFGS within bounds.
    """
    start = covariance.initial(own.inputs)
    start["noise"] = torch.tensor(np.log(_NOISE), dtype=torch.float64)
    names, shapes = list(start), [value.shape for value in start.values()]
    first = torch.cat([value.reshape(-1) for value in start.values()])
    kinds = [name.rpartition(".")[2] for name in names for _ in range(start[name].numel())]
    deviations = torch.tensor([_DEVIATION[kind] for kind in kinds], dtype=torch.float64)
    bounds = [tuple(np.log(_BOUNDS[kind])) for kind in kinds]
    y, eye = torch.from_numpy(targets), torch.eye(len(targets), dtype=torch.float64)
    steps = 0

    def unpacked(values: Tensor) -> Parameters:
        parts = values.split([max(1, shape.numel()) for shape in shapes])
        return {name: part.view(shape) for name, part, shape in zip(names, parts, shapes, strict=True)}

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        tried = torch.tensor(values, requires_grad=True)
        parameters = unpacked(tried)
        gram = covariance.gram(parameters, own) + (parameters["noise"].exp() + JITTER) * eye
        factor, failed = torch.linalg.cholesky_ex(gram)
        if failed:
            return 1e10, np.zeros_like(values)
        whitened = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        found = 0.5 * whitened.square().sum() + factor.diagonal().log().sum()
        found = found + 0.5 * ((tried - first) / deviations).square().sum()
        found.backward()
        return found.item(), tried.grad.numpy()  # type: ignore[union-attr]

    def count(_: Any) -> None:
        nonlocal steps
        steps += 1
        report_progress("marginal likelihood", steps, _STEPS)

    found = minimize(
        loss, first.numpy(), jac=True, method="L-BFGS-B", bounds=bounds, callback=count,
        options={"maxiter": _STEPS},
    )  # fmt: skip
    said = f"marginal likelihood of {len(targets):,} nodes: {-found.fun:.1f} after {found.nfev} evaluations"
    log_event("hyperparameters", said, nodes=len(targets), value=float(-found.fun), evaluations=found.nfev)
    best = {name: value.clone() for name, value in unpacked(torch.from_numpy(found.x)).items()}
    return best, -float(found.fun)
