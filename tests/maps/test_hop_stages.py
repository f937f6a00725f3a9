"""HopStages is Eq. 7 again and again, with LayerNorm and relu between."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import dense_features, graphs
from kernode.compute.draws import Draws
from kernode.hops import hop_matrices
from kernode.maps import HopStages
from tasks import DOUBLE


@given(graphs(), st.integers(1, 2), st.sampled_from([(), (4,), (4, 3)]), st.booleans())
def test_stages_are_equation_7_in_turn(graph, hops, hidden, norm):
    """One replica at a time, in plain dense numpy."""
    feature_map = HopStages(hidden, 2, hops, norm=norm)
    prepared = feature_map.prepare(graph, DOUBLE)
    random = torch.Generator().manual_seed(0)
    parameters = {
        name: value + torch.randn(value.shape, dtype=value.dtype, generator=random)
        for name, value in feature_map.initial(prepared, Draws(torch.tensor([3, 4])), DOUBLE).items()
    }
    ours = feature_map(parameters, prepared)
    terms = [term.toarray() for term in hop_matrices(graph, hops)]
    for replica in range(2):
        own = {name: value[replica].numpy() for name, value in parameters.items()}
        x = dense_features(graph).astype(float)
        for stage in range(len(hidden) + 1):
            by_hop = np.split(own[f"weight_{stage}"], hops + 1, axis=1)
            x = sum(term @ x @ weight for term, weight in zip(terms, by_hop, strict=True))
            if stage < len(hidden):
                x = x + own[f"bias_{stage}"]
                if norm:
                    x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
                    x = x * own[f"norm_scale_{stage}"] + own[f"norm_shift_{stage}"]
                x = np.maximum(x, 0)
        assert np.allclose(ours[replica], x, atol=1e-8)
