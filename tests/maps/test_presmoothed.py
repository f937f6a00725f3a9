"""Presmoothed features are the hops of X."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import dense_features, graphs
from kernode.hops import hop_matrices, normalized_adjacency
from kernode.maps import Presmoothed
from refusals import refused


@given(graphs(), st.sampled_from(["each", "last", "plain"]), st.integers(1, 3))
def test_presmoothed_features_are_the_hops_of_x(graph, powers, hops):
    x = dense_features(graph)
    smoothed = Presmoothed(hops=hops, powers=powers, normalize_rows=False).smooth(graph)
    smoothed = smoothed.toarray() if sparse.issparse(smoothed) else smoothed
    if powers == "plain":
        expected = np.linalg.matrix_power(normalized_adjacency(graph).toarray(), hops) @ x
    else:
        expected = np.hstack([term @ x for term in hop_matrices(graph, hops, powers)])
    assert np.allclose(smoothed, expected)


def test_wrong_settings_are_refused():
    for powers in ("none", "released"):
        with refused("setting", setting="powers"):
            Presmoothed(powers=powers)
