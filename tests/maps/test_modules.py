"""Modules of PyTorch and PyTorch Geometric as maps: known by name, with buffers and weights of edges."""

import warnings

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS
from kernode.errors import InputError
from kernode.kernels import Linear
from kernode.losses import Softmax
from kernode.maps import Wrapped
from kernode.tasks.classes.method import Method
from kernode.training.checkpoint import Checkpoint
from kernode.training.settings import Training
from parts import Normed
from tasks import DOUBLE, LABELS, SPLIT, CutAt, PowerCutError, node_task, trained


def weighted(graph):
    """The same graph with weights that differ."""
    adjacency = graph.adjacency.copy()
    u, v = adjacency.nonzero()
    adjacency.data = 0.5 + (u + v) % 5
    return kn.Graph(adjacency, graph.features, graph.labels)


class Sums(torch.nn.Module):
    """Weighted sums over neighbours."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, out_channels)

    def forward(self, x, edge_index, edge_weight=None):
        weights = torch.ones(edge_index.shape[1], dtype=x.dtype) if edge_weight is None else edge_weight
        return self.linear(
            torch.zeros_like(x).index_add(0, edge_index[1], weights[:, None] * x[edge_index[0]])
        )


class NeedsWeights(Sums):
    """The same, but weights must be given."""

    def forward(self, x, edge_index, *, edge_weight):
        return super().forward(x, edge_index, edge_weight)


class Momentless(torch.nn.Module):
    """Statistics as plain means over all steps, by a count, and one buffer that is reassigned."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(in_channels, momentum=None)
        self.linear = torch.nn.Linear(in_channels, out_channels)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x, edge_index):
        if self.training:
            self.steps = self.steps + 1
        return self.linear(self.norm(x))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Wrapped("os.system").module(3, 2), "no module named"),
        (lambda: Wrapped.of(Sums(3, 2)), "Got an instance of Sums"),
        (lambda: Wrapped.of(kn.maps.GCN), "Wrapped.of takes a class of torch modules"),
        (lambda: Wrapped.of(type("Normed", (Sums,), {})), "'Normed' is the name of parts.Normed in files"),
    ],
)
def test_what_is_no_module_class_is_one_sentence(make, sentence):
    assert Wrapped.of(Normed).name == "Normed"
    with pytest.raises(InputError, match=sentence):
        make()


def test_a_forward_without_a_row_per_node_is_one_sentence():
    class Pooled(Sums):
        def forward(self, x, edge_index):
            return x.mean(dim=0)

    with pytest.raises(InputError, match=r"Pooled's forward must give one vector per node \(120 rows\)"):
        trained(Method(Wrapped.of(Pooled, outputs=2), Linear(), Softmax()), graph=CLUSTERS)


# ---- buffers


def by_hand(kind, seed, epochs, rate=0.05):
    """Plain torch: the module from the same start, Adam, every statistic the module's own."""
    method = Method(Wrapped.of(kind, outputs=3), Linear(), Softmax())
    (learner,) = node_task(seeds=(seed,)).begin(method, Training(epochs=1)).learners
    module = kind(CLUSTERS.n_features, 3).double()
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(learner.parameters[f"map.{name}"][0])
    bias = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([*module.parameters(), bias], lr=rate)
    x, train, y = learner.prepared.features, torch.tensor(SPLIT.train), torch.tensor(LABELS)
    for _ in range(epochs):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(module.train()(x, None)[train] + bias, y).backward()
        adam.step()
    with torch.no_grad():
        return module, module.eval()(x, None)


@pytest.mark.parametrize("kind", [Normed, Momentless])
def test_batch_statistics_are_those_of_a_plain_torch_loop(kind):
    method = Method(Wrapped.of(kind, outputs=3), Linear(), Softmax())
    training = Training(epochs=7, learning_rate=0.05, weight_decay=0.0, dropout=0.0, selection="last")
    found = trained(method, training, seeds=(0, 1, 2))
    assert not torch.equal(found.parameters["map.linear.weight"][0], found.parameters["map.linear.weight"][1])
    for i, seed in enumerate((0, 1, 2)):
        module, g = by_hand(kind, seed, 7)
        for name, value in module.state_dict().items():
            assert torch.allclose(found.parameters[f"map.{name}"][i], value.double(), atol=1e-10), name
        own = {name.removeprefix("map."): p for name, p in found.parameters.items() if "map." in name}
        assert torch.allclose(method.map(own, found.prepared)[i], g, atol=1e-10)


def test_answers_leave_statistics_alone_and_files_keep_them(tmp_path):
    model = kn.NodeKernelClassifier("n1", map=Wrapped.of(Normed), epochs=9, replicas=2, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    statistics = model.model_.parameters["map.norm.running_mean"].clone()
    before = model.predict_proba(SPLIT.test)
    assert torch.equal(model.model_.parameters["map.norm.running_mean"], statistics)
    assert not torch.equal(statistics, torch.zeros_like(statistics))
    assert (
        model.model_.parameters["map.norm.num_batches_tracked"].tolist() == model.model_.kept_epochs.tolist()
    )
    again = kn.load_model(model.save(tmp_path / "normed.safetensors"), graph=CLUSTERS)
    assert np.array_equal(again.predict_proba(SPLIT.test), before)


def test_statistics_survive_an_interruption(tmp_path):
    method, training = Method(Wrapped.of(Normed, outputs=3), Linear(), Softmax()), Training(epochs=8)
    whole = trained(method, training)
    with pytest.raises(PowerCutError):
        trained(method, training, callbacks=(Checkpoint(tmp_path / "c", every=2), CutAt(5)))
    resumed = trained(method, training, callbacks=(Checkpoint(tmp_path / "c", resume=True),))
    assert all(torch.equal(value, resumed.parameters[name]) for name, value in whole.parameters.items())


# ---- weights of edges


@pytest.mark.parametrize("kind", [Sums, NeedsWeights])
def test_a_module_that_takes_weights_gets_them(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for graph in (CLUSTERS, weighted(CLUSTERS)):
            prepared = Wrapped.of(kind, outputs=3).prepare(graph, DOUBLE)
            found = Wrapped.of(kind, outputs=3)(
                {name: p[None] for name, p in prepared.module.named_parameters()}, prepared
            )
            x = prepared.features
            sums = torch.from_numpy(graph.adjacency.toarray()).double() @ x
            assert torch.allclose(found[0], prepared.module.linear(sums))


def test_weights_that_a_module_does_not_take_are_said_to_be_ignored():
    graph = weighted(CLUSTERS)
    with pytest.warns(kn.errors.KernodeWarning, match="Normed is not given the weights") as said:
        Wrapped.of(Normed, outputs=3).prepare(graph, DOUBLE)
    assert len(said) == 1
    of_before = Wrapped("Sums", outputs=3)  # as a file of before has it
    with pytest.warns(kn.errors.KernodeWarning, match="Sums is not given the weights"):
        assert of_before.prepare(graph, DOUBLE).edge_weight is None


def test_a_pyg_model_of_layers_without_weights_says_so_too():
    layers = pytest.importorskip("torch_geometric.nn")
    settings = {"hidden_channels": 4, "num_layers": 2}
    assert Wrapped.of(layers.GCN, **settings).edge_weight
    assert not Wrapped.of(layers.GAT, **settings).edge_weight
