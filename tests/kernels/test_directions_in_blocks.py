"""Directions of many rows are computed block by block: torch's own normalize is the oracle."""

import sys

import pytest
import torch

from kernode.kernels import Linear, Normalized


@pytest.mark.parametrize("in_cache", [2**16, 24, 5, 1])  # all at once; blocks with a rest; one row each
def test_blocks_change_neither_directions_nor_gradients(in_cache, monkeypatch):
    monkeypatch.setattr(sys.modules[Normalized.__module__], "_IN_CACHE", in_cache)
    x = torch.randn(3, 41, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = torch.randn_like(x)
    mine, theirs = (x.clone().requires_grad_() for _ in range(2))
    found, expected = Normalized(Linear()).embed(mine), torch.nn.functional.normalize(theirs, dim=-1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    for one, by in ((found, mine), (expected, theirs)):
        (one * weights).sum().backward(inputs=[by])
    torch.testing.assert_close(mine.grad, theirs.grad, rtol=0, atol=1e-13)
