"""GCN, GAT, FastGCN, APPNP, presmoothed and modules of PyTorch Geometric as feature maps."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import clustered_graph, graphs
from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops import hop_matrices, normalized_adjacency
from kernode.maps import APPNP, GAT, GCN, FastGCN, FeatureMap, HopMLP, JKConcat, Presmoothed, Wrapped
from kernode.maps.base import input_rates
from kernode.maps.module import torch_geometric_nn

DOUBLE = Place.of(64)
SEEDS = torch.tensor([3, 4, 5])


class TwoLinear(torch.nn.Module):
    """A module of a user's own."""

    def __init__(self, in_channels, out_channels, width=4):
        super().__init__()
        self.first = torch.nn.Linear(in_channels, width)
        self.second = torch.nn.Linear(width, out_channels)

    def forward(self, x, edge_index):
        return self.second(torch.nn.functional.dropout(torch.relu(self.first(x)), 0.5, self.training))


MAPS = [
    GCN((4,), 3),
    GCN((), 3),
    GCN((4, 5), 3),
    FastGCN((4,), 3),
    APPNP((4,), 3, steps=3),
    Presmoothed((4,), 3),
    Presmoothed((), 3, powers="plain"),
    Presmoothed((4,), 3, powers="last", hops=1),
    GAT((8,), 3, heads=2),
    GAT((), 3),
    GAT((6, 4), 3, heads=2, attention_dropout=0),
    JKConcat((4, 4), 3),
    Wrapped.of(TwoLinear, outputs=3, width=6),
]
every_map = pytest.mark.parametrize("feature_map", MAPS, ids=str)


def start(feature_map, graph, seeds=SEEDS):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


@every_map
def test_replica_in_a_stack_equals_the_map_alone(feature_map):
    graph = clustered_graph(n=30)
    prepared, stack = start(feature_map, graph)
    rates = torch.full((3,), 0.5, dtype=torch.float64)
    together = [feature_map(stack, prepared), feature_map(stack, prepared, Dropout(Draws(SEEDS, 2), rates))]
    assert together[0].shape == (3, 30, 3)
    for i, seed in enumerate(SEEDS.tolist()):
        own = torch.tensor([seed])
        _, parameters = start(feature_map, graph, own)
        assert all(torch.equal(stack[name][i], value[0]) for name, value in parameters.items())
        alone = [
            feature_map(parameters, prepared),
            feature_map(parameters, prepared, Dropout(Draws(own, 2), rates[:1])),
        ]
        for one, all_ in zip(alone, together, strict=True):
            assert torch.allclose(one[0], all_[i], atol=1e-12)


@every_map
def test_gradients_pass_gradcheck(feature_map):
    graph = clustered_graph(n=7)
    prepared, parameters = start(feature_map, graph, SEEDS[:2])
    # from a random point: at zero biases relu and leaky relu have kinks
    random = torch.Generator().manual_seed(0)
    values = [torch.randn(p.shape, dtype=torch.float64, generator=random) for p in parameters.values()]
    dropout = Dropout(Draws(SEEDS[:2], 1), torch.full((2,), 0.3, dtype=torch.float64))

    def of(*tensors):
        return feature_map(dict(zip(parameters, tensors, strict=True)), prepared, dropout)

    assert torch.autograd.gradcheck(of, [value.requires_grad_() for value in values])


@every_map
def test_maps_travel_as_json(feature_map):
    assert FeatureMap.from_json(json.loads(json.dumps(feature_map.to_json()))) == feature_map


def test_stacked_gcn_equals_pygs_on_the_same_weights(cora):
    graph, _ = cora
    gcn = GCN((16,), 7)
    place = Place.of(32)
    prepared = gcn.prepare(graph, place)
    parameters = gcn.initial(prepared, Draws(SEEDS), place)
    for layer in (0, 1):
        parameters[f"bias_{layer}"] += 0.1 * torch.arange(3)[:, None]
    ours = gcn(parameters, prepared)
    convolution = torch_geometric_nn().GCNConv
    x = torch.tensor(graph.features.toarray() / graph.features.sum(axis=1)[:, None], dtype=torch.float32)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    for i in range(3):
        layers = [convolution(1433, 16), convolution(16, 7)]
        for number, layer in enumerate(layers):
            layer.lin.weight.data = parameters[f"weight_{number}"][i].T.contiguous()
            layer.bias.data = parameters[f"bias_{number}"][i].clone()
        theirs = layers[1](torch.relu(layers[0](x, edges)), edges)
        assert torch.allclose(ours[i], theirs, atol=1e-5)


def test_stacked_gat_equals_pygs_on_the_same_weights(cora):
    graph, _ = cora
    gat, place = GAT((16,), 7, heads=4), Place.of(64)
    prepared = gat.prepare(graph, place)
    parameters = gat.initial(prepared, Draws(SEEDS[:2]), place)
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
    x = graph.features.toarray() if sparse.issparse(graph.features) else graph.features
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
        kept = at_its_rate.mask(torch.ones(1, 2, count, dtype=torch.float64), layer)[0, i]
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


def test_gat_on_dense_features_equals_the_same_in_sparse_form():
    graph = clustered_graph(n=30)
    x = graph.features.toarray() if sparse.issparse(graph.features) else graph.features
    gat = GAT((8,), 3, heads=2)
    answers = []
    for features in (x, sparse.csr_array(x)):
        prepared, parameters = start(gat, replace(graph, features=features))
        answers.append(gat(parameters, prepared))
    assert torch.allclose(*answers, atol=1e-12)


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


def test_appnp_equals_pygs_propagation():
    graph = clustered_graph(n=40)
    appnp = APPNP((), 3, steps=5, teleport=0.2)
    prepared, parameters = start(appnp, graph)
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    theirs = torch_geometric_nn().APPNP(K=5, alpha=0.2)(prepared.features @ parameters["weight_0"][1], edges)
    assert torch.allclose(appnp(parameters, prepared)[1], theirs, atol=1e-9)


@given(graphs(), st.sampled_from(["each", "last", "plain"]), st.integers(1, 3))
def test_presmoothed_features_are_the_hops_of_x(graph, powers, hops):
    x = graph.features.toarray() if sparse.issparse(graph.features) else graph.features
    smoothed = Presmoothed(hops=hops, powers=powers, normalize_rows=False).smooth(graph)
    smoothed = smoothed.toarray() if sparse.issparse(smoothed) else smoothed
    if powers == "plain":
        expected = np.linalg.matrix_power(normalized_adjacency(graph).toarray(), hops) @ x
    else:
        expected = np.hstack([term @ x for term in hop_matrices(graph, hops, powers)])
    assert np.allclose(smoothed, expected)


def test_fastgcn_estimate_is_unbiased():
    """The mean of many sampled products is the full one, node by node, within its standard error."""
    graph = clustered_graph(n=20)
    fast = FastGCN((4,), 3, share=0.3)
    seeds = torch.arange(4_000)
    prepared = fast.prepare(graph, DOUBLE)
    weights = fast.weights(prepared.chance, Draws(seeds, 1))  # n × r
    error = weights.std(dim=1) / len(seeds) ** 0.5
    assert ((weights.mean(dim=1) - 1).abs() < 4.5 * error).all()
    one = {name: value.expand(4_000, -1, -1) for name, value in start(fast, graph, SEEDS[:1])[1].items()}
    no_dropout = torch.zeros(4_000, dtype=torch.float64)
    sampled = fast(one, prepared, Dropout(Draws(seeds, 1), no_dropout))
    full = fast({name: value[:1] for name, value in one.items()}, prepared)[0]
    deviation = (sampled.mean(dim=0) - full).abs()
    assert (deviation < 5 * sampled.std(dim=0) / len(seeds) ** 0.5 + 1e-12).all()
    assert sampled.std(dim=0).max() > 0.01  # it does sample


def test_fastgcn_draws_by_the_squared_norm_of_columns():
    graph = clustered_graph(n=15)
    chance = FastGCN().prepare(graph, DOUBLE).chance.numpy()
    columns = (normalized_adjacency(graph).toarray() ** 2).sum(axis=0)
    assert np.allclose(chance, columns / columns.sum())


def test_wrapped_modules_are_known_by_name_only():
    unknown = Wrapped("os.system")
    with pytest.raises(InputError, match="no module named"):
        unknown.module(3, 2)
    keeps_statistics = Wrapped.of(torch.nn.BatchNorm1d, outputs=2)
    with pytest.raises((InputError, TypeError)):
        keeps_statistics.prepare(clustered_graph(n=5), DOUBLE)


def test_module_with_buffers_is_refused():
    class Norm(torch.nn.Module):
        def __init__(self, in_channels, out_channels):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(in_channels)

    with pytest.raises(InputError, match="keeps buffers"):
        Wrapped.of(Norm, outputs=2).prepare(clustered_graph(n=5), DOUBLE)


def test_modules_leave_torchs_generator_alone():
    graph = clustered_graph(n=12)
    prepared, parameters = start(MAPS[-1], graph)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    MAPS[-1](parameters, prepared, Dropout(Draws(SEEDS, 1), torch.full((3,), 0.5)))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: GAT((7,), heads=2),
        lambda: GAT(attention_dropout=1.0),
        lambda: JKConcat((4, 5)),
        lambda: APPNP(teleport=0),
        lambda: FastGCN(share=0),
        lambda: Presmoothed(powers="none"),
        lambda: GCN(hidden=16),
        lambda: GCN(hidden=(0,)),
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError):
        wrong()


@pytest.mark.parametrize("feature_map", [HopMLP((4,), 3), GCN((4,), 3), APPNP((4,), 3, steps=2)], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_input_dropout_is_a_mask_on_x(feature_map, kind):
    graph = clustered_graph(n=30)
    graph = replace(graph, features=kind(graph.features))
    prepared, parameters = start(feature_map, graph)
    rates = torch.tensor([0.0, 0.3, 0.8], dtype=torch.float64)
    dropout = Dropout(Draws(SEEDS, 2), torch.zeros(3, dtype=torch.float64), rates)
    dropped = feature_map(parameters, prepared, dropout)
    plain = feature_map(parameters, prepared)
    assert torch.allclose(dropped[0], plain[0])
    assert not torch.allclose(dropped[1], plain[1])
    for i, seed in enumerate(SEEDS.tolist()):
        own = Dropout(Draws(torch.tensor([seed]), 2), torch.zeros(1, dtype=torch.float64), rates[i : i + 1])
        alone = feature_map({name: value[i : i + 1] for name, value in parameters.items()}, prepared, own)
        assert torch.allclose(alone[0], dropped[i])


def test_maps_without_input_dropout_say_so():
    with pytest.raises(InputError, match="GAT has no dropout on X"):
        input_rates(GAT(), torch.tensor([0.5]))
    assert input_rates(GAT(), torch.zeros(1)) is None
