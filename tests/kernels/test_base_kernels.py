"""Each base kernel by its own formula."""

import numpy as np
import pytest
import torch

from graphs import vectors
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized, Polynomial
from refusals import refused


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


@pytest.mark.parametrize("kernel", [Linear(), Normalized(Linear()), Linear() + Normalized(Linear())])
def test_what_is_pulled_back_splits_a_dot_product_into_parts_of_one_side(kernel):
    x, y = vectors(r=2, n=1), vectors(r=2, n=4, seed=1)
    embedded = kernel.embed(y)
    back = kernel.pull_back(x, embedded)
    assert back.shape == (2, 4, x.shape[-1])
    whole = kernel.embed(x) @ embedded.transpose(1, 2)
    assert torch.allclose(x @ back.transpose(1, 2), whole, atol=1e-12)
    assert not kernel.pull_back(torch.zeros_like(x), embedded).isnan().any()


def test_what_is_no_dot_product_does_not_split():
    with refused("unsupported", value="RBF"):
        RBF().pull_back(vectors(n=1), vectors(n=2))
