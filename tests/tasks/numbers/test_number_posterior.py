"""Posteriors of Gaussian processes against dense formulas, and against leaving each number out."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from graphs import clustered_graph
from kernode.compute.stack import under_prefix
from kernode.kernels import (
    RBF,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
    Linear,
    Matern,
    RegularizedLaplacian,
)
from kernode.kernels.covariance import between
from kernode.tasks.numbers.inputs import learn_columns
from kernode.tasks.numbers.posterior import (
    ExactPosterior,
    InducedPosterior,
    conjugate_gradients,
)
from kernode.tasks.numbers.process import DEFAULT, GaussianProcess, process_inputs

N = 50
EDGES = GraphCovariance((RegularizedLaplacian(0.99),))
FEATURES = FeatureCovariance(RBF(gamma=0.5))
EXACT = [DEFAULT, FEATURES, EDGES, FEATURES * EDGES, FEATURES + EDGES + FeatureCovariance(Matern(), 1)]
INDUCED = [
    GaussianProcess(DEFAULT).for_size(10**6, 10**5).covariance,
    FEATURES + EDGES,
    CovarianceSum((FeatureCovariance(Linear()), GraphCovariance((RegularizedLaplacian(-0.8),)))),
    FEATURES + GraphCovariance((RegularizedLaplacian(0.0),)),
]


def weighted_graph():
    """With weights, and two nodes without edges."""
    graph = clustered_graph(n=N, features=3)
    pairs = np.argwhere(np.triu(graph.adjacency.toarray()) > 0)
    pairs = pairs[(pairs >= 2).all(axis=1)]
    weights = np.random.default_rng(0).uniform(0.3, 3, len(pairs))
    return kn.Graph.from_edges(pairs, graph.features, weights=weights)


GRAPH = weighted_graph()
TRAIN = np.r_[0, np.arange(3, N, 2)]
TARGETS = np.random.default_rng(1).normal(size=len(TRAIN))


@dataclass
class Dense:
    """A Gaussian process by its covariance matrix of all nodes."""

    gram: np.ndarray
    noise: float
    train: np.ndarray
    targets: np.ndarray
    rest: np.ndarray | float = 0.0  # further variance of each node, of which no number says anything

    @property
    def gain(self):
        """The weights of all nodes: n × m."""
        inner = self.gram[np.ix_(self.train, self.train)] + self.noise * np.eye(len(self.train))
        return self.gram[:, self.train] @ np.linalg.inv(inner)

    @property
    def mean(self):
        return self.gain @ self.targets

    @property
    def covariance(self):
        return (
            self.gram
            - self.gain @ self.gram[self.train]
            + np.diag(np.broadcast_to(self.rest, len(self.gram)))
        )

    def without(self, at):
        """The mean and variance of one target by all others."""
        kept = np.arange(len(self.train)) != at
        others = replace(self, train=self.train[kept], targets=self.targets[kept])
        node = self.train[at]
        return others.mean[node], others.covariance[node, node] + self.noise


def hyperparameters(covariance, inputs):
    torch.manual_seed(0)
    found = covariance.initial(inputs) | {"noise": torch.tensor(0.2, dtype=torch.float64).log()}
    return {name: value + 0.5 * torch.randn_like(value) for name, value in found.items()}


@lru_cache
def setting(covariance):
    inputs = process_inputs(GaussianProcess(covariance), learn_columns(GRAPH), GRAPH)
    return inputs, hyperparameters(covariance, inputs)


@lru_cache
def exact(covariance):
    """The posterior, and the dense one."""
    inputs, parameters = setting(covariance)
    every = np.arange(N)
    gram = covariance.gram(parameters, between(covariance, inputs, every, every)).numpy()
    found = ExactPosterior(covariance, parameters, inputs, TRAIN, TARGETS)
    return found, Dense(gram, np.exp(parameters["noise"].item()) + 1e-6, TRAIN, TARGETS)


INDUCING = np.arange(1, N, 5)


@lru_cache
def induced(covariance):
    """The posterior, and the dense one of the same model: Φ Φᵀ + Q⁻¹."""
    inputs, parameters = setting(covariance)
    found = InducedPosterior(covariance, parameters, inputs, TRAIN, TARGETS, INDUCING)
    every = np.arange(N)
    single = between(covariance, inputs, every, INDUCING, parameters, np.float32)
    *features, edges = covariance.terms
    columns = sum(
        term.gram(under_prefix(parameters, f"{at}."), single, f"{at}.").double().numpy()
        for at, term in enumerate(features)
    )
    among = columns[INDUCING]
    jitter = 1e-4 * among.diagonal().mean()
    root = np.linalg.cholesky((among + among.T) / 2 + jitter * np.eye(len(among)))
    phi = np.linalg.solve(root, columns.T).T
    a = GRAPH.adjacency.toarray()
    roots = np.sqrt(np.where(a.any(axis=1), a.sum(axis=1), 1))
    inverse = np.linalg.inv(np.eye(N) - edges.kernels[0].alpha * a / np.outer(roots, roots))
    amplitude = np.exp(parameters[f"{len(features)}.amplitudes"].item())
    gram = phi @ phi.T + amplitude * inverse / inverse.diagonal().mean()
    own = sum(
        term.diagonal(under_prefix(parameters, f"{at}."), single, f"{at}.").numpy()
        for at, term in enumerate(features)
    )
    rest = own - np.square(phi).sum(axis=1)  # it adds to variances
    assert rest.min() > 0
    return found, Dense(gram, np.exp(parameters["noise"].item()) + 1e-6, TRAIN, TARGETS, rest)


every_exact = pytest.mark.parametrize("covariance", EXACT, ids=lambda one: str(one)[:50])
every_induced = pytest.mark.parametrize("covariance", INDUCED, ids=lambda one: str(one)[-60:])


@every_exact
def test_exact_posterior_is_the_formula(covariance):
    found, dense = exact(covariance)
    assert np.allclose(found.mean, dense.mean, atol=1e-8)
    assert np.allclose(found.variance, np.maximum(dense.covariance.diagonal(), 1e-6 * dense.noise), atol=1e-8)
    for node in (0, 1, 2, 17):
        assert np.allclose(found.weights(node), dense.gain[node], atol=1e-8)
    parts = found.parts(np.arange(N))
    assert np.allclose(sum(parts.values()), dense.mean, atol=1e-8)
    own = [about for about, *_ in covariance.parts(found.parameters)]
    assert set(parts) == set(own)


@every_exact
def test_leave_one_out_is_the_posterior_without_it(covariance):
    found, dense = exact(covariance)
    mean, variance = found.left_out
    expected = np.array([dense.without(at) for at in range(len(TRAIN))])
    assert np.allclose(mean, expected[:, 0], atol=1e-8)
    assert np.allclose(variance, expected[:, 1], atol=1e-8)


def within_chance(samples, dense, nodes):
    """Whether the moments of samples are those of the posterior, up to five standard errors."""
    count, mean = len(samples), dense.mean[nodes]
    expected = dense.covariance[np.ix_(nodes, nodes)]
    deviations = np.sqrt(np.maximum(expected.diagonal(), 0)) + 1e-9
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 5 * deviations / np.sqrt(count))
    off = np.cov(samples.T) - expected
    standard_error = np.sqrt((np.outer(deviations, deviations) ** 2 + expected**2) / count)
    assert np.all(np.abs(off) < 5 * standard_error)


@pytest.mark.parametrize("covariance", [DEFAULT, FEATURES * EDGES], ids=["default", "product"])
def test_samples_have_the_moments_of_the_posterior(covariance):
    found, dense = exact(covariance)
    nodes = np.array([0, 1, 4, 5, 30, 41])
    within_chance(found.samples(nodes, 4000, 0), dense, nodes)
    twice = found.samples(np.array([4, 4]), 10, 0)
    assert np.allclose(twice[:, 0], twice[:, 1], atol=1e-5)  # the same node
    assert np.array_equal(found.samples(nodes, 3, 7), found.samples(nodes, 3, 7))
    assert not np.array_equal(found.samples(nodes, 3, 7), found.samples(nodes, 3, 8))


@every_exact
def test_vectors_have_the_covariance_with_landmarks_as_dot_products(covariance):
    found, dense = exact(covariance)
    g = found.vectors.numpy()
    assert np.allclose(g @ g[TRAIN].T, dense.gram[:, TRAIN], atol=1e-4)


@every_induced
def test_induced_posterior_is_the_dense_one_of_its_model(covariance):
    found, dense = induced(covariance)
    assert np.allclose(found.mean, dense.mean, atol=1e-6)
    for node in (0, 1, 2, 17):
        assert np.allclose(found.weights(node), dense.gain[node], atol=1e-6)
        assert found.weights(node) @ TARGETS == pytest.approx(found.mean[node], abs=1e-6)
    parts = found.parts(np.arange(N))
    assert np.allclose(sum(parts.values()), dense.mean, atol=1e-6)


@every_induced
def test_induced_variances_are_within_sampling_error(covariance):
    found, dense = induced(covariance)
    exact_variance = dense.covariance.diagonal()
    ratio = found.variance / exact_variance
    assert abs(ratio.mean() - 1) < 0.02
    assert np.abs(ratio - 1).max() < 0.25  # √(2 / 128) would be 0.125 for each deviation
    alone = np.array([0, 1])  # without edges nothing is estimated
    assert np.allclose(ratio[alone], 1, atol=1e-6)


@every_induced
def test_induced_leave_one_out_is_near_the_exact_one(covariance):
    found, dense = induced(covariance)
    mean, variance = found.left_out
    expected = np.array([dense.without(at) for at in range(len(TRAIN))])
    assert np.abs(mean - expected[:, 0]).max() < 0.06
    assert np.abs(variance / expected[:, 1] - 1).max() < 0.15


def test_leave_one_out_of_estimated_variances_stays_finite_with_little_noise():
    covariance = INDUCED[1]
    inputs, parameters = setting(covariance)
    parameters = parameters | {"noise": torch.tensor(1e-4, dtype=torch.float64).log()}
    found = InducedPosterior(covariance, parameters, inputs, TRAIN, TARGETS, INDUCING)
    mean, variance = found.left_out
    prior = covariance.diagonal(parameters, found.own.at(TRAIN)).numpy()
    assert np.abs(mean).max() < 20
    assert (variance <= prior + found.noise + 1e-9).all()


@pytest.mark.parametrize("covariance", INDUCED[:2], ids=["default", "two"])
def test_induced_samples_have_the_moments_of_the_posterior(covariance):
    found, dense = induced(covariance)
    within_chance(found.samples(np.arange(N), 4000, 0), dense, np.arange(N))


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_conjugate_gradients_solve(size, columns, seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    right = random.normal(size=(size, columns)) * (random.random(columns) < 0.8)  # some columns are 0
    found = conjugate_gradients(lambda x: matrix @ x, right, matrix.diagonal())
    assert np.allclose(matrix @ found, right, atol=1e-5)
    assert np.array_equal(found[:, ~right.any(axis=0)], np.zeros((size, (~right.any(axis=0)).sum())))
