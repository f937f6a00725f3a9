"""Dot products of pairs: rows that are taken, multiplied and summed are the oracle of the sparse way."""

import pytest
import torch

from kernode.compute.sparse import pair_products
from kernode.compute.stack import take


def slow(x, pairs):
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
    for function, kept in ((pair_products, found), (slow, expected)):
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
