"""Hyperparameters by marginal likelihood, against SciPy's density and finite differences."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from graphs import clustered_graph
from kernode.kernels import RBF, Covariance, FeatureCovariance, GraphCovariance, RegularizedLaplacian
from kernode.kernels.covariance import between
from kernode.tasks.numbers import hyperparameters
from kernode.tasks.numbers.hyperparameters import JITTER, fit_hyperparameters
from kernode.tasks.numbers.inputs import learn_columns
from kernode.tasks.numbers.process import DEFAULT, GaussianProcess, process_inputs

GRAPH = clustered_graph(n=40, features=3)
NODES = np.arange(0, 40, 2)
SMALL = FeatureCovariance(RBF(gamma=0.5)) + GraphCovariance((RegularizedLaplacian(0.9),))
# Of the priors: in logs, around the first values.
DEVIATIONS = {"scales": 1.0, "amplitude": 2.0, "amplitudes": 2.0, "noise": 2.0}


def prepared(covariance=SMALL, nodes=NODES):
    inputs = process_inputs(GaussianProcess(covariance), learn_columns(GRAPH), GRAPH)
    return between(covariance, inputs, nodes, nodes)


def standard(seed=0):
    y = np.random.default_rng(seed).normal(size=len(NODES))
    return (y - y.mean()) / y.std()


def log_density(covariance, own, targets, parameters):
    """log p(y) + log p(hyperparameters), as SciPy has them."""
    gram = covariance.gram(parameters, own).numpy()
    noise = float(parameters["noise"].exp()) + JITTER
    found = multivariate_normal(cov=gram + noise * np.eye(len(targets))).logpdf(targets)
    first = covariance.initial(own.inputs) | {"noise": torch.tensor(0.3, dtype=torch.float64).log()}
    for name, value in parameters.items():
        off = (value - first[name]).numpy() / DEVIATIONS[name.rpartition(".")[2]]
        found += -0.5 * np.square(off).sum()
    return found


@pytest.mark.parametrize("covariance", [SMALL, DEFAULT], ids=["small", "default"])
def test_loss_is_the_density_and_its_gradient_the_finite_difference(covariance, monkeypatch):
    seen = {}

    def watch(loss, first, **options):
        seen.update(loss=loss, first=first, bounds=np.array(options["bounds"]))
        return real(loss, first, **options)

    real = hyperparameters.minimize
    monkeypatch.setattr(hyperparameters, "minimize", watch)
    own, targets = prepared(covariance), standard()
    found, _ = fit_hyperparameters(covariance, own, targets)
    loss, first, step = seen["loss"], seen["first"], 1e-5
    values = first + np.random.default_rng(0).normal(size=len(first)) / 3
    _, gradient = loss(values)
    for at in range(len(values)):
        shift = step * (np.arange(len(values)) == at)
        difference = (loss(values + shift)[0] - loss(values - shift)[0]) / (2 * step)
        assert gradient[at] == pytest.approx(difference, abs=1e-5, rel=1e-5)
    # The same up to the constant of a normal density.
    constant = -0.5 * len(targets) * np.log(2 * np.pi)
    best = np.concatenate([value.numpy().ravel() for value in found.values()])
    assert constant - loss(best)[0] == pytest.approx(log_density(covariance, own, targets, found))
    low, high = seen["bounds"].T
    assert (low <= best).all()
    assert (best <= high).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_found_is_likelier_than_the_start_and_than_what_drew_the_targets(seed):
    own = prepared(nodes=np.arange(40))
    true = SMALL.initial(own.inputs) | {"noise": torch.tensor(0.1, dtype=torch.float64).log()}
    torch.manual_seed(seed)
    true = {name: value + 0.7 * torch.randn_like(value) for name, value in true.items()}
    gram = SMALL.gram(true, own).numpy() + float(true["noise"].exp()) * np.eye(40)
    targets = np.linalg.cholesky(gram) @ np.random.default_rng(seed).normal(size=40)
    found, _ = fit_hyperparameters(SMALL, own, targets)
    start = SMALL.initial(own.inputs) | {"noise": torch.tensor(0.3, dtype=torch.float64).log()}
    best = log_density(SMALL, own, targets, found)
    assert best > log_density(SMALL, own, targets, start)
    assert best > log_density(SMALL, own, targets, true)


def test_scales_find_the_column_that_matters():
    own = prepared(FeatureCovariance(RBF(gamma=0.5)), np.arange(40))
    x = own.inputs.blocks[0].numpy()
    targets = np.sin(2 * x[:, 1])
    found, _ = fit_hyperparameters(
        FeatureCovariance(RBF(gamma=0.5)), own, (targets - targets.mean()) / targets.std()
    )
    assert found["scales"].argmin() == 1


@dataclass(frozen=True)
class Indefinite(Covariance):
    """No kernel: below zero once its amplitude grows."""

    def initial(self, inputs):
        return {"amplitude": torch.tensor(-2.0, dtype=torch.float64)}

    def gram(self, parameters, between, path=""):
        wave = torch.ones(len(between.rows), len(between.columns), dtype=torch.float64)
        amplitude = parameters["amplitude"].exp()
        return amplitude * wave - (amplitude > 0.5) * 10 * torch.eye(*wave.shape, dtype=torch.float64)

    def diagonal(self, parameters, between, path=""):
        return self.gram(parameters, between, path).diagonal()


def test_a_matrix_without_a_cholesky_factor_is_survived():
    own = prepared(FeatureCovariance(RBF(gamma=0.5)))
    targets = np.full(len(NODES), 3.0)  # a large amplitude would be best
    found, _ = fit_hyperparameters(Indefinite(), own, targets)
    assert float(found["amplitude"].exp()) <= 0.5
    start = Indefinite().initial(None) | {"noise": torch.tensor(0.3, dtype=torch.float64).log()}
    own = own.to(np.arange(len(NODES)))
    assert log_density(Indefinite(), own, targets, found) > log_density(Indefinite(), own, targets, start)
