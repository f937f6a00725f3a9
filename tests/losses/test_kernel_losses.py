"""Each kernel loss by its own formula, and the hinge on dot products by its own way."""

import numpy as np
import pytest
import torch

from kernode.kernels import RBF, Linear, Normalized, Polynomial
from kernode.losses import Hinge, Joint, KernelLoss, Logistic, Softmax, Squared
from kernode.losses.kernel_loss import kernel_losses
from kernode.losses.triplets import Triplets
from refusals import refused

RANDOM = torch.Generator().manual_seed(0)
SAME, OTHER = torch.rand(2, 3, 50, dtype=torch.float64, generator=RANDOM) * 2 - 1


def test_hinge_equals_a_naive_loop():
    margins = [0.1, 0.5, 2.0]
    ours = Hinge().of_triplets(SAME, OTHER, {"margin": torch.tensor(margins)})
    for replica, margin in enumerate(margins):
        total = 0.0
        for p, n in zip(SAME[replica].tolist(), OTHER[replica].tolist(), strict=True):
            total += max(0.0, n - p + margin)
        assert ours[replica].item() == pytest.approx(total / 50)


def test_pair_losses_equal_naive_loops():
    squared, logistic = (loss.of_triplets(SAME, OTHER, {}) for loss in (Squared(), Logistic()))
    for replica in range(3):
        pairs = [(k, 1.0) for k in SAME[replica].tolist()] + [(k, -1.0) for k in OTHER[replica].tolist()]
        assert squared[replica].item() == pytest.approx(np.mean([(k - s) ** 2 for k, s in pairs]))
        assert logistic[replica].item() == pytest.approx(
            np.mean([np.log1p(np.exp(-s * k)) for k, s in pairs])
        )


@pytest.mark.parametrize("kernel", [Normalized(Linear()), Linear(), RBF(learned=True), Polynomial()], ids=str)
@pytest.mark.parametrize("margin", [-3.0, 0.2, 3.0])
def test_hinge_and_its_gradient_equal_those_read_from_the_gram_matrix(kernel, margin):
    """From no triplet that counts to all of them."""
    x = torch.randn(6, 2, 3, dtype=torch.float64, generator=RANDOM).transpose(0, 1).requires_grad_()
    nodes = torch.randint(0, 6, (3, 40, 2), generator=RANDOM)
    rows = Triplets(*(nodes * 2 + torch.arange(2)))
    own = {"margin": torch.tensor([margin, margin / 2], dtype=torch.float64)}
    fast = Hinge().of_kernel(kernel, kernel.initial(2), kernel.embed(x), rows, own)
    gram = kernel.gram(kernel.embed(x), kernel.embed(x), kernel.initial(2))
    anchor, *others = nodes.transpose(1, 2)
    near, far = (gram[torch.arange(2)[:, None], anchor, other] for other in others)
    slow = Hinge().of_triplets(near, far, own)
    assert torch.allclose(fast, slow)
    weights = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert torch.allclose(*(torch.autograd.grad(loss @ weights, x)[0] for loss in (fast, slow)))


def test_kernel_losses_are_known_by_name():
    found = kernel_losses()
    assert {"hinge": Hinge, "squared": Squared, "logistic": Logistic}.items() <= found.items()
    assert all(issubclass(kind, KernelLoss) and kind is not KernelLoss for kind in found.values())


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Joint, {"kernel": Softmax()}),
        (Joint, {"softmax": Hinge()}),
        (Softmax, {"class_weights": "rare"}),
        *((kind, {"triplets": count}) for kind in (Hinge, Squared) for count in (0, 1.5, "many")),
    ],
)
def test_wrong_settings_are_refused(kind, wrong):
    (setting,) = wrong
    with refused("setting", setting=setting):
        kind(**wrong)
