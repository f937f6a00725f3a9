"""ClassicGNN is made of PyTorch Geometric's layers and torch's LayerNorm, for a stack of replicas."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from experiments.rivals.jk import torch_geometric_nn
from graphs import clustered_graph, dense_features, path_graph
from kernode.compute.draws import Draws
from kernode.maps import GCN, ClassicGNN
from refusals import refused
from tasks import DOUBLE

SEEDS = torch.tensor([3, 4, 5])
FULL = {"norm": True, "residual": True, "head": True}
PLAIN = {"norm": False, "residual": False, "head": False}


def start(feature_map, graph, *, moved=True):
    """What is prepared, and parameters that are nowhere at their first values, where biases are zero."""
    prepared = feature_map.prepare(graph, DOUBLE)
    parameters = feature_map.initial(prepared, Draws(SEEDS), DOUBLE)
    random = torch.Generator().manual_seed(0)
    if moved:
        for value in parameters.values():
            value += 0.3 * torch.randn(value.shape, dtype=value.dtype, generator=random)
    return prepared, parameters


NAMES = {
    "gcn": {"lin.weight": "weight", "bias": "bias"},
    "sage": {"lin_l.weight": "weight", "lin_l.bias": "bias", "lin_r.weight": "root"},
    "gat": {"lin.weight": "weight", "bias": "bias", "att_src": "source", "att_dst": "target"},
}


def pygs(kind, rows, columns, heads, own):
    """A layer of PyTorch Geometric with our weights."""
    nn = torch_geometric_nn()
    if kind == "gat":
        layer = nn.GATConv(rows, columns // heads, heads=heads)
    else:
        layer = (nn.GCNConv if kind == "gcn" else nn.SAGEConv)(rows, columns)
    layer = layer.double()
    for path, name in NAMES[kind].items():
        theirs = layer.get_parameter(path)
        ours = own[name].T if path.endswith("weight") else own[name]
        theirs.data = ours.reshape(theirs.shape).clone()
    return layer


def as_published(one, parameters, i, graph):
    """One replica's g, written down as the paper's code has it, from PyG's layers."""
    x = torch.tensor(dense_features(graph))
    edges = torch.tensor(np.stack(graph.adjacency.nonzero()))
    widths = [x.shape[1], *one.hidden, one.outputs]
    for layer in range(one.reach):
        own = {name.removesuffix(f"_{layer}"): value[i] for name, value in parameters.items()
               if name.endswith(f"_{layer}")}  # fmt: skip
        last = layer == len(one.hidden)
        convolution = pygs(one.layer, widths[layer], widths[layer + 1], 1 if last else one.heads, own)
        h = convolution(x, edges)
        if last:
            return h
        if one.residual:
            h = h + x @ own["residual"] + own["residual_bias"]
        if one.norm:
            h = functional.layer_norm(h, h.shape[-1:], own["norm_scale"], own["norm_shift"])
        x = torch.relu(h)
    return x @ parameters["head"][i] + parameters["head_bias"][i]


@pytest.mark.parametrize("parts", [FULL, PLAIN, {"norm": True, "residual": False}, {"norm": False}], ids=str)
@pytest.mark.parametrize(("kind", "heads"), [("gcn", 1), ("sage", 1), ("gat", 1), ("gat", 2)])
def test_stacked_layers_equal_pygs_on_the_same_weights(kind, heads, parts):
    graph = clustered_graph(n=40)
    one = ClassicGNN(kind, (6, 4), 3, heads=heads, **parts)
    prepared, parameters = start(one, graph)
    ours = one(parameters, prepared)
    for i in range(3):
        assert torch.allclose(ours[i], as_published(one, parameters, i, graph), atol=1e-10)


def test_a_plain_gcn_is_gcn():
    graph = clustered_graph(n=40)
    classic, gcn = ClassicGNN("gcn", (5,), 3, **PLAIN), GCN((5,), 3, normalize_rows=False)
    prepared, parameters = start(classic, graph)
    assert torch.allclose(classic(parameters, prepared), gcn(parameters, gcn.prepare(graph, DOUBLE)))


def test_graphsage_of_a_node_without_neighbours_is_its_root_alone():
    one = ClassicGNN("sage", (4,), 3, **PLAIN)
    alone = path_graph(1)
    prepared, parameters = start(one, alone)
    hidden = torch.relu(prepared.features @ parameters["root_0"] + parameters["bias_0"][:, None])
    expected = torch.bmm(hidden, parameters["root_1"]) + parameters["bias_1"][:, None]
    assert torch.allclose(one(parameters, prepared), expected)


def test_it_starts_as_pygs_and_torchs_layers_do():
    """Bounds of the uniform draws: Glorot's for GCN and GAT, 1/√inputs for linear layers and GraphSAGE."""
    graph = clustered_graph(n=30)
    glorot, torchs = (6 / (8 + 50)) ** 0.5, 8**-0.5
    bounds = {
        "gcn": {"weight_0": glorot, "bias_0": 0.0},
        "sage": {"weight_0": torchs, "root_0": torchs, "bias_0": torchs},
        "gat": {"weight_0": glorot, "source_0": (6 / 51) ** 0.5, "target_0": (6 / 51) ** 0.5, "bias_0": 0.0},
    }
    linear = {"residual_0": torchs, "residual_bias_0": torchs, "head": 50**-0.5, "head_bias": 50**-0.5}
    for kind, own in bounds.items():
        _, parameters = start(ClassicGNN(kind, (50,), 20), graph, moved=False)
        for name, bound in (own | linear).items():
            assert 0.9 * bound <= parameters[name].abs().max() <= bound, name
        drawn = [value.flatten()[:5] for value in parameters.values() if value.unique().numel() > 1]
        signs = {tuple((each / each.abs().max()).tolist()) for each in drawn}
        assert len(signs) == len(drawn)  # no two of them alike


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        ({"layer": "gin"}, "layer"),
        ({"hidden": ()}, "hidden"),
        ({"layer": "gat", "heads": 3}, "hidden"),
        ({"heads": 2}, "heads"),
    ],
)
def test_wrong_settings_are_refused(wrong, setting):
    with refused("setting", setting=setting):
        ClassicGNN(**wrong)
