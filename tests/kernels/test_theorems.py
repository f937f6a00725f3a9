"""The paper's theorems, numerically, and where the third one ends."""

import itertools

import numpy as np
import pytest
import torch

from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge
from kernode.losses.triplets import Triplets


def all_triplets(labels):
    """Every (anchor, same class, other class), as one replica's triplets."""
    rows = [
        (a, p, n)
        for a, p, n in itertools.product(range(len(labels)), repeat=3)
        if a != p and labels[a] == labels[p] != labels[n]
    ]
    return Triplets(*torch.tensor(rows).T[..., None])


def descend(loss_of, g, steps, rate):
    g = g.clone().requires_grad_()
    adam = torch.optim.Adam([g], lr=rate)
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * (1 - step / steps)
        adam.zero_grad()
        loss_of(g).backward()
        adam.step()
    return g.detach()


def closest_kernel(target, dimensions):
    """The kernel of a free map nearest to a target, by L-BFGS."""
    g = torch.randn(
        1, len(target), dimensions, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    g.requires_grad_()
    solver = torch.optim.LBFGS([g], max_iter=500, tolerance_grad=1e-12, tolerance_change=0)

    def closure():
        solver.zero_grad()
        loss = (Linear().gram(g, g)[0] - target).square().sum()
        loss.backward()
        return loss

    solver.step(closure)
    return Linear().gram(g, g)[0].detach()


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_theorem_2_a_free_map_recovers_any_kernel_of_its_rank(rank):
    root = torch.randn(12, rank, dtype=torch.float64, generator=torch.Generator().manual_seed(rank))
    target = root @ root.T
    assert torch.allclose(closest_kernel(target, dimensions=5), target, atol=1e-4)


def test_theorem_2_fails_below_the_rank():
    target = torch.eye(4, dtype=torch.float64)
    assert (closest_kernel(target, dimensions=2) - target).abs().max() > 0.1


def train_to_the_minimum(labels, dimensions, margin):
    """Minimise L_K over all triplets with |K̄| ≤ 1; return K̄ and the loss."""
    kernel, triplets = Normalized(Linear()), all_triplets(labels)
    start = torch.randn(
        1, len(labels), dimensions, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )

    def loss_of(g):
        return (
            Hinge().of_kernel(kernel, {}, kernel.embed(g), triplets, {"margin": torch.tensor([margin])}).sum()
        )

    g = descend(loss_of, start, 1_500, 0.05)
    embedded = kernel.embed(g)
    return kernel.gram(embedded, embedded)[0].numpy(), float(loss_of(g))


def test_theorem_3_for_two_classes_the_minimum_is_s_g():
    labels = np.array([0, 0, 0, 1, 1, 1])
    kernel, loss = train_to_the_minimum(labels, dimensions=3, margin=2.0)
    s_g = np.where(labels[:, None] == labels[None], 1.0, -1.0)
    assert np.allclose(kernel, s_g, atol=1e-3)
    assert loss == pytest.approx(0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 4, 7])
def test_beyond_two_classes_the_minimum_is_the_simplex_value(classes):
    """With α = 2 every hinge is active, so L_K only sees the mean between classes: −1/(C−1) at best.

    For C = 3 that leaves one kernel, the simplex; for more, any class vectors that sum to zero will do.
    """
    labels = np.repeat(np.arange(classes), 2)
    kernel, loss = train_to_the_minimum(labels, dimensions=classes, margin=2.0)
    same = labels[:, None] == labels[None]
    assert np.allclose(kernel[same], 1, atol=1e-3)
    assert kernel[~same].mean() == pytest.approx(-1 / (classes - 1), abs=1e-3)
    assert loss == pytest.approx(2 - (1 + 1 / (classes - 1)), abs=1e-3)
    if classes == 3:
        assert np.allclose(kernel[~same], -1 / 2, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 4, 7])
def test_with_margin_c_over_c_minus_1_the_simplex_is_the_only_minimum(classes):
    """The largest margin that a kernel can meet: there L_K reaches zero, at −1/(C−1) for every pair."""
    labels = np.repeat(np.arange(classes), 2)
    kernel, loss = train_to_the_minimum(labels, dimensions=classes, margin=classes / (classes - 1))
    simplex = np.where(labels[:, None] == labels[None], 1.0, -1 / (classes - 1))
    assert np.allclose(kernel, simplex, atol=0.02)
    assert loss == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(("classes", "smallest"), [(2, 0), (3, -1), (7, -5)])
def test_s_g_itself_is_psd_for_two_classes_only(classes, smallest):
    s_g = 2 * np.eye(classes) - 1
    assert np.linalg.eigvalsh(s_g).min() == pytest.approx(smallest, abs=1e-12)


def test_theorem_3_needs_a_bounded_kernel_that_can_be_negative():
    """RBF is bounded by 1 but never negative: α = 2 is out of its reach."""
    gram = RBF().gram(torch.tensor([[[0.0], [50.0]]]), torch.tensor([[[0.0], [50.0]]]))
    assert gram.min() >= 0
