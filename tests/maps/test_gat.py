"""GAT is PyTorch Geometric's, and its dropout that of dense algebra with the same masks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from experiments.rivals.jk import torch_geometric_nn
from graphs import clustered_graph, dense_features
from kernode.compute.draws import Draws, Dropout
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.maps import GAT
from tasks import DOUBLE, dropout_mask

SEEDS = torch.tensor([3, 4, 5])


def start(feature_map, graph, seeds=SEEDS):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


def test_stacked_gat_equals_pygs_on_the_same_weights(cora):
    graph, _ = cora
    gat = GAT((16,), 7, heads=4)
    prepared, parameters = start(gat, graph, SEEDS[:2])
    for layer in (0, 1):
        parameters[f"bias_{layer}"] += 0.1 * torch.arange(1, 3)[:, None]
    ours = gat(parameters, prepared)
    attention = torch_geometric_nn().GATConv
    x = torch.tensor(graph.features.toarray() / graph.features.sum(axis=1)[:, None], dtype=torch.float64)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    for i in range(2):
        layers = [attention(1433, 4, heads=4).double(), attention(16, 7).double()]
        for number, layer in enumerate(layers):
            for name, theirs in (("weight", layer.lin.weight), ("source", layer.att_src),
                                 ("target", layer.att_dst), ("bias", layer.bias)):  # fmt: skip
                own = parameters[f"{name}_{number}"][i]
                theirs.data = (own.T if name == "weight" else own).reshape(theirs.shape).clone()
        expected = layers[1](torch.nn.functional.elu(layers[0](x, edges)), edges)
        assert torch.allclose(ours[i], expected, atol=1e-10)


def test_gat_starts_as_published():
    """Glorot's bound of every layer's weights and of its heads' vectors, no two of them alike; no bias."""
    graph = clustered_graph(n=30)
    _, parameters = start(GAT((64,), 3), graph, torch.arange(200))
    sizes = {"weight_0": graph.n_features + 64, "weight_1": 64 + 3, "bias_0": None, "bias_1": None,
             "source_0": 8 + 8, "target_0": 8 + 8, "source_1": 1 + 3, "target_1": 1 + 3}  # fmt: skip
    assert set(parameters) == set(sizes)
    for name, size in sizes.items():
        bound = 0 if size is None else (6 / size) ** 0.5
        assert 0.98 * bound <= parameters[name].abs().max() <= bound
    assert not torch.equal(parameters["source_0"], parameters["target_0"])
    assert not torch.isclose(parameters["source_0"][:, 0], parameters["weight_1"][:, 0, :1]).all()


def dense_gat(gat, parameters, i, x, graph, masks):
    """One replica's g by dense algebra; masks: of the input and of the attention (heads × n × n) by layer."""
    there = torch.tensor((graph.adjacency + sparse.eye_array(graph.n_nodes)).toarray() > 0)
    for layer, (on_input, on_attention) in enumerate(masks):
        own = {name: parameters[f"{name}_{layer}"][i] for name in ("weight", "source", "target", "bias")}
        h = ((on_input * x) @ own["weight"]).unflatten(-1, (len(own["source"]), -1)).transpose(0, 1)
        to_source, to_target = (h @ own[side][..., None] for side in ("source", "target"))  # heads × n × 1
        scores = torch.nn.functional.leaky_relu(to_target + to_source.mT, 0.2)
        weights = scores.masked_fill(~there, -torch.inf).softmax(-1) * on_attention
        x = (weights @ h).transpose(0, 1).flatten(1) + own["bias"]
        x = torch.nn.functional.elu(x) if layer + 1 < len(masks) else x
    return x


def gradients_of(g, parameters):
    return torch.autograd.grad(g.square().sum(), list(parameters.values()), retain_graph=True)


@pytest.mark.parametrize("sparse_x", [True, False])
def test_gat_with_dropout_equals_dense_algebra_with_the_same_masks(sparse_x):
    graph = clustered_graph(n=25)
    x = dense_features(graph)
    x = x * (np.arange(x.size).reshape(x.shape) % 3 > 0)  # some zeros, whose masks do not matter
    graph = replace(graph, features=sparse.csr_array(x) if sparse_x else x)
    gat = GAT((6,), 3, heads=2, attention_dropout=0.3, normalize_rows=False)
    prepared, parameters = start(gat, graph, SEEDS[:2])
    dropout = Dropout(Draws(SEEDS[:2], 4), torch.tensor([0.9, 0.1]))  # not GAT's rates
    at_its_rate = Dropout(dropout.draws, torch.tensor([0.3, 0.3], dtype=torch.float64))
    ours = gat({name: p.requires_grad_() for name, p in parameters.items()}, prepared, dropout)
    looped = sparse.csr_array(graph.adjacency + sparse.eye_array(25))
    looped.sort_indices()
    rows, columns = (torch.tensor(each) for each in looped.nonzero())
    stored = torch.tensor(x != 0) if sparse_x else torch.ones(x.shape, dtype=bool)

    def mask(layer, i, where):
        """Dropout's own numbers at the places where they belong, in order."""
        count = int(where.sum())
        kept = dropout_mask(at_its_rate, torch.ones(1, 2, count, dtype=torch.float64), layer)[0, i]
        return torch.zeros(where.shape, dtype=torch.float64).masked_scatter(where, kept)

    there = torch.zeros(25, 25, dtype=bool).index_put((rows, columns), torch.tensor(True))
    for i in range(2):
        masks = [
            (mask(0, i, stored), mask(1, i, there.expand(2, 25, 25))),
            (mask(2, i, torch.ones(25, 6, dtype=bool)), mask(3, i, there[None])),
        ]
        expected = dense_gat(gat, parameters, i, torch.tensor(x), graph, masks)
        assert torch.allclose(ours[i], expected, atol=1e-12)
        for gradients in zip(*(gradients_of(g, parameters) for g in (ours[i], expected)), strict=True):
            assert torch.allclose(*gradients, atol=1e-12)
    assert not torch.allclose(ours, gat(parameters, prepared))


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.6])
@pytest.mark.parametrize("sparse_x", [True, False])
def test_gat_drops_inputs_and_attention_at_its_own_rate(rate, sparse_x):
    """A node with one word and no neighbour answers only if its word and its self-loop are both kept."""
    words = np.ones((40, 1))
    features = sparse.csr_array(words) if sparse_x else words
    graph = Graph.from_edges(np.zeros((0, 2), dtype=int), features=features, labels=np.zeros(40, dtype=int))
    gat, seeds = GAT((), 1, attention_dropout=rate), torch.arange(1_000)
    prepared, parameters = start(gat, graph, seeds)
    full = gat(parameters, prepared)
    share = gat(parameters, prepared, Dropout(Draws(seeds, 1), torch.full((1_000,), 0.9))) / full
    answers = share > 0
    assert answers.double().mean() == pytest.approx((1 - rate) ** 2, abs=0.01)  # five standard errors
    assert torch.allclose(share[answers], torch.tensor((1 - rate) ** -2, dtype=torch.float64), rtol=1e-4)
    assert share.mean() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("wrong", [lambda: GAT((7,), heads=2), lambda: GAT(attention_dropout=1.0)])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()
