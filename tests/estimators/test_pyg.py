"""PyTorch Geometric's graphs and modules: what is taken, and what the errors say to write instead."""

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
    """The shop as a Data object: y is the taste's number."""
    at = {one: i for i, one in enumerate(shop.ids)}
    x = torch.tensor([shop.age, shop.spent]).T
    return Data(
        x=(x - x.mean(0)) / x.std(0),
        edge_index=torch.tensor([(at[u], at[v]) for u, v in shop.bought_together]).T,
        y=torch.tensor([i % 3 for i in range(60)]),
    )


@pytest.mark.parametrize("make", [HeteroData, lambda: FakeDataset(num_graphs=1), nx.karate_club_graph])
def test_other_things_than_one_graph_are_refused(make):
    with refused("setting", setting="data"):
        kn.from_pyg(make())


def test_several_labels_per_node_are_refused(data):
    data.y = torch.eye(3)[data.y]
    with pytest.raises(kn.InputError, match=r"y has 3 columns.*data\.y\.argmax"):
        kn.from_pyg(data)


def test_one_edge_attribute_is_the_weight_and_several_are_left_out_with_a_warning(data):
    data.edge_attr = torch.full((data.num_edges, 1), 2.5)
    graph = kn.from_pyg(data)
    assert "took edge_attr, one number per edge, for the weights of edges" in graph.notes
    assert (graph.adjacency.data == 2.5).all()
    data.edge_attr = torch.rand(data.num_edges, 3)
    with pytest.warns(kn.errors.KernodeWarning, match="edge_attr has 3 numbers per edge") as caught:
        graph = kn.from_pyg(data)
    assert caught[0].filename == __file__
    assert graph.notes[0] == "left out edge_attr: 3 numbers per edge"
    assert (graph.adjacency.data == 1).all()


@pytest.mark.parametrize(
    ("name", "value"), [("edge_attr", 0.0), ("edge_weight", -1.0), ("edge_weight", np.nan)]
)
def test_wrong_weights_are_named_with_their_edge(data, name, value):
    data[name] = torch.ones(data.num_edges)
    data[name][7] = value
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
    with pytest.raises(kn.InputError, match=f"^graph must be a kernode.Graph.*{way}"):
        quick().fit([0, 1], [0, 1], graph=thing)
    if not hasattr(thing, "__array__"):  # those may be pairs
        with pytest.raises(kn.InputError, match=r"must be a kernode\.Graph"):
            kn.LinkPredictor().fit(thing)


class Net(torch.nn.Module):
    """As in every tutorial, with a normalisation."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.first, self.second = layers.GCNConv(in_channels, 16), layers.GCNConv(16, out_channels)
        self.norm = layers.GraphNorm(16)

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
    with pytest.raises(kn.InputError, match=sentence):
        quick(**parts).fit([0, 1], [0, 1], graph=kn.from_pyg(data))


def test_a_module_trains_as_replicas_and_comes_back(data, tmp_path):
    graph, model = kn.from_pyg(data), quick(map=kn.maps.Wrapped.of(Net), replicas=3)
    train, test = np.arange(40), np.arange(40, 60)
    assert model.fit(train, graph.labels[train], graph=graph).score(test, graph.labels[test]) > 0.8
    again = kn.load_model(model.save(tmp_path / "net.safetensors"), graph=graph)
    assert np.array_equal(again.predict_proba(test), model.predict_proba(test))
