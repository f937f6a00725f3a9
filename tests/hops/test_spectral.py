"""Graph kernels f(S) against dense functions of S, and diagonals that are estimated against their formula."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import expm

import kernode as kn
from graphs import clustered_graph, graphs
from kernode.config import Config
from kernode.hops.spectral import chebyshev, normalized_adjacency, spectral_diagonals, spectral_products
from kernode.kernels import GraphDiffusion, GraphMatern, RegularizedLaplacian
from parts import GRAPH_KERNELS as KERNELS
from parts import over
from refusals import refused

HARD = [RegularizedLaplacian(0.9999), RegularizedLaplacian(-0.9999), GraphMatern(0.5, 100.0),
        GraphMatern(0.05, 100.0), GraphMatern(20.0, 100.0), GraphDiffusion(100.0)]  # fmt: skip
every_kernel = over("kernel", KERNELS)


def dense(kernel, graph):
    """f(S) by dense matrix functions: n × n."""
    a = graph.adjacency.toarray().astype(float)
    roots = np.sqrt(np.where(a.sum(axis=1) > 0, a.sum(axis=1), 1))
    s, eye = a / np.outer(roots, roots), np.eye(graph.n_nodes)
    if isinstance(kernel, RegularizedLaplacian):
        return np.linalg.inv(eye - kernel.alpha * s)
    if isinstance(kernel, GraphDiffusion):
        return expm(-kernel.time * (eye - s))
    values, vectors = np.linalg.eigh(2 * kernel.nu / kernel.length_scale**2 * eye + eye - s)
    scale = (2 * kernel.nu / kernel.length_scale**2) ** kernel.nu
    return scale * (vectors * values**-kernel.nu) @ vectors.T


@every_kernel
@given(graph=graphs(max_nodes=9))
def test_columns_and_gram_are_the_dense_function_and_psd(kernel, graph):
    expected = dense(kernel, graph)
    assert np.allclose(kernel.columns(graph), expected, atol=1e-8)
    assert np.allclose(kernel.gram(graph), expected, atol=1e-8)
    assert np.linalg.eigvalsh(kernel.gram(graph)).min() > -1e-9
    some, others = np.arange(graph.n_nodes)[::2], [graph.n_nodes - 1]
    assert np.allclose(kernel.columns(graph, some), expected[:, some], atol=1e-8)
    assert np.allclose(kernel.gram(graph, some, others), expected[np.ix_(some, others)], atol=1e-8)


@every_kernel
def test_a_node_without_edges_is_similar_to_itself_alone(kernel):
    graph = kn.Graph.from_edges([(0, 1), (1, 2)], np.ones((4, 1)), weights=[1.0, 7.0])
    alone = kernel.columns(graph, [3])[:, 0]
    assert np.array_equal(alone[:3], np.zeros(3))
    assert alone[3] == pytest.approx(float(kernel.spectrum(np.zeros(1))[0]))


@every_kernel
def test_weights_count_by_their_ratio(kernel):
    graph = clustered_graph(n=20)
    heavier = kn.Graph(5 * graph.adjacency, graph.features, graph.labels)
    assert np.allclose(kernel.gram(heavier), kernel.gram(graph), atol=1e-9)


@pytest.mark.parametrize("names", [[30, 10, 20], ["a", "b", "c"]])
def test_nodes_have_their_names(names):
    graph = kn.Graph.from_edges([(0, 1), (1, 2)], np.ones((3, 1)), node_names=names)
    plain = kn.Graph.from_edges([(0, 1), (1, 2)], np.ones((3, 1)))
    kernel = RegularizedLaplacian(0.5)
    assert np.array_equal(kernel.gram(graph, names[:1], names[1:]), kernel.gram(plain, [0], [1, 2]))
    assert np.array_equal(kernel.gram(graph, names[::-1]), kernel.gram(plain, [2, 1, 0]))
    assert np.array_equal(kernel.columns(graph, names[2:]), kernel.columns(plain, [2]))


@pytest.mark.parametrize("kernel", [*KERNELS, *HARD], ids=str)
@pytest.mark.parametrize("tolerance", [1e-10, 1e-4])
def test_a_polynomial_is_as_near_as_it_says(kernel, tolerance):
    x = np.cos(np.linspace(0, np.pi, 3001))
    expected = kernel.spectrum(x)
    found = np.polynomial.chebyshev.chebval(x, chebyshev(kernel.spectrum, tolerance))
    assert np.abs(found - expected).max() <= 2 * tolerance * expected.max()


def test_products_of_several_kernels_are_those_of_each():
    s, block = normalized_adjacency(clustered_graph(n=30)), np.random.default_rng(0).normal(size=(30, 4))
    together = spectral_products(s, [one.spectrum for one in KERNELS], block)
    for kernel, found in zip(KERNELS, together, strict=True):
        assert np.array_equal(spectral_products(s, [kernel.spectrum], block)[0], found)


def test_diagonals_of_a_small_graph_are_exact():
    graph = clustered_graph(n=70)
    for kernel, found in zip(KERNELS, spectral_diagonals(normalized_adjacency(graph), KERNELS), strict=True):
        assert np.allclose(found, dense(kernel, graph).diagonal(), rtol=1e-9)


def test_diagonals_of_a_large_graph_are_off_by_no_more_than_chance():
    """Of a ring, where each is the mean of f over the eigenvalues cos(2 π k / n)."""
    n = 6400
    ring = kn.Graph.from_edges(np.stack([np.arange(n), np.roll(np.arange(n), 1)], axis=1), np.ones((n, 1)))
    kernels = [RegularizedLaplacian(0.9), GraphDiffusion(8.0)]
    found = spectral_diagonals(normalized_adjacency(ring), kernels)
    for kernel, estimated in zip(kernels, found, strict=True):
        off = estimated / kernel.spectrum(np.cos(2 * np.pi * np.arange(n) / n)).mean() - 1
        assert abs(off.mean()) < 0.01
        assert 0.07 < off.std() < 0.11  # √(2 / 256)
        assert np.abs(off).max() < 0.5


@every_kernel
def test_a_graph_kernel_travels_as_json_and_by_pickle(kernel):
    assert Config.from_json(json.loads(json.dumps(kernel.to_json()))) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        (lambda: RegularizedLaplacian(1.0), "alpha"),
        (lambda: RegularizedLaplacian("much"), "alpha"),
        (lambda: GraphDiffusion(0.0), "time"),
        (lambda: GraphDiffusion(float("nan")), "time"),
        (lambda: GraphMatern(nu=0.0), "nu"),
        (lambda: GraphMatern(length_scale=1000.0), "length_scale"),
    ],
)
def test_wrong_settings_are_refused(wrong, setting):
    with refused("setting", setting=setting):
        wrong()


def test_a_value_below_the_tolerance_stays_above_zero():
    graph = kn.Graph.from_edges([(0, 1), (1, 2)], np.ones((4, 1)))
    kernel = GraphDiffusion(60.0)
    assert kernel.gram(graph)[3, 3] == pytest.approx(np.exp(-60))
    (diagonal,) = spectral_diagonals(normalized_adjacency(graph), [kernel])
    assert diagonal[3] == pytest.approx(np.exp(-60))
