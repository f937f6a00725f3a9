"""The smoother without parameters is Eqs. 5 and 6."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphs import dense_features, graphs
from kernode.hops import normalized_adjacency
from kernode.maps import Smoother


@given(graphs(), st.integers(0, 3))
def test_smoother_is_equations_5_and_6(graph, hops):
    k = np.linalg.matrix_power(normalized_adjacency(graph).toarray(), hops)
    x = dense_features(graph)
    assert np.allclose(Smoother(hops, averaged=False).of(graph), k @ x)
    assert np.allclose(Smoother(hops).of(graph), (k @ x) / k.sum(axis=1, keepdims=True))
