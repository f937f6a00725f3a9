"""Every base kernel passes the same tests; each then has its own formula."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from graphs import graphs
from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.kernels import (
    RBF,
    BaseKernel,
    Linear,
    NodeKernel,
    Normalized,
    Polynomial,
    Product,
    Sum,
    graph_kernel,
)
from kernode.maps import Free, HopMLP, Smoother

KERNELS = [
    Linear(),
    RBF(gamma=0.7),
    RBF(gamma=0.7, learned=True),
    Polynomial(degree=3, offset=0.5),
    Normalized(Linear()),
    Normalized(RBF(learned=True)),
    Normalized(Polynomial()),
    Linear() + RBF(learned=True),
    Normalized(Linear()) * RBF(),
    (Linear() + Normalized(Linear())) * (RBF(learned=True) + Polynomial()),
    Linear() + Normalized(Linear()),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def vectors(r=2, n=6, d=3, seed=0):
    return torch.randn(r, n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def smallest_eigenvalue(matrix):
    matrix = np.asarray(matrix, dtype=float)
    return np.linalg.eigvalsh(matrix).min() / max(1.0, np.abs(matrix).max())


@every_kernel
def test_gram_is_symmetric_and_psd(kernel):
    x = kernel.embed(vectors(n=9))
    for gram in kernel.gram(x, x, kernel.initial(2)):
        assert torch.allclose(gram, gram.T)
        assert smallest_eigenvalue(gram) > -1e-12


@every_kernel
def test_pairs_are_the_entries_of_gram(kernel):
    x, y = kernel.embed(vectors(seed=1)), kernel.embed(vectors(seed=2))
    parameters = kernel.initial(2)
    gram = kernel.gram(x, y, parameters)
    assert torch.allclose(kernel.pairs(x, y, parameters), gram.diagonal(dim1=1, dim2=2))
    if kernel.dot_product:
        assert torch.allclose(gram, x @ y.transpose(1, 2))


@every_kernel
def test_gradients_pass_gradcheck(kernel):
    names = list(kernel.initial(2))

    def of(x, *values):
        parameters = dict(zip(names, values, strict=True))
        embedded = kernel.embed(x)
        return kernel.gram(embedded, embedded, parameters), kernel.pairs(
            embedded, embedded.flip(1), parameters
        )

    inputs = [vectors(n=4).requires_grad_(), *(p.requires_grad_() for p in kernel.initial(2).values())]
    assert torch.autograd.gradcheck(of, inputs)


@every_kernel
def test_kernels_travel_as_json(kernel):
    assert BaseKernel.from_json(json.loads(json.dumps(kernel.to_json()))) == kernel


def test_formulas():
    x, y = torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[1.0, 2.0]]])
    assert Linear().gram(x, y).item() == 11
    assert Polynomial(2, 1.0).gram(x, y).item() == 144
    assert RBF(0.5).gram(x, y).item() == pytest.approx(np.exp(-0.5 * 8))
    assert (Linear() + Polynomial(2, 1.0)).pairs(*(k.repeat(1, 1, 2) for k in (x, y))).item() == 155
    normalized = Normalized(Linear())
    cosine = normalized.gram(normalized.embed(x), normalized.embed(y)).item()
    assert cosine == pytest.approx(11 / (5 * 5**0.5))


def test_normalized_kernel_is_at_most_one_and_zero_vectors_are_like_nothing():
    x = vectors(n=30) * 100
    x[:, 0] = 0
    for kernel in (Normalized(Linear()), Normalized(RBF())):
        gram = kernel.gram(kernel.embed(x), kernel.embed(x))
        assert gram.abs().max() <= 1 + 1e-12
    linear = Normalized(Linear())
    assert not linear.gram(linear.embed(x), linear.embed(x))[:, 0].any()


def test_learned_width_differs_between_replicas():
    kernel = RBF(learned=True)
    x = vectors(r=1).expand(2, -1, -1)
    narrow, wide = kernel.gram(x, x, {"log_gamma": torch.tensor([0.0, -2.0]).double()})
    assert torch.allclose(wide, narrow ** np.exp(-2.0))


@pytest.mark.parametrize("wrong", [lambda: RBF(0), lambda: Polynomial(0), lambda: Polynomial(2, -1)])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()


MAPS = [
    HopMLP((4,)),
    HopMLP((), 6, hops=3, powers="last"),
    HopMLP((3, 3), hop_weights=0.5),
    Smoother(),
    Free(4),
]


@given(graphs(), st.sampled_from(MAPS), st.sampled_from(KERNELS), st.integers(0, 99))
def test_theorem_1_every_node_kernel_is_symmetric_and_psd(graph, feature_map, base, seed):
    place = Place.of(64)
    feature_map = feature_map.for_classes(3)
    prepared = feature_map.prepare(graph, place)
    draws = Draws(torch.tensor([seed, seed + 1]))
    parameters = feature_map.initial(prepared, draws, place)
    g = feature_map(parameters, prepared).detach()
    kernel = NodeKernel(base, g, base.initial(len(g)))
    gram = kernel.gram()
    assert np.allclose(gram, gram.T)
    assert smallest_eigenvalue(gram) > -1e-10
    nodes = np.arange(graph.n_nodes)
    assert np.allclose(kernel.diagonal(), gram.diagonal())
    assert np.allclose(kernel.pairs(nodes, nodes[::-1]), gram[nodes, nodes[::-1]])
    assert np.allclose(np.concatenate([*kernel.blocks(rows=2)]), gram)


def test_stack_gives_the_mean_kernel():
    g = vectors(r=3)
    mean = np.mean([NodeKernel(RBF(), one).gram([0, 1], [2, 3]) for one in g], axis=0)
    assert np.allclose(NodeKernel(RBF(), g).gram([0, 1], [2, 3]), mean)


def test_unknown_node_is_named():
    with pytest.raises(InputError, match=r"node 6 is not in the graph\. Nodes run from 0 to 5"):
        NodeKernel(Linear(), vectors()).gram([0, 6])


@every_kernel
def test_equation_1_graph_kernel_is_the_double_sum(kernel):
    one, other = vectors(n=5, seed=1), vectors(n=7, seed=2)
    parameters = kernel.initial(2)
    kernels = [NodeKernel(kernel, g, parameters) for g in (one, other)]
    x, y = (k.embedded for k in kernels)
    naive = sum(
        float(kernel.pairs(x[:, [i]], y[:, [j]], parameters).mean()) for i in range(5) for j in range(7)
    )
    assert graph_kernel(*kernels, block=2) == pytest.approx(naive)


def test_graph_kernel_needs_one_base_kernel():
    with pytest.raises(InputError, match="the same base kernel"):
        graph_kernel(NodeKernel(Linear(), vectors()), NodeKernel(RBF(), vectors()))


def test_sums_and_products_are_written_as_such():
    assert Linear() + RBF() == Sum(Linear(), RBF())
    assert Linear() * RBF() == Product(Linear(), RBF())
    assert kn.kernels.Linear is Linear
