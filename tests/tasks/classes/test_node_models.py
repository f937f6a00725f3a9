"""Models on graphs that grew and on other graphs than their own: what is computed, and what it equals."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.sparse import csgraph

import kernode as kn
from graphs import clustered_graph, path_graph
from growth import edges_of, growth
from kernode.compute.draws import Draws
from kernode.graph import Graph
from kernode.graph.edits import extended, touched
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge, Joint, Softmax
from kernode.maps import GAT, GCN, MLP, HopMLP, Smoother
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.task import LabelledNodes
from kernode.training.settings import Training
from parts import MAPS
from tasks import DOUBLE, fit, node_task

DOT, HOPS = Normalized(Linear()), HopMLP((4,), 3)
POWERS = ("each", "last", "released", "plain")
REACHING = [  # of any other, all nodes are computed anew
    *(one for one in MAPS if one.reach is not None and type(one) is not HopMLP),
    *(HopMLP((4,), 3, hops=hops, powers=powers) for powers in POWERS for hops in (1, 2, 3)),
]
METHODS = {
    "softmax": Method(HOPS, DOT, Softmax()),
    "joint": Method(GCN((4,), 3), DOT, Joint(Hinge(50))),
    "k1": Method(HOPS, DOT, Hinge(50)),
    "k2": Method(HOPS, Normalized(RBF(learned=True)), Hinge(50)),
    "sum": Method(HOPS, Normalized(RBF()) + Linear(), Hinge(50)),
    "smoother": Method(Smoother(1), DOT, Hinge(50)),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def model_of(method, graph, seeds=(3, 4)):
    """A model whose parameters are nowhere at their first values, untrained; one of its classes is empty."""
    prepared = method.map.prepare(graph, DOUBLE)
    parameters = method.initial(prepared, Draws(torch.tensor(seeds)), DOUBLE, 3)
    torch.manual_seed(0)
    parameters = {name: value + torch.rand_like(value) for name, value in parameters.items()}
    train = np.arange(graph.n_nodes)[None]
    return NodeModel(
        method=method,
        training=Training(),
        parameters=method.finished(parameters, prepared),
        train=train,
        train_labels=train % 2,
        classes=(0, 1, 2),
        seeds=tuple(seeds),
        precision=64,
        dataset=graph.name,
        fingerprint=graph.fingerprint,
        kept_epochs=np.zeros(2),
        history={},
        n_features=graph.n_features,
    )


def trained(method, graph=None):
    graph = clustered_graph() if graph is None else graph
    return fit(node_task(graph, (0, 1), classes=(0, 1, 2, 3)), method, Training(epochs=3)).model


@pytest.fixture(autouse=True, scope="module")
def always_in_part():
    """These graphs are small, and mostly neighbourhood: compute a part of one all the same."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("kernode.") and "LARGEST_PART" in vars(module):
                patch.setattr(module, "LARGEST_PART", np.inf)
        yield


def assert_equal_to_recomputation(ours, graph):
    anew = replace(ours, graph=graph, known_g=None, prepared=None, recomputed=None)
    assert torch.allclose(ours.g, anew.g, rtol=1e-9, atol=1e-9)
    assert ours.g.shape == anew.g.shape
    assert np.allclose(ours.probabilities(), anew.probabilities(), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is not given the weights")
@pytest.mark.parametrize("feature_map", REACHING, ids=str)
@settings(max_examples=12)
@given(growth())
def test_answers_on_the_extended_graph_equal_recomputation(feature_map, drawn):
    first, (arrival,), whole = drawn
    before = model_of(Method(feature_map, DOT, Hinge()), first).on(first)
    after = before.extended(extended(first, **arrival))
    assert_equal_to_recomputation(after, whole)
    kept = np.setdiff1d(np.arange(first.n_nodes), after.recomputed)
    assert torch.equal(after.g[:, kept], before.g[:, kept])
    distance = csgraph.shortest_path(whole.adjacency, unweighted=True)[touched(first, whole)]
    near = (distance <= feature_map.reach).any(axis=0)
    assert np.array_equal(after.recomputed, np.flatnonzero(near))


@pytest.mark.slow
@every_method
@given(growth(stages=3))
def test_chains_of_extensions_equal_recomputation(method, drawn):
    graph, arrivals, whole = drawn
    answers = model_of(method, graph).on(graph)
    for arrival in arrivals:
        graph = extended(graph, **arrival)
        answers = answers.extended(graph)
    assert_equal_to_recomputation(answers, whole)


@pytest.mark.parametrize("feature_map", REACHING, ids=str)
def test_on_a_path_only_what_can_change_is_computed_and_all_of_it_does(feature_map, monkeypatch):
    """A new end of a path: the last nodes within reach of the touched ones, and no whole graph prepared."""
    old = path_graph(300)
    before = model_of(Method(feature_map, DOT, Softmax() if feature_map != Smoother(2) else Hinge()), old).on(
        old
    )
    before.g  # noqa: B018 (known before nodes arrive)
    prepare, sizes = type(feature_map).prepare, []
    monkeypatch.setattr(
        type(feature_map),
        "prepare",
        lambda self, g, place: sizes.append(g.n_nodes) or prepare(self, g, place),
    )
    features = np.random.default_rng(1).random((1, 5))
    after = before.extended(extended(old, features, [(299, 300)]))
    reach = feature_map.reach
    assert np.array_equal(after.recomputed, np.arange(299 - reach, 301))
    assert max(sizes, default=0) <= 2 * reach + 3
    # A neighbour's degree matters as far as reach, except that attention and means do not weigh by it.
    inner = feature_map.unwrapped
    weighs = not isinstance(inner, GAT | MLP) and getattr(inner, "layer", "gcn") == "gcn"
    first = 299 - reach if weighs else 300 - reach
    changed = ((after.g[:, :300] - before.g).abs() > 1e-9).any(dim=2).all(dim=0)
    assert np.array_equal(changed.nonzero()[:, 0].numpy(), np.arange(first, 300))


def test_an_edge_that_is_gone_is_noticed_on_both_sides():
    old = path_graph(100)
    new = Graph.from_edges(np.delete(edges_of(old)[0], 50, axis=0), old.features)
    after = model_of(METHODS["k1"], old).on(old).extended(new)
    assert np.array_equal(after.recomputed, np.arange(48, 54))
    assert_equal_to_recomputation(after, new)


def beside(one, other):
    """Both graphs as one, without an edge between them."""
    edges = np.concatenate([edges_of(one)[0], edges_of(other)[0] + one.n_nodes])
    features = np.concatenate([one.features, other.features])
    return Graph.from_edges(edges, features)


@every_method
@pytest.mark.parametrize("extend", [False, True])
def test_on_another_graph_answers_are_those_of_both_graphs_side_by_side(method, extend, tmp_path):
    own, other = clustered_graph(), clustered_graph(n=40, seed=1)
    if method.classifier == "softmax":
        method = replace(method, map=replace(method.map, outputs=None))
    model = NodeModel.load(trained(method, own).save(tmp_path / "m.safetensors"))
    elsewhere = model.on(other)
    if extend:
        other = extended(other, np.ones((1, 8)), [(0, 40), (5, 40)])
        elsewhere = elsewhere.extended(other)
    together = replace(model.on(own), graph=beside(own, other)).probabilities()
    assert np.allclose(elsewhere.probabilities(), together[:, 60:], rtol=1e-9, atol=1e-9)
    nodes = np.array([[3, 1], [0, 2]])  # a row for each replica
    assert np.allclose(elsewhere.probabilities(nodes), np.stack([together[i, 60 + nodes[i]] for i in (0, 1)]))
    assert elsewhere.kernel.gram([0, 1]).shape == (2, 2)


@pytest.mark.parametrize("name", ["k1", "k2"])
def test_training_nodes_of_their_own_for_each_replica_are_compared_with_elsewhere(name):
    own, other = clustered_graph(), clustered_graph(n=40, seed=1)
    uneven = [np.arange(0, 60, 3), np.arange(1, 16, 3), np.arange(2, 17, 3)]  # 20, 5 and 5 of the classes
    train, validation = np.stack([np.arange(30), np.concatenate(uneven)]), np.arange(50, 60)[None]
    nodes = LabelledNodes(train, own.labels[train], validation, own.labels[validation])
    model = fit(node_task(own, (0, 1), nodes), METHODS[name], Training(epochs=3)).model
    together = replace(model.on(own), graph=beside(own, other)).probabilities()
    assert np.allclose(model.on(other).probabilities(), together[:, 60:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["k1", "k2"])
def test_on_their_own_graph_centroids_follow_training_nodes_whose_neighbours_change(name):
    own = clustered_graph()
    model = trained(METHODS[name], own)
    larger = extended(own, np.ones((1, 8)), [(int(node), 60) for node in model.train[0, :9]])
    ours = model.on(own).extended(larger).probabilities()
    from_training_nodes = replace(model.on(own), model=replace(model, references=None), graph=larger)
    assert np.allclose(ours, from_training_nodes.probabilities(), rtol=1e-9, atol=1e-9)
    assert not np.allclose(ours, model.on(larger).probabilities(), rtol=1e-6)  # centroids as they were


def test_when_most_of_the_graph_can_change_all_of_it_is_computed_at_once(monkeypatch):
    monkeypatch.setattr("kernode.tasks.classes.on_graph.LARGEST_PART", 0.5)
    graph = clustered_graph(n=40)
    training = {"epochs": 2, "selection": "last", "precision": 64}
    model = kn.NodeKernelClassifier("diffusion", training=training)
    model.fit(range(20), graph.labels[:20], graph=graph)
    later = model.extend(graph, graph.features[:1], [(40, 3)])
    assert len(later.recomputed_) == 41
    whole = model.model_.on(later.graph_).probabilities().mean(axis=0)
    assert np.allclose(later.predict_proba(range(41)), whole)
