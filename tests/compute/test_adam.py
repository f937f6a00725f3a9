"""Adam on a stack is torch's, one replica at a time."""

import torch

from kernode.compute.adam import Adam


def test_stacked_adam_equals_torchs():
    random = torch.Generator().manual_seed(0)
    start = torch.randn(2, 4, 3, dtype=torch.float64, generator=random)
    gradients = torch.randn(9, 2, 4, 3, dtype=torch.float64, generator=random)
    bystander = torch.ones(2, dtype=torch.float64)
    adam = Adam(
        {"w": start.transpose(1, 2), "unused": bystander}, torch.tensor([0.01, 0.1]), torch.tensor([0.0, 0.2])
    )
    theirs = [start[i].clone().requires_grad_() for i in range(2)]
    others = [
        torch.optim.Adam([theirs[i]], lr=lr, weight_decay=decay)
        for i, (lr, decay) in enumerate([(0.01, 0.0), (0.1, 0.2)])
    ]
    for step, gradient in enumerate(gradients, 1):
        adam.step({"w": gradient.transpose(1, 2), "unused": None}, step)
        for i, other in enumerate(others):
            theirs[i].grad = gradient[i].clone()
            other.step()
    for i in range(2):
        assert torch.allclose(adam.parameters["w"][i].T, theirs[i].detach(), atol=1e-8)
    assert torch.equal(adam.parameters["unused"], bystander)
