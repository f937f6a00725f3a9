import numpy as np
import pytest
from scipy import sparse

from kernode.compute.sparse import unit_rows


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("factor", "dtype"), [(1e30, "f4"), (1e-30, "f4"), (1e200, "f8"), (1e-200, "f8"), (1.0, "f4")]
)
def test_rows_have_length_one_whatever_their_unit(factor, dtype, kind):
    x = (np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]) * factor).astype(dtype)
    found = unit_rows(kind(x))
    assert found.dtype == x.dtype
    found = found.toarray() if sparse.issparse(found) else found
    assert np.allclose(found, [[0.6, 0.8], [0, 0], [-1, 0]], atol=1e-6)


def test_a_tiny_row_beside_a_huge_one_keeps_its_direction():
    found = unit_rows(np.array([[3e-30, 4e-30], [3e30, 4e30], [3, 4]], np.float32))
    assert np.allclose(found, [[0.6, 0.8]] * 3, atol=1e-6)
