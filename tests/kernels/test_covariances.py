"""Covariances of nodes against their formulas, written with loops over terms and dense matrices."""

import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sklearn_kernels

import kernode as kn
from graphs import clustered_graph, vectors
from kernode.compute.stack import under_prefix
from kernode.config import Config
from kernode.kernels import (
    RBF,
    CovarianceProduct,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
    GraphMatern,
    Linear,
    Matern,
    Normalized,
    RegularizedLaplacian,
)
from kernode.kernels.covariance import between
from kernode.tasks.numbers.inputs import learn_columns
from kernode.tasks.numbers.process import DEFAULT, GaussianProcess, process_inputs
from parts import COVARIANCES
from refusals import refused

GRAPH = clustered_graph(n=25, features=4)
RBF_X, LINEAR_H = FeatureCovariance(RBF(gamma=0.5)), FeatureCovariance(Linear(), hops=2)
EDGES, UNIT = GraphCovariance((RegularizedLaplacian(0.5),)), GraphCovariance((GraphMatern(),), unit=True)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES, ids=lambda one: str(one)[:60])
EVERYWHERE = np.arange(GRAPH.n_nodes)


def with_features(x):
    return kn.Graph(GRAPH.adjacency, x, GRAPH.labels)


def inputs_of(covariance, graph=GRAPH):
    return process_inputs(GaussianProcess(covariance), learn_columns(graph), graph)


def drawn(covariance, inputs, seed=0):
    """Hyperparameters away from their first values."""
    torch.manual_seed(seed)
    return {name: value + torch.randn_like(value) for name, value in covariance.initial(inputs).items()}


def by_hand(covariance, parameters, inputs, graph=GRAPH):
    """K of all nodes, from the formulas."""
    if isinstance(covariance, CovarianceSum | CovarianceProduct):
        each = [
            by_hand(one, under_prefix(parameters, f"{at}."), inputs, graph)
            for at, one in enumerate(covariance.terms)
        ]
        return sum(each) if isinstance(covariance, CovarianceSum) else np.prod(each, axis=0)
    values = {name: value.numpy() for name, value in parameters.items()}
    if isinstance(covariance, GraphCovariance):
        total = 0.0
        for kernel, amplitude in zip(covariance.kernels, np.exp(values["amplitudes"]), strict=True):
            gram = kernel.gram(graph)
            roots = np.sqrt(gram.diagonal())
            scaled = gram / np.outer(roots, roots) if covariance.unit else gram / gram.diagonal().mean()
            total = total + amplitude * scaled
        return total
    x = np.hstack([block.numpy() for block in inputs.blocks[: covariance.hops + 1]])
    if isinstance(covariance.kernel, Linear):
        return np.exp(values["amplitude"]) * x @ x.T / x.shape[1]
    scales = np.exp(values["scales"])  # one for each column of each hop: no columns of GRAPH are grouped
    assert len(scales) == x.shape[1]
    squared = np.square((x[:, None] - x[None]) / scales).sum(axis=-1)
    if isinstance(covariance.kernel, RBF):
        return np.exp(values["amplitude"]) * np.exp(-covariance.kernel.gamma * squared)
    r = np.sqrt(5 * squared)
    return np.exp(values["amplitude"]) * (1 + r + r**2 / 3) * np.exp(-r)


@every_covariance
@pytest.mark.parametrize("seed", [0, 1])
def test_gram_is_the_formula_psd_and_has_the_diagonal(covariance, seed):
    inputs = inputs_of(covariance)
    parameters = drawn(covariance, inputs, seed)
    every = between(covariance, inputs, EVERYWHERE, EVERYWHERE)
    gram = covariance.gram(parameters, every).numpy()
    if "Polynomial" not in str(covariance):
        expected = by_hand(covariance, parameters, inputs)
        assert np.allclose(gram, expected, atol=1e-9)
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() > -1e-9
    diagonal = covariance.diagonal(parameters, every).numpy()
    assert np.allclose(diagonal, gram.diagonal(), rtol=1e-8)


@every_covariance
def test_kernels_that_are_summed_before_give_the_same(covariance):
    inputs, columns = inputs_of(covariance), np.array([3, 20, 7])
    parameters = drawn(covariance, inputs)
    separate = between(covariance, inputs, EVERYWHERE, columns)
    expected = covariance.gram(parameters, separate)
    summed = between(covariance, inputs, EVERYWHERE, columns, parameters)
    assert torch.allclose(covariance.gram(parameters, summed), expected, atol=1e-12)
    part = summed.at(columns).to(np.array([2, 0]))
    assert torch.allclose(covariance.gram(parameters, part), expected[columns][:, [2, 0]])
    single = between(covariance, inputs, EVERYWHERE, columns, parameters, dtype=np.float32)
    assert torch.allclose(covariance.gram(parameters, single).double(), expected, atol=1e-3)


@every_covariance
def test_parts_sum_to_the_whole(covariance):
    inputs = inputs_of(covariance)
    parameters = drawn(covariance, inputs)
    every = between(covariance, inputs, EVERYWHERE, EVERYWHERE)
    parts = [term.gram(own, every, path) for _, term, own, path in covariance.parts(parameters)]
    assert torch.allclose(sum(parts), covariance.gram(parameters, every))


@every_covariance
def test_a_covariance_travels_as_json_and_by_pickle(covariance):
    assert Config.from_json(json.loads(json.dumps(covariance.to_json()))) == covariance
    assert pickle.loads(pickle.dumps(covariance)) == covariance
    assert hash(pickle.loads(pickle.dumps(covariance))) == hash(covariance)


def test_sums_and_products_are_flat_and_know_what_they_are_about():
    assert (RBF_X + EDGES + UNIT).terms == (RBF_X + (EDGES + UNIT)).terms == (RBF_X, EDGES, UNIT)
    assert (RBF_X * EDGES * UNIT).terms == (RBF_X, EDGES, UNIT)
    both = "features and edges together"
    for covariance, about in (
        (RBF_X * LINEAR_H, "features"),
        (EDGES * UNIT, "edges"),
        ((EDGES + UNIT) * EDGES, "edges"),
        (RBF_X * UNIT, both),
        ((RBF_X + UNIT) * LINEAR_H, both),
        ((RBF_X + UNIT) * (RBF_X + UNIT), both),
    ):
        assert covariance.about == about
    assert [one.about for one in DEFAULT.terms] == ["features"] * 4 + ["edges", both]


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.sampled_from([0.5, 1.5, 2.5]))
def test_matern_is_scikit_learns(shift, nu):
    x = vectors(r=1, n=5)[0].numpy()
    y = x[:3] + np.array(shift)
    found = Matern(nu).gram(torch.from_numpy(x)[None], torch.from_numpy(y)[None])[0].numpy()
    assert np.allclose(found, sklearn_kernels.Matern(nu=nu)(x, y), atol=2e-6)  # a root of 1e-12 is added
    pairs = Matern(nu).pairs(torch.from_numpy(x[:3])[None], torch.from_numpy(y)[None])[0].numpy()
    assert np.allclose(pairs, found.diagonal())


def test_matern_has_a_gradient_where_vectors_are_equal():
    x = torch.zeros(1, 3, 2, dtype=torch.float64, requires_grad=True)
    Matern().gram(x, x).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        (lambda: Matern(1.0), "nu"),
        (lambda: FeatureCovariance("rbf"), "kernel"),
        (lambda: FeatureCovariance(RBF), "kernel"),
        (lambda: FeatureCovariance(RBF(learned=True)), "kernel"),
        (lambda: FeatureCovariance(Normalized(RBF(learned=True))), "kernel"),
        (lambda: FeatureCovariance(RBF(), hops=3), "hops"),
        (lambda: FeatureCovariance(RBF(), hops=0.5), "hops"),
        (lambda: GraphCovariance(()), "kernels"),
        (lambda: GraphCovariance((RBF(),)), "kernels"),
        (lambda: RBF_X + RBF(), "covariance"),
        (lambda: RBF_X * 2, "covariance"),
        (lambda: CovarianceSum(()), "terms"),
        (lambda: CovarianceProduct((RBF(),)), "terms"),
        (lambda: GaussianProcess(RBF()), "covariance"),
        (lambda: GaussianProcess(nodes=1), "nodes"),
        (lambda: GaussianProcess(inducing=0), "inducing"),
    ],
)
def test_wrong_settings_are_refused(wrong, setting):
    with refused("setting", setting=setting):
        wrong()


def test_columns_that_were_learned_are_those_of_another_graph():
    """Standardised by the first graph; a constant column is finite where another graph has other values."""
    constant = np.full((25, 1), 0.1)
    first = with_features(np.hstack([GRAPH.features, constant]))
    shifted = with_features(np.hstack([GRAPH.features, constant + 1]))
    one, two, learned = (
        [block.numpy() for block in process_inputs(GaussianProcess(RBF_X), columns, graph).blocks]
        for columns, graph in (
            (learn_columns(first), first), (learn_columns(shifted), shifted), (learn_columns(first), shifted)
        )
    )  # fmt: skip
    assert np.allclose(one[0][:, :4].mean(axis=0), 0)
    assert np.allclose(one[0][:, :4].std(axis=0), 1)
    assert np.abs(one[0][:, 4]).max() < 1e-12
    assert np.allclose(learned[0][:, 4], 1)
    assert np.allclose(two[0], one[0])
    a = GRAPH.adjacency.toarray()
    walk = a / np.maximum(a.sum(axis=1), 1)[:, None]
    assert np.allclose(one[2], walk @ walk @ one[0])


@pytest.mark.parametrize("kind", ["words", "numbers", "empty"])
def test_many_columns_become_a_few_components(kind):
    random = np.random.default_rng(0)
    x = random.normal(size=(25, 90))
    if kind != "numbers":
        x = (random.random((25, 90)) < 0.1) * (kind == "words")
    graph = with_features(x.astype(float))
    inputs = inputs_of(RBF_X, graph)
    width = inputs.blocks[0].shape[1]
    assert width <= 65
    assert len(inputs.groups) == width
    assert max(inputs.groups) == 1  # the degree, and one length scale for all components
    assert all(block.isfinite().all() for block in inputs.blocks)
    assert np.abs(inputs.blocks[0].numpy()).max() < 10
