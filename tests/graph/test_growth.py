"""Nodes and edges that arrive later, and models on other graphs than their own."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

import kernode as kn
from graphs import clustered_graph, graphs
from kernode import storage
from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.data import random_split
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.growth import extended, touched
from kernode.graph.neighbourhoods import ball
from kernode.kernels import RBF, Linear, Normalized
from kernode.maps import APPNP, GAT, GCN, FastGCN, Free, HopMLP, JKConcat, Presmoothed, Smoother, hop_mlp
from kernode.maps import base as maps_base
from kernode.node_classification.kled import KLED
from kernode.node_classification.method import Method
from kernode.node_classification.model import Model
from kernode.node_classification.task import Lesson
from kernode.training.settings import Training

DOUBLE = Place.of(64)
MAPS = [
    *(HopMLP((4,), 3, hops=hops, powers=p) for p in ("each", "last", "plain") for hops in (1, 2, 3)),
    Presmoothed((4,), 3),
    Smoother(2),
    GCN((4,), 3),
    GAT((4,), 3, heads=2),
    FastGCN((4,), 3),
    APPNP((4,), 3, steps=3),
    JKConcat((4,), 3),
]
DOT, HOPS = Normalized(Linear()), HopMLP((4,), 3)
METHODS = {
    "softmax": Method(HOPS, DOT, "softmax"),
    "joint": Method(GCN((4,), 3), DOT, "joint"),
    "k1": Method(HOPS, DOT, "kernel"),
    "k2": Method(HOPS, Normalized(RBF(learned=True)), "kernel"),
    "sum": Method(HOPS, Normalized(RBF()) + Linear(), "kernel"),
    "smoother": Method(Smoother(1), DOT, "kernel"),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@pytest.fixture(autouse=True, scope="module")
def always_in_part():
    """These graphs are small: most of one is still computed in part, not all at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernode.node_classification.model.LARGEST_PART", 2.0)
        yield


@pytest.fixture
def always_local(monkeypatch):
    """Small graphs are mostly neighbourhood: compute locally all the same."""
    for file in (maps_base, hop_mlp):
        monkeypatch.setattr(file, "LARGEST_PART", np.inf)


def edges_of(graph):
    upper = sparse.triu(graph.adjacency).tocoo()
    return np.stack([upper.row, upper.col], axis=1), upper.data


@st.composite
def growth(draw, stages=1, old_nodes=True):
    """A graph, what arrives in so many stages, and the graph in the end, built at once."""
    whole = draw(graphs())
    n, (edges, weights) = whole.n_nodes, edges_of(whole)
    sizes = [*sorted(draw(st.lists(st.integers(1, n), min_size=stages, max_size=stages))), n]
    # An edge comes at the stage of its later node at the earliest.
    earliest = np.array([next(s for s, size in enumerate(sizes) if edge.max() < size) for edge in edges])
    late = draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    stage = np.array([stages if is_late else first for is_late, first in zip(late, earliest, strict=True)])
    first = Graph.from_edges(
        edges[stage == 0], whole.features[: sizes[0]], whole.labels[: sizes[0]], weights=weights[stage == 0],
        class_names=whole.class_names,
    )  # fmt: skip
    arrivals = []
    for s in range(1, stages + 1):
        again = (stage < s) & (np.arange(len(stage)) % 2 == 0)  # repeats, lighter than what is there
        new = stage == s
        rows = slice(sizes[s - 1], sizes[s])
        arrivals.append(
            {
                "features": whole.features[rows],
                "edges": np.concatenate([edges[new], edges[again][:, ::-1]]),
                "weights": np.concatenate([weights[new], weights[again] / 2]),
                "labels": whole.labels[rows],
            }
        )
    return first, arrivals, whole


def model_of(method, graph, seeds=(3, 4)):
    """A model whose parameters are nowhere at their first values, untrained; one of its classes is empty."""
    prepared = method.map.prepare(graph, DOUBLE)
    parameters = method.initial(prepared, 3, Draws(torch.tensor(seeds)), DOUBLE)
    torch.manual_seed(0)
    parameters = {name: value + torch.rand_like(value) for name, value in parameters.items()}
    train = np.arange(graph.n_nodes)[None]
    return Model(
        method, Training(), parameters, train, train % 2, (0, 1, 2), tuple(seeds), 64,
        graph.name, graph.fingerprint, np.zeros(2), {}, n_features=graph.n_features,
    )  # fmt: skip


def trained(method, graph=None, **training):
    graph = clustered_graph() if graph is None else graph
    split = random_split(graph.labels, (0.5, 0.25, 0.25), 0)
    nodes = np.stack([split.train]), np.stack([split.validation])
    lesson = Lesson(nodes[0], graph.labels[nodes[0]], nodes[1], graph.labels[nodes[1]], 4)
    settings = Training(**{"epochs": 3, "triplets": 50} | training)
    return Model.learn(graph, method, settings, lesson, [0, 1], DOUBLE, (0, 1, 2, 3))


def path(n):
    features = np.random.default_rng(0).random((n, 5))
    return Graph.from_edges(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), features)


def same(one, other):
    assert one.adjacency.dtype == other.adjacency.dtype
    assert (one.adjacency != other.adjacency).nnz == 0
    assert one.adjacency.has_canonical_format
    assert sparse.issparse(one.features) == sparse.issparse(other.features)
    assert one.features.dtype == other.features.dtype
    assert (one.features != other.features).sum() == 0
    assert np.array_equal(one.labels, other.labels)
    assert one.fingerprint == other.fingerprint


@given(growth())
def test_extended_graph_equals_the_one_built_at_once(drawn):
    first, (arrival,), whole = drawn
    same(extended(first, **arrival), whole)


@given(growth(stages=3))
def test_extending_step_by_step_equals_building_at_once(drawn):
    graph, arrivals, whole = drawn
    for arrival in arrivals:
        graph = extended(graph, **arrival)
    same(graph, whole)


def test_heavier_edges_and_loops_are_merged_as_from_edges_does():
    old = Graph.from_edges([(0, 1), (1, 2)], np.eye(3), weights=[2.0, 2.0], name="trio")
    new = extended(old, None, [(1, 0), (2, 1), (2, 2), (0, 2)], weights=[3.0, 1.0, 9.0, 0.5])
    assert np.array_equal(new.adjacency.toarray(), [[0, 3, 0.5], [3, 0, 2], [0.5, 2, 0]])
    assert new.name == "trio"
    assert new.notes == (*old.notes, "dropped 1 self-loop", "2 of the added edges were there already")
    assert new.features is old.features
    assert not new.adjacency.data.flags.writeable


def test_new_nodes_have_the_types_and_names_of_the_old():
    old = Graph.from_edges(
        [(0, 1)], np.eye(2, dtype=np.float32), [0, 1], node_names=["a", "b"], class_names=["x", "y"]
    )
    new = extended(old, sparse.csr_array([[0.0, 7.0]]), [(0, 2)], node_names=["longer"])
    assert isinstance(new.features, np.ndarray)
    assert new.features.dtype == np.float32
    assert new.features[2].tolist() == [0, 7]
    assert new.labels.tolist() == [0, 1, -1]
    assert new.class_names == ("x", "y")
    assert new.find(["longer", "a"]).tolist() == [2, 0]
    words = Graph.from_edges([(0, 1)], sparse.csr_array(np.eye(2)))
    assert sparse.issparse(extended(words, [[1, 2]], []).features)
    assert extended(words, [[1, 2]], []).features.dtype == np.float64


NAMED = Graph.from_edges([(0, 1)], np.eye(2, dtype=np.float32), [0, 1], name="duo", node_names=["a", "b"])
PLAIN = Graph.from_edges([(0, 1)], np.eye(2, dtype=np.float32), [0, 1], name="duo")


@pytest.mark.parametrize(
    ("graph", "features", "edges", "more", "sentence"),
    [
        (PLAIN, [[1, 2, 3]], [], {}, r"the 2 columns of 'duo'\. Got 3"),
        (PLAIN, [1, 2], [], {}, r"a row for each\. Got 1 dimensions: put"),
        (PLAIN, 1.0, [], {}, "Got 0 dimensions"),
        (PLAIN, [[1, 2], [3]], [], {}, "must be a regular array"),
        (PLAIN, [[1, np.nan]], [], {}, "new nodes: features, node 0: column 1 is not a finite number"),
        (PLAIN, [[1, 1e300]], [], {}, "new nodes: features, node 0: column 1 is not a finite number"),
        (PLAIN, [["a", "b"]], [], {}, "new nodes: features must be numbers"),
        (PLAIN, [[1, 2]], [(0, 3)], {}, "edge 0 joins nodes 0 and 3; nodes run from 0 to 2"),
        (PLAIN, [[1, 2]], [(0, 1, 2)], {}, "edges must be an m × 2 array"),
        (PLAIN, [[1, 2]], [(0, 2)], {"weights": [0]}, r"edge 0 has weight 0\.0"),
        (PLAIN, [[1, 2]], [], {"labels": [2]}, r"no class 2; its classes run from 0 to 1\. Give −1"),
        (PLAIN, [[1, 2]], [], {"labels": [0, 1]}, "labels of new nodes must be 1 integers"),
        (PLAIN, [[1, 2]], [], {"node_names": ["c"]}, r"have no names\. Leave node_names out"),
        (NAMED, [[1, 2]], [], {}, r"have names\. Name the 1 new ones"),
        (NAMED, [[1, 2]], [], {"node_names": ["c", "d"]}, r"one name per new node \(1\)"),
        (NAMED, [[1, 2]], [], {"node_names": ["b"]}, r"'duo' is called 'b' already\. Give"),
        (NAMED, [[1, 2], [1, 2]], [], {"node_names": ["c", "c"]}, "node_names must be unique"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(graph, features, edges, more, sentence):
    with pytest.raises(InputError, match=sentence):
        extended(graph, features, edges, **more)


@given(growth(), st.data())
def test_touched_nodes_are_those_whose_rows_differ(drawn, data):
    old, _, new = drawn
    features = np.array(new.features.toarray() if sparse.issparse(new.features) else new.features)
    changed = sorted(data.draw(st.sets(st.integers(0, new.n_nodes - 1))))
    features[changed] += 1
    sparse_now = data.draw(st.booleans())
    new = Graph(new.adjacency, sparse.csr_array(features) if sparse_now else features, new.labels)
    n = old.n_nodes
    before = np.zeros((new.n_nodes, new.n_nodes + 5))
    before[:n, :n] = old.adjacency.toarray()
    before[:n, new.n_nodes :] = old.features.toarray() if sparse.issparse(old.features) else old.features
    differs = (before != np.hstack([new.adjacency.toarray(), features])).any(axis=1)
    differs[n:] = True
    assert np.array_equal(touched(old, new), np.flatnonzero(differs))


def test_a_smaller_graph_or_other_columns_extend_nothing():
    for other in (path(4), Graph.from_edges([], np.ones((9, 4)))):
        with pytest.raises(InputError, match=r"must keep all 5 nodes and 5 features\. .*extended\(\)"):
            touched(path(5), other)


def assert_equal_to_recomputation(ours, graph):
    anew = replace(ours, graph=graph, known=None, recomputed=None)
    assert torch.allclose(ours.g, anew.g, rtol=1e-9, atol=1e-9)
    assert ours.g.shape == anew.g.shape
    assert np.allclose(ours.probabilities(), anew.probabilities(), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("always_local")
@pytest.mark.parametrize("feature_map", MAPS, ids=str)
@given(growth())
def test_answers_on_the_extended_graph_equal_recomputation(feature_map, drawn):
    first, (arrival,), whole = drawn
    before = model_of(Method(feature_map, DOT, "kernel"), first).on(first)
    after = before.on_extended(extended(first, **arrival))
    assert_equal_to_recomputation(after, whole)
    kept = np.setdiff1d(np.arange(first.n_nodes), after.recomputed)
    assert torch.equal(after.g[:, kept], before.g[:, kept])
    distance = csgraph.shortest_path(whole.adjacency, unweighted=True)[touched(first, whole)]
    near = (distance <= feature_map.reach).any(axis=0)
    assert np.array_equal(after.recomputed, np.flatnonzero(near))


@pytest.mark.usefixtures("always_local")
@every_method
@given(growth(stages=3))
def test_chains_of_extensions_equal_recomputation(method, drawn):
    graph, arrivals, whole = drawn
    answers = model_of(method, graph).on(graph)
    for arrival in arrivals:
        graph = extended(graph, **arrival)
        answers = answers.on_extended(graph)
    assert_equal_to_recomputation(answers, whole)


@every_method
def test_edges_between_old_nodes_alone_equal_recomputation(method):
    old = clustered_graph()
    new = extended(old, None, [(0, 31), (7, 8)])
    after = model_of(method, old).on(old).on_extended(new)
    assert set(after.recomputed) >= {0, 31, 7, 8}
    assert len(after.recomputed) < 60 or method.map.reach > 1
    assert_equal_to_recomputation(after, new)


@pytest.mark.parametrize("feature_map", MAPS, ids=str)
def test_on_a_path_only_what_can_change_is_computed_and_all_of_it_does(feature_map, monkeypatch):
    """A new end of a path: the last nodes within reach of the touched ones, and no whole graph prepared."""
    old = path(300)
    before = model_of(
        Method(feature_map, DOT, "softmax" if feature_map != Smoother(2) else "kernel"), old
    ).on(old)
    before.g  # noqa: B018 (known before nodes arrive)
    prepare, sizes = type(feature_map).prepare, []
    monkeypatch.setattr(
        type(feature_map),
        "prepare",
        lambda self, g, place: sizes.append(g.n_nodes) or prepare(self, g, place),
    )
    features = np.random.default_rng(1).random((1, 5))
    after = before.on_extended(extended(old, features, [(299, 300)]))
    reach = feature_map.reach
    assert np.array_equal(after.recomputed, np.arange(299 - reach, 301))
    assert max(sizes, default=0) <= 2 * reach + 3
    # A degree matters as far as reach, except that attention does not weigh by degrees.
    first = 300 - reach if isinstance(feature_map, GAT) else 299 - reach
    changed = ((after.g[:, :300] - before.g).abs() > 1e-9).any(dim=2).all(dim=0)
    assert np.array_equal(changed.nonzero()[:, 0].numpy(), np.arange(first, 300))


def test_changed_features_of_old_nodes_spread_as_far_as_they_reach():
    old = path(100)
    features = np.array(old.features)
    features[50] += 1
    new = Graph(old.adjacency, features, old.labels)
    after = model_of(METHODS["k1"], old).on(old).on_extended(new)
    assert np.array_equal(after.recomputed, np.arange(48, 53))
    assert_equal_to_recomputation(after, new)


def test_an_edge_that_is_gone_is_noticed_on_both_sides():
    old = path(100)
    new = Graph.from_edges(np.delete(edges_of(old)[0], 50, axis=0), old.features)
    after = model_of(METHODS["k1"], old).on(old).on_extended(new)
    assert np.array_equal(after.recomputed, np.arange(48, 54))
    assert_equal_to_recomputation(after, new)


def test_nothing_new_changes_nothing():
    graph = clustered_graph()
    before = model_of(METHODS["k2"], graph).on(graph)
    after = before.on_extended(extended(graph, None, []))
    assert after.recomputed.size == 0
    assert torch.equal(after.g, before.g)
    assert np.array_equal(after.probabilities(), before.probabilities())


def test_a_map_of_unknown_reach_is_recomputed_as_a_whole():
    class Unknown(GCN):
        """It does not say how far it reaches."""

        reach = None

    old = clustered_graph()
    new = extended(old, np.ones((1, 8)), [(3, 60)])
    after = model_of(Method(Unknown((4,), 3), DOT, "kernel"), old).on(old).on_extended(new)
    assert after.recomputed is None
    assert after.g.shape == (2, 61, 3)
    assert_equal_to_recomputation(after, new)


def test_kled_diffuses_anew_and_free_vectors_do_not_extend():
    old = clustered_graph()
    new = extended(old, np.ones((1, 8)), [(3, 60), (6, 60)])
    kled = trained(KLED(scales=(0.5,), classifiers=("sums",)), old)
    found = kled.on(old).on_extended(new).probabilities()
    assert found.shape == (2, 61, 4)
    assert found[0, 60].argmax() == 0  # both of its neighbours are of class 0
    with pytest.raises(InputError, match=r"Free has a vector for each node .* Train again"):
        trained(Method(Free(3), DOT, "kernel"), old).on(old).on_extended(new)


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
    model = Model.load(trained(method, own).save(tmp_path / "m.safetensors"))
    elsewhere = model.on(other)
    if extend:
        other = extended(other, np.ones((1, 8)), [(0, 40), (5, 40)])
        elsewhere = elsewhere.on_extended(other)
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
    lesson = Lesson(train, own.labels[train], validation, own.labels[validation], 3)
    model = Model.learn(
        own, METHODS[name], Training(epochs=3, triplets=50), lesson, [0, 1], DOUBLE, (0, 1, 2)
    )
    together = replace(model.on(own), graph=beside(own, other)).probabilities()
    assert np.allclose(model.on(other).probabilities(), together[:, 60:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["k1", "k2"])
def test_at_home_centroids_follow_training_nodes_whose_neighbours_change(name):
    own = clustered_graph()
    model = trained(METHODS[name], own)
    larger = extended(own, np.ones((1, 8)), [(int(node), 60) for node in model.train[0, :9]])
    ours = model.on(own).on_extended(larger).probabilities()
    from_training_nodes = replace(model.on(own), model=replace(model, references=None), graph=larger)
    assert np.allclose(ours, from_training_nodes.probabilities(), rtol=1e-9, atol=1e-9)
    assert not np.allclose(ours, model.on(larger).probabilities(), rtol=1e-6)  # centroids as they were


def test_dot_products_keep_class_means_and_other_kernels_the_training_nodes():
    assert trained(METHODS["k1"]).references.shape == (2, 4, 3)
    assert trained(METHODS["k2"]).references.shape == (2, 30, 3)
    assert trained(replace(METHODS["softmax"], map=HopMLP((4,)))).references is None


def test_what_cannot_leave_its_graph_is_refused(tmp_path):
    other = clustered_graph(n=40, seed=1)
    for method in (KLED(scales=(0.5,), classifiers=("sums",)), Method(Free(3), DOT, "kernel")):
        with pytest.raises(InputError, match=r"of one graph and of no other\. Give 'clusters'"):
            trained(method).on(other)
    with pytest.raises(
        InputError, match=r"takes 8 features and 'clusters' has 9\. Give 'clusters', .* columns"
    ):
        trained(METHODS["k1"]).on(clustered_graph(features=9))


def test_files_of_before_answer_on_their_own_graph_and_say_why_not_elsewhere(tmp_path):
    model, graph = trained(METHODS["k2"]), clustered_graph()
    tensors, facts = storage.read_tensors(model.save(tmp_path / "new.safetensors"), "model")
    del tensors["references"], facts["features"], facts["format"], facts["kind"]
    old = Model.load(storage.write_tensors(tmp_path / "old.safetensors", "model", tensors, facts))
    assert np.array_equal(old.on(graph).probabilities(), model.on(graph).probabilities())
    with pytest.raises(InputError, match=r"of before models went to other graphs\. Give 'clusters'"):
        old.on(clustered_graph(n=40, seed=1))


def test_ball_covers_the_touched_themselves():
    assert ball(path(5), np.array([2]), 0).tolist() == [2]


def test_when_most_of_the_graph_can_change_all_of_it_is_computed_at_once(monkeypatch):
    monkeypatch.setattr("kernode.node_classification.model.LARGEST_PART", 0.5)
    graph = clustered_graph(n=40)
    model = kn.NodeKernelClassifier("diffusion", epochs=2, selection="last", precision=64)
    model.fit(range(20), graph.labels[:20], graph=graph)
    later = model.extend(graph, graph.features[:1], [(40, 3)])
    assert len(later.recomputed_) == 41
    whole = model.model_.on(later.graph_).probabilities().mean(axis=0)
    assert np.allclose(later.predict_proba(range(41)), whole)
