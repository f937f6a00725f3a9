"""Sparse products, dot products of pairs and rows of unit length, against the dense and obvious ways."""

import numpy as np
import pytest
import torch
from scipy import sparse

from kernode.compute import sparse as compute_sparse
from kernode.compute.sparse import SparseMatrix, pair_products, product, unit_rows
from kernode.compute.stack import take
from kernode.compute.tensor_options import TensorOptions


@pytest.mark.parametrize("width", [1, 32, 33, 70])
def test_some_columns_at_a_time_give_the_whole_product(monkeypatch, width):
    random = np.random.default_rng(0)
    matrix = sparse.csr_array(sparse.random_array((30, 90), density=0.8, rng=random, format="csr"))
    x, dense = (
        SparseMatrix.of(matrix, TensorOptions.of(64)),
        torch.from_numpy(random.normal(size=(90, width))),
    )
    monkeypatch.setattr(compute_sparse, "_CACHE", 0)
    monkeypatch.setattr(compute_sparse, "_READS", 1)
    torch.testing.assert_close(product(x.matrix, dense), torch.from_numpy(matrix @ dense.numpy()))
    torch.testing.assert_close(
        product(x.transpose, dense[:30]), torch.from_numpy(matrix.T @ dense[:30].numpy())
    )


def taken_products(x, pairs):
    return (take(x, pairs[..., 0]) * take(x, pairs[..., 1])).sum(-1)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("in_memory", ["r × n × d", "n × r × d"])
@pytest.mark.parametrize("count", [40, 41, 200])  # 9 × 9 places, which 40 pairs nearly fill
def test_products_and_gradients_are_those_of_taken_rows(replicas, shared, in_memory, count):
    random = torch.Generator().manual_seed(0)
    x = torch.randn(replicas, 9, 5, dtype=torch.float64, generator=random)
    if in_memory == "n × r × d":
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    pairs = torch.randint(9, (1 if shared else replicas, count, 2), generator=random)
    pairs[:, 0] = 4  # a node with itself
    pairs[:, 1], pairs[:, 2] = pairs[:, 3], pairs[:, 3].flip(-1)  # the same pair again, and turned round
    weights = torch.randn(replicas, count, dtype=torch.float64, generator=random)
    found, expected = [], []
    for function, kept in ((pair_products, found), (taken_products, expected)):
        own = x.detach().requires_grad_()
        products = function(own, pairs)
        kept += [products.detach(), *torch.autograd.grad((products * weights).sum(), own)]
    assert found[0].shape == (replicas, count)
    assert found[0].is_contiguous()
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_a_replica_has_the_same_bits_in_a_stack():
    x = torch.randn(3, 9, 5)
    pairs = torch.randint(9, (3, 20, 2))
    assert torch.equal(pair_products(x, pairs)[1:2], pair_products(x[1:2], pairs[1:2]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("factor", "dtype"), [(1e30, "f4"), (1e-30, "f4"), (1.0, "f8"), (1, "i8")])
def test_rows_have_length_one_whatever_their_unit(factor, dtype, kind):
    x = (np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]) * factor).astype(dtype)
    found = unit_rows(kind(x))
    assert found.dtype == (np.float64 if dtype == "i8" else x.dtype)
    found = found.toarray() if sparse.issparse(found) else found
    assert np.allclose(found, [[0.6, 0.8], [0, 0], [-1, 0]], atol=1e-6)
