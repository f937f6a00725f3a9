"""Sparse products: whole, or some columns at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from kernode.compute import sparse as compute_sparse
from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix, product


@pytest.fixture
def filled() -> sparse.csr_array:
    drawn = np.random.default_rng(0)
    return sparse.csr_array(sparse.random_array((30, 90), density=0.8, rng=drawn, format="csr"))


@pytest.mark.parametrize("width", [1, 32, 33, 70])
def test_some_columns_at_a_time_give_the_whole_product(monkeypatch, filled, width):
    x = SparseMatrix.of(filled, Place.of(64))
    dense = torch.from_numpy(np.random.default_rng(1).normal(size=(90, width)))
    monkeypatch.setattr(compute_sparse, "_CACHE", 0)
    monkeypatch.setattr(compute_sparse, "_READS", 1)
    torch.testing.assert_close(product(x.matrix, dense), torch.from_numpy(filled @ dense.numpy()))
    torch.testing.assert_close(
        product(x.transpose, dense[:30]), torch.from_numpy(filled.T @ dense[:30].numpy())
    )
