"""Products of which only the mask's entries are computed: two ways, one result."""

import numpy as np
import pytest
from scipy import sparse

from graphs import clustered_graph
from kernode.hops import corrections as masked_product
from kernode.hops.matrices import neighbour_step

WAYS = pytest.mark.parametrize("graphblas", [False, True])


@pytest.fixture(autouse=True)
def way(graphblas, monkeypatch):
    monkeypatch.setattr(masked_product, "find_spec", lambda name: graphblas)


def random_matrices(n=40):
    """Symmetric: of the second, rows are longer than the first's here and shorter there."""
    step = neighbour_step(clustered_graph(n=n))
    return step, (step @ step).tocsr()


@pytest.mark.parametrize("block", [50, 2**26])
@WAYS
@pytest.mark.parametrize("left", [0, 1])
def test_each_way_equals_the_whole_product(left, block, monkeypatch):
    monkeypatch.setattr(masked_product, "BLOCK_FLOPS", block)
    step, square = random_matrices()
    for right, mask in ((step, square), (square, step)):
        whole = ((step, square)[left] @ right).toarray()
        ours = masked_product.masked_product((step, square)[left], right, mask.astype(bool))
        np.testing.assert_allclose(ours.toarray(), np.where(mask.toarray() != 0, whole, 0), atol=1e-12)
        assert ours.has_sorted_indices


@WAYS
def test_what_the_mask_has_and_the_product_has_not_is_not_stored():
    path = sparse.csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    everything = sparse.csr_array(np.ones((5, 5), bool))
    found = masked_product.masked_product(path, path, everything)
    assert found.nnz == (path @ path).nnz == 11


@pytest.mark.parametrize("graphblas", [False])
def test_blocks_take_about_as_many_multiply_adds(monkeypatch):
    star = sparse.csr_array(np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))  # 3 in a row
    monkeypatch.setattr(masked_product, "BLOCK_FLOPS", 6)
    assert [*masked_product.row_blocks(star, star)] == [(0, 1), (1, 4)]
    assert [*masked_product.row_blocks(star[:0], star)] == []
