"""Other architectures are the layers of PyTorch Geometric and torch on the same weights, as stacks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.nn import functional

from experiments.rivals.jk import torch_geometric_nn
from graphs import clustered_graph, dense_features, path_graph
from kernode.compute.draws import Draws, Dropout
from kernode.graph import Graph
from kernode.maps import GAT, GCN, GCNII, MLP, ClassicGNN, Diffusion
from tasks import DOUBLE, dropout_mask

SEEDS = torch.tensor([3, 4])
GRAPH = clustered_graph(n=40)
X, EDGES = torch.tensor(dense_features(GRAPH)), torch.tensor(np.stack(GRAPH.adjacency.nonzero()))
PLAIN = {"norm": False, "residual": False, "head": False}
NAMES = {
    "gcn": {"lin.weight": "weight", "bias": "bias"},
    "sage": {"lin_l.weight": "weight", "lin_l.bias": "bias", "lin_r.weight": "root"},
    "gat": {"lin.weight": "weight", "bias": "bias", "att_src": "source", "att_dst": "target"},
}


def start(feature_map, graph=GRAPH, seeds=SEEDS, *, moved=0.3):
    """What is prepared, and parameters that are nowhere at their first values, where biases are zero."""
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(seeds), DOUBLE)
    random = torch.Generator().manual_seed(0)
    for value in parameters.values():
        value += moved * torch.randn(value.shape, dtype=value.dtype, generator=random)
    return prepared, parameters


def check(feature_map, by_hand):
    """g of each replica is what plain layers with its parameters give."""
    prepared, parameters = start(feature_map)
    for i, g in enumerate(feature_map(parameters, prepared)):
        own = {name: value[i] for name, value in parameters.items()}
        assert torch.allclose(g, by_hand(own), atol=1e-10)


def pygs(kind, rows, columns, own, layer, heads=1):
    """A layer of PyTorch Geometric with our weights."""
    nn = torch_geometric_nn()
    if kind == "gat":
        theirs = nn.GATConv(rows, columns // heads, heads=heads)
    else:
        theirs = (nn.GCNConv if kind == "gcn" else nn.SAGEConv)(rows, columns)
    theirs = theirs.double()
    for path, name in NAMES[kind].items():
        ours = own[f"{name}_{layer}"]
        parameter = theirs.get_parameter(path)
        parameter.data = (ours.T if path.endswith("weight") else ours).reshape(parameter.shape).clone()
    return theirs


def normalized(h, own, layer):
    return functional.layer_norm(h, h.shape[-1:], own[f"norm_scale_{layer}"], own[f"norm_shift_{layer}"])


@pytest.mark.parametrize("parts", [{}, PLAIN, {"residual": False}, {"norm": False}], ids=str)
@pytest.mark.parametrize(("kind", "heads"), [("gcn", 1), ("sage", 1), ("gat", 1), ("gat", 2)])
def test_classic_gnns(kind, heads, parts):
    one = ClassicGNN(kind, (6, 4), 3, heads=heads, **parts)

    def by_hand(own):
        x, widths = X, [X.shape[1], 6, 4, 3]
        for layer in range(one.reach):
            last = layer == 2
            convolution = pygs(kind, *widths[layer : layer + 2], own, layer, 1 if last else heads)
            h = convolution(x, EDGES)
            if last:
                return h
            if one.residual:
                h = h + x @ own[f"residual_{layer}"] + own[f"residual_bias_{layer}"]
            x = torch.relu(normalized(h, own, layer) if one.norm else h)
        return x @ own["head"] + own["head_bias"]

    check(one, by_hand)


def test_gcn():
    def by_hand(own):
        layers = [pygs("gcn", rows, columns, own, i) for i, (rows, columns) in enumerate([(8, 6), (6, 3)])]
        return layers[1](torch.relu(layers[0](X, EDGES)), EDGES)

    check(GCN((6,), 3, normalize_rows=False), by_hand)


def test_gat():
    def by_hand(own):
        layers = pygs("gat", 8, 16, own, 0, 4), pygs("gat", 16, 3, own, 1)
        return layers[1](functional.elu(layers[0](X, EDGES)), EDGES)

    check(GAT((16,), 3, heads=4, normalize_rows=False), by_hand)


@pytest.mark.parametrize(("alpha", "theta"), [(0.1, 0.5), (0.5, 1.5)])
def test_gcnii(alpha, theta):
    def by_hand(own):
        x = first = torch.relu(X @ own["weight_0"] + own["bias_0"])
        for layer in range(1, 5):
            theirs = torch_geometric_nn().GCN2Conv(6, alpha, theta, layer).double()
            theirs.weight1.data = own[f"weight_{layer}"].clone()
            x = torch.relu(theirs(x, first, EDGES))
        return x @ own["weight_5"] + own["bias_5"]

    check(GCNII((6,), 3, depth=4, alpha=alpha, theta=theta, normalize_rows=False), by_hand)


@pytest.mark.parametrize("norm", [False, True])
def test_mlp(norm):
    def by_hand(own):
        x = X
        for layer in range(3):
            x = x @ own[f"weight_{layer}"] + own[f"bias_{layer}"]
            if layer < 2:
                x = torch.relu(normalized(x, own, layer) if norm else x)
        return x

    check(MLP((6, 5), 3, norm=norm), by_hand)


@pytest.mark.parametrize("teleport", [0.1, 0.5])
def test_diffusion_with_learned_weights_is_gprgnns_propagation(teleport):
    """Σ_k γ_k Ã^k MLP(X), with PyG's Ã, and γ beginning at a(1 − a)^k, the last at (1 − a)^K."""
    gpr = Diffusion((6,), 3, hops=10, teleport=teleport, normalize_rows=False)
    first = [teleport * (1 - teleport) ** k for k in range(10)] + [(1 - teleport) ** 10]
    assert np.allclose(start(gpr, moved=0)[1]["hop_weights"], first)
    step = torch_geometric_nn().SGConv(3, 3, K=1, bias=False).double()  # x → Ã x W
    step.lin.weight.data = torch.eye(3, dtype=torch.float64)

    def by_hand(own):
        x = torch.relu(X @ own["weight_0"] + own["bias_0"]) @ own["weight_1"]
        expected = own["hop_weights"][0] * x
        for weight in own["hop_weights"][1:]:
            x = step(x, EDGES)
            expected = expected + weight * x
        return expected

    check(gpr, by_hand)


def test_diffusion_with_pageranks_weights_is_appnps_propagation():
    theirs = torch_geometric_nn().APPNP(K=5, alpha=0.2)
    appnp = Diffusion((), 3, hops=5, hop_weights="pagerank", teleport=0.2, normalize_rows=False)
    check(appnp, lambda own: theirs(X @ own["weight_0"], EDGES))


def test_graphsage_of_a_node_without_neighbours_is_its_root_alone():
    one = ClassicGNN("sage", (4,), 3, **PLAIN)
    prepared, parameters = start(one, path_graph(1))
    hidden = torch.relu(prepared.features @ parameters["root_0"] + parameters["bias_0"][:, None])
    expected = torch.bmm(hidden, parameters["root_1"]) + parameters["bias_1"][:, None]
    assert torch.allclose(one(parameters, prepared), expected)


# how they start

GLOROT, TORCHS = (6 / (8 + 50)) ** 0.5, 8**-0.5  # bounds of uniform draws: Glorot's, and 1/√inputs
CLASSIC = {"residual_0": TORCHS, "residual_bias_0": TORCHS, "head": 50**-0.5, "head_bias": 50**-0.5}


@pytest.mark.parametrize(
    ("feature_map", "bounds"),
    [
        (ClassicGNN("gcn", (50,), 20), CLASSIC | {"weight_0": GLOROT, "bias_0": 0}),
        (ClassicGNN("sage", (50,), 20), CLASSIC | {"weight_0": TORCHS, "root_0": TORCHS, "bias_0": TORCHS}),
        (
            ClassicGNN("gat", (50,), 20),
            CLASSIC | {"weight_0": GLOROT, "source_0": (6 / 51) ** 0.5, "target_0": (6 / 51) ** 0.5},
        ),
        (
            GAT((50,), 20, heads=2),
            {
                "weight_0": GLOROT, "weight_1": (6 / 70) ** 0.5, "bias_0": 0, "bias_1": 0,
                "source_0": (6 / 27) ** 0.5, "target_0": (6 / 27) ** 0.5, "source_1": (6 / 21) ** 0.5,
            },
        ),
        (MLP((50,), 20), {"weight_0": TORCHS, "bias_0": TORCHS, "weight_1": 50**-0.5, "bias_1": 50**-0.5}),
    ],
    ids=str,
)  # fmt: skip
def test_they_start_as_published(feature_map, bounds):
    _, parameters = start(feature_map, seeds=torch.arange(20), moved=0)
    for name, bound in bounds.items():
        assert 0.9 * bound <= parameters[name].abs().max() <= bound, name
    drawn = [value.flatten()[:5] for value in parameters.values() if value.unique().numel() > 1]
    signs = {tuple((each / each.abs().max()).tolist()) for each in drawn}
    assert len(signs) == len(drawn)  # no two of them alike


# their dropout


def test_what_comes_back_in_every_layer_of_gcnii_has_no_dropout():
    """With alpha = 1 only H₀ passes: what dropout left out in the first layer is still there."""
    gcnii = GCNII((6,), 3, depth=1, alpha=1.0)
    prepared, parameters = start(gcnii)
    dropout = Dropout(Draws(SEEDS, 1), torch.full((2,), 0.5, dtype=torch.float64))
    # n × r × width, of the last layer
    masks = dropout_mask(dropout, torch.ones(40, 2, 6, dtype=torch.float64), 2)
    dropped = gcnii(parameters, prepared, dropout)
    b = np.log(1.5)
    for i in range(2):
        own = {name: value[i] for name, value in parameters.items()}
        first = torch.relu(prepared.features @ own["weight_0"] + own["bias_0"])
        x = torch.relu((1 - b) * first + b * first @ own["weight_1"]) * masks[:, i]
        assert torch.allclose(dropped[i], x @ own["weight_2"] + own["bias_2"])


def dense_gat(parameters, i, x, graph, masks):
    """One replica's g by dense algebra; masks: of the input and of the attention (heads × n × n) by layer."""
    there = torch.tensor((graph.adjacency + sparse.eye_array(graph.n_nodes)).toarray() > 0)
    for layer, (on_input, on_attention) in enumerate(masks):
        own = {name: parameters[f"{name}_{layer}"][i] for name in ("weight", "source", "target", "bias")}
        h = ((on_input * x) @ own["weight"]).unflatten(-1, (len(own["source"]), -1)).transpose(0, 1)
        to_source, to_target = (h @ own[side][..., None] for side in ("source", "target"))  # heads × n × 1
        scores = functional.leaky_relu(to_target + to_source.mT, 0.2)
        weights = scores.masked_fill(~there, -torch.inf).softmax(-1) * on_attention
        x = (weights @ h).transpose(0, 1).flatten(1) + own["bias"]
        x = functional.elu(x) if layer + 1 < len(masks) else x
    return x


@pytest.mark.parametrize("sparse_x", [True, False])
def test_gat_with_dropout_equals_dense_algebra_with_the_same_masks(sparse_x):
    graph = clustered_graph(n=25)
    x = dense_features(graph)
    x = x * (np.arange(x.size).reshape(x.shape) % 3 > 0)  # some zeros, whose masks do not matter
    graph = replace(graph, features=sparse.csr_array(x) if sparse_x else x)
    gat = GAT((6,), 3, heads=2, attention_dropout=0.3, normalize_rows=False)
    prepared, parameters = start(gat, graph)
    dropout = Dropout(Draws(SEEDS, 4), torch.tensor([0.9, 0.1]))  # not GAT's rates
    at_its_rate = Dropout(dropout.draws, torch.tensor([0.3, 0.3], dtype=torch.float64))
    ours = gat({name: p.requires_grad_() for name, p in parameters.items()}, prepared, dropout)
    there = torch.tensor((graph.adjacency + sparse.eye_array(25)).toarray() > 0)
    stored = torch.tensor(x != 0) if sparse_x else torch.ones(x.shape, dtype=bool)

    def mask(layer, i, where):
        """Dropout's own numbers at the places where they belong, in order."""
        count = int(where.sum())
        kept = dropout_mask(at_its_rate, torch.ones(1, 2, count, dtype=torch.float64), layer)[0, i]
        return torch.zeros(where.shape, dtype=torch.float64).masked_scatter(where, kept)

    for i in range(2):
        masks = [
            (mask(0, i, stored), mask(1, i, there.expand(2, 25, 25))),
            (mask(2, i, torch.ones(25, 6, dtype=bool)), mask(3, i, there[None])),
        ]
        expected = dense_gat(parameters, i, torch.tensor(x), graph, masks)
        assert torch.allclose(ours[i], expected, atol=1e-12)
        gradients = (
            torch.autograd.grad(g.square().sum(), list(parameters.values()), retain_graph=True)
            for g in (ours[i], expected)
        )
        for one, other in zip(*gradients, strict=True):
            assert torch.allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(("rate", "sparse_x"), [(0.0, True), (0.25, False), (0.6, True)])
def test_gat_drops_inputs_and_attention_at_its_own_rate(rate, sparse_x):
    """A node with one word and no neighbour answers only if its word and its self-loop are both kept."""
    words = np.ones((40, 1))
    features = sparse.csr_array(words) if sparse_x else words
    graph = Graph.from_edges(np.zeros((0, 2), dtype=int), features=features, labels=np.zeros(40, dtype=int))
    gat, seeds = GAT((), 1, attention_dropout=rate), torch.arange(1_000)
    prepared, parameters = start(gat, graph, seeds, moved=0)
    full = gat(parameters, prepared)
    share = gat(parameters, prepared, Dropout(Draws(seeds, 1), torch.full((1_000,), 0.9))) / full
    answers = share > 0
    assert answers.double().mean() == pytest.approx((1 - rate) ** 2, abs=0.01)  # five standard errors
    assert torch.allclose(share[answers], torch.tensor((1 - rate) ** -2, dtype=torch.float64), rtol=1e-4)


@pytest.mark.parametrize(("replicas", "hidden"), [(1, ()), (1, (4,)), (2, (4,))])
def test_gradient_of_attention_with_dropout_is_the_true_one(replicas, hidden):
    """Also where heads and replicas are views of one tensor."""
    seeds = torch.arange(replicas)
    gat = GAT(hidden, 2, heads=2 if hidden else 8, attention_dropout=0.4)
    prepared, parameters = start(gat, clustered_graph(12, features=3), seeds)
    dropout = Dropout(Draws(seeds, 1), torch.full((replicas,), 0.5, dtype=torch.float64))

    def g(*values):
        return gat(dict(zip(parameters, values, strict=True)), prepared, dropout)

    assert torch.autograd.gradcheck(g, [value.requires_grad_() for value in parameters.values()])
