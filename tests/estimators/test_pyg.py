"""People who come from PyTorch Geometric, with its graphs, its layers and modules of their own."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import kernode as kn
from refusals import refused

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of torch, about how PyTorch Geometric uses it
    geometric = pytest.importorskip("torch_geometric")
    from torch_geometric import nn as layers
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.datasets import FakeDataset


def quick(**settings):
    return kn.NodeKernelClassifier("n1", epochs=20, learning_rate=0.05, device="cpu", **settings)


@pytest.fixture
def data(shop):
    """The shop as a Data object: y is the taste's number, train_mask the first forty."""
    at = {one: i for i, one in enumerate(shop.ids)}
    x = torch.tensor([shop.age, shop.spent]).T
    return Data(
        x=(x - x.mean(0)) / x.std(0),
        edge_index=torch.tensor([(at[u], at[v]) for u, v in shop.bought_together]).T,
        y=torch.tensor([i % 3 for i in range(60)]),
        train_mask=torch.arange(60) < 40,
    )


def learned(model, graph, data):
    """Fit on the mask's nodes; the accuracy on the others."""
    train, test = np.flatnonzero(data.train_mask), np.flatnonzero(~data.train_mask)
    return model.fit(train, graph.labels[train], graph=graph).score(test, graph.labels[test])


# ---- graphs


@pytest.mark.parametrize(
    "make",
    [
        HeteroData,
        lambda: FakeDataset(num_graphs=1),
        nx.karate_club_graph,
        lambda: {"x": 1},
        lambda: Data(x=torch.eye(2)),
    ],
)
def test_what_is_not_one_graph_is_refused(make):
    """Whatever the loader gave was passed on."""
    with refused("setting", setting="data"):
        kn.from_pyg(make())


def test_several_labels_per_node_are_refused(data):
    """Proteins have several functions each."""
    data.y = torch.eye(3)[data.y]
    with pytest.raises(kn.InputError, match=r"y has 3 columns.*data\.y\.argmax"):
        kn.from_pyg(data)


def test_wide_edge_attributes_are_not_dropped_in_silence(data):
    """Edges had three numbers each, and nothing said that none was used."""
    data.edge_attr = torch.rand(data.num_edges, 3)
    with pytest.warns(kn.errors.KernodeWarning, match="edge_attr has 3 numbers per edge") as said:
        graph = kn.from_pyg(data)
    assert said[0].filename == __file__
    assert graph.notes[0] == "left out edge_attr: 3 numbers per edge"
    assert (graph.adjacency.data == 1).all()


def test_one_edge_attribute_is_the_weight_and_is_said_to_be(data):
    """One number was kept."""
    data.edge_attr = torch.full((data.num_edges, 1), 2.5)
    graph = kn.from_pyg(data)
    assert "took edge_attr, one number per edge, for the weights of edges" in graph.notes
    assert (graph.adjacency.data == 2.5).all()


@pytest.mark.parametrize(
    ("field", "value"), [("edge_attr", 0.0), ("edge_weight", -1.0), ("edge_weight", np.nan)]
)
def test_weights_that_are_none_say_which_edge_and_where(data, field, value):
    """Correlations run from −1 to 1."""
    data[field] = torch.ones(data.num_edges)
    data[field][7] = value
    with pytest.raises(kn.InputError, match=rf"edge 7 has weight {value}"):
        kn.from_pyg(data)


@pytest.mark.parametrize(
    ("thing", "way"),
    [
        (Data(), "kernode.from_pyg"),
        (nx.Graph(), "kernode.from_networkx"),
        (sparse.eye(3), "kernode.from_scipy"),
        (np.eye(3), "kernode.from_scipy"),
        (pd.DataFrame({"a": [1]}), "kernode.read_table"),
        ("cora", "kernode.load"),
        (kn.load("synthetic:nodes=60,degree=2,seed=0", split="0.5/0.2/0.3"), "graph, split = kernode.load"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_graph_of_another_library_names_its_converter(thing, way):
    """fit was given what there was."""
    with pytest.raises(kn.InputError, match=f"^graph must be a kernode.Graph.*{way}"):
        quick().fit([0, 1], [0, 1], graph=thing)
    if not hasattr(thing, "__array__"):  # those may be pairs
        with pytest.raises(kn.InputError, match=r"must be a kernode\.Graph"):
            kn.LinkPredictor().fit(thing)


# ---- layers and modules


class Net(torch.nn.Module):
    """As in every tutorial, with a normalisation."""

    def __init__(self, in_channels, out_channels, norm="batch"):
        super().__init__()
        self.first = layers.GCNConv(in_channels, 16)
        self.norm = layers.BatchNorm(16) if norm == "batch" else layers.GraphNorm(16)
        self.second = layers.GCNConv(16, out_channels)

    def forward(self, x, edge_index, edge_weight=None):
        return self.second(self.norm(self.first(x, edge_index, edge_weight)).relu(), edge_index, edge_weight)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"map": kn.maps.GCN}, r"Got the class GCN: write map=GCN\(…\)"),
        ({"map": kn.maps.Smoother(), "kernel": kn.kernels.RBF}, r"write kernel=RBF\(…\)"),
        ({"kernel": kn.kernels.Normalized}, r"write kernel=Normalized\(…\)"),
        ({"map": Net}, r"Got the class Net: write map=kernode.maps.Wrapped.of\(Net, …\)"),
        ({"map": Net(2, 3)}, r"Got an instance of Net: write map=kernode.maps.Wrapped.of\(Net, …\)"),
        ({"map": layers.GCNConv}, r"Wrapped.of\(GCNConv, …\)"),
        ({"loss": kn.losses.Hinge}, r"write loss=Hinge\(…\)"),
        ({"loss": "joint", "kernel_loss": kn.losses.Hinge}, r"write kernel_loss=Hinge\(…\)"),
    ],
)
def test_a_part_in_another_form_says_what_to_write(data, parts, sentence):
    """Written as the other library wants it."""
    with pytest.raises(kn.InputError, match=sentence):
        quick(**parts).fit([0, 1], [0, 1], graph=kn.from_pyg(data))


@pytest.mark.parametrize("norm", ["batch", "graph"])
def test_a_module_with_normalisation_trains_as_replicas_and_comes_back(data, norm, tmp_path):
    """A net of one's own, five times at once."""
    graph, model = kn.from_pyg(data), quick(map=kn.maps.Wrapped.of(Net, norm=norm), replicas=3)
    assert learned(model, graph, data) > 0.8
    again = kn.load_model(model.save(tmp_path / "net.safetensors"), graph=graph)
    assert np.array_equal(again.predict_proba(range(60)), model.predict_proba(range(60)))


def test_weights_of_edges_reach_a_module_that_takes_them(data):
    """Edges between tastes are noise, and their weights say so."""
    same = data.y[data.edge_index[0]] == data.y[data.edge_index[1]]
    other = torch.randint(60, (2, 300), generator=torch.Generator().manual_seed(0))
    data.edge_index = torch.cat([data.edge_index[:, same], other], dim=1)
    data.edge_weight = torch.cat([torch.full((int(same.sum()),), 5.0), torch.full((300,), 0.01)])
    data.x = torch.rand(60, 8, generator=torch.Generator().manual_seed(0))  # edges alone tell
    graph, gcn = kn.from_pyg(data), kn.maps.Wrapped.of(Net)
    assert learned(quick(map=gcn, replicas=2), graph, data) > 0.8
    with pytest.warns(kn.errors.KernodeWarning, match="GATConv is not given the weights"):
        quick(map=kn.maps.Wrapped.of(layers.GATConv)).fit(range(40), data.y[:40], graph=graph)
