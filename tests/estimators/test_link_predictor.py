"""The link predictor as people use it: parts, answers, files, and one sentence for wrong use."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import FileError, InputError
from kernode.io.edge_split import is_edge
from kernode.tasks.links.method import LinkMethod
from refusals import refused

SPLIT = kn.split_edges(CLUSTERS, 0)
DATA = "synthetic:nodes=120,degree=6,classes=3,features=8,seed=1"


def predictor(variant="gae", **settings):
    return kn.LinkPredictor(variant, **{"epochs": 5, "device": "cpu"} | settings)


def test_predictor_scores_pairs_and_finds_missing_links():
    links = predictor("kernel", epochs=40, replicas=2).fit(CLUSTERS)
    scores = links.score_pairs(SPLIT.test)
    assert ((scores > 0) & (scores < 1)).all()
    found = links.missing_links(5, k=4)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert links.evaluate()["auc"] > 50
    assert clone(links).get_params() == links.get_params()
    for use in (lambda model: model.score_pairs([(0, 1)]), lambda model: model.kernel_):
        with pytest.raises(NotFittedError):
            use(clone(links))


@pytest.mark.parametrize("replicas", [1, 3])
def test_in_single_precision_no_rounding_of_a_matrix_product_orders_equals(replicas, monkeypatch):
    """Forty nodes that nothing tells apart: whichever block they are in, the first come first."""
    between, random = LinkMethod.logits_between, np.random.default_rng(0)

    def rounded(*given):
        exact = between(*given)
        return exact + 2e-4 * torch.from_numpy(random.choice([-1, 1], exact.shape)).to(exact.dtype)

    monkeypatch.setattr(LinkMethod, "logits_between", rounded)  # far worse than any product
    features = np.concatenate([CLUSTERS.features, np.tile(CLUSTERS.features[:1], (41, 1))])
    edges = np.argwhere(np.triu(CLUSTERS.adjacency.toarray()))
    graph = kn.Graph.from_edges(edges, features)
    links = predictor("kernel", replicas=replicas).fit(graph)
    pairs = np.argwhere(np.triu(np.ones((161, 161)), 1))
    pairs = pairs[~is_edge(graph.adjacency, pairs)]
    odds = links.decision_function(pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -odds))
    assert len(np.unique(odds)) < len(odds) - 700
    for k in (10, 2000):
        assert [(u, v) for u, v, _ in links.missing_links(k=k)] == [
            tuple(pairs[i]) for i in order[:k].tolist()
        ]


def test_predictor_takes_a_split_of_ones_own(tmp_path):
    links = predictor().fit(SPLIT)
    assert links.split_ is SPLIT
    hits = {f"hits_at_{k}" for k in (20, 50, 100) if k <= len(SPLIT.test_negatives)}
    assert set(links.evaluate()) == {"auc", "ap", *hits, "mrr"}
    again = kn.load_model(links.save(tmp_path / "l"), SPLIT.graph)
    assert np.array_equal(again.score_pairs(SPLIT.test), links.score_pairs(SPLIT.test))


def test_own_map_and_kernel_take_the_place_of_the_variants():
    map_, kernel = kn.maps.HopMLP((8,), 4, hops=1), kn.kernels.RBF(0.5)
    links = predictor("gae", map=map_, kernel=kernel).fit(CLUSTERS)
    assert links.model_.method == LinkMethod(map_, kernel)
    assert links.kernel_.base == kernel
    assert np.allclose(links.kernel_.diagonal(), 1)
    open_width = predictor("gae", map=kn.maps.GAT((8,), heads=2)).fit(CLUSTERS)
    assert open_width.model_.method.map == kn.maps.GAT((8,), 16, heads=2)
    assert predictor(map=kn.maps.HopMLP((8,))).fit(CLUSTERS).model_.method.map == kn.maps.HopMLP((8,), 16)
    with refused("no-effect", setting="input_dropout"):
        predictor("gae", map=kn.maps.GAT(), training={"input_dropout": 0.5}).fit(CLUSTERS)


def test_a_map_without_parameters_serves_every_replica():
    smoother = {"map": kn.maps.Smoother(), "replicas": 2}
    links = predictor("auto", epochs=3, **smoother).fit(CLUSTERS)
    assert links._on().logits([(0, 1), (2, 3)]).shape == (2, 2)
    assert links.evaluate()["auc"] > 50
    learned = predictor("auto", kernel=kn.kernels.RBF(learned=True), **smoother).fit(CLUSTERS)
    assert learned.score_pairs([(0, 1)]).shape == (1,)
    plain = predictor("gae", kernel=kn.kernels.Linear(), epochs=None, **smoother).fit(CLUSTERS)
    assert plain._on().logits([(0, 1)]).shape == (2, 1)


def test_nodes_of_links_have_names():
    names = np.array([f"v{i}" for i in range(120)])
    named = kn.Graph(CLUSTERS.adjacency, CLUSTERS.features, CLUSTERS.labels, node_names=names)
    pairs = SPLIT.test
    links, plain = (predictor().fit(graph) for graph in (named, CLUSTERS))
    assert np.array_equal(links.score_pairs(names[pairs]), plain.score_pairs(pairs))
    found = links.missing_links("v5", k=3)
    assert [(f"v{node}", score) for node, score in plain.missing_links(5, k=3)] == found
    assert links.missing_links(5, k=3) == found
    test, none = (names[part] for part in (links.split_.test, links.split_.test_negatives))
    assert links.evaluate(test, none) == links.evaluate()
    assert np.array_equal(links.kernel_.gram(["v3", "v4"]), plain.kernel_.gram([3, 4]))


def test_loaded_predictor_scores_evaluates_and_learns_the_same(tmp_path):
    links = predictor("kernel", replicas=2).fit(CLUSTERS)
    again = kn.load_model(links.save(tmp_path / "l.safetensors"), graph=CLUSTERS)
    assert isinstance(again, kn.LinkPredictor)
    assert np.array_equal(again.score_pairs(SPLIT.test), links.score_pairs(SPLIT.test))
    assert again.evaluate() == links.evaluate()
    assert again.missing_links(5, k=3) == links.missing_links(5, k=3)
    assert np.array_equal(again.history_["loss"], links.history_["loss"])
    settings = again.get_params()
    assert (settings["variant"], settings["replicas"], settings["training__epochs"]) == ("kernel", 2, 5)
    assert np.array_equal(again.fit(CLUSTERS).score_pairs(SPLIT.test), links.score_pairs(SPLIT.test))


def test_a_graph_that_is_nowhere_must_be_given(tmp_path):
    path = predictor().fit(CLUSTERS).save(tmp_path / "l.safetensors")
    own = predictor().fit(SPLIT).save(tmp_path / "own.safetensors")
    for file in (path, own):
        with refused("missing", setting="graph"):
            kn.load_model(file)
    with refused("conflict", setting="graph"):
        kn.load_model(path, graph=clustered_graph(n=120, seed=3))
    with refused("missing", setting="graph"):  # of its own split it needs the training edges
        kn.load_model(own, graph=CLUSTERS)


@pytest.mark.parametrize(
    ("use", "code", "setting"),
    [
        (lambda: predictor("magic").fit(CLUSTERS), "unknown", "variant"),
        (lambda: predictor().fit("cora"), "setting", "X"),
        (
            lambda: predictor(training={"patience": 3, "selection": "last"}).fit(CLUSTERS),
            "conflict",
            "patience",
        ),
        (lambda: predictor("vgae", map=kn.maps.GCN(outputs=15)).fit(CLUSTERS), "setting", "outputs"),
        (lambda: predictor("auto", training={"dropout": 0.5}).fit(CLUSTERS), "no-effect", "dropout"),
        (lambda: predictor().fit(CLUSTERS).missing_links(3, k=0), "setting", "k"),
        (lambda: predictor().fit(CLUSTERS).missing_links([3, 4]), "setting", "node"),
    ],
)
def test_wrong_use_is_refused(use, code, setting):
    with refused(code, setting=setting):
        use()


def test_nodes_and_files_that_are_not_there_are_refused(tmp_path):
    links = predictor().fit(CLUSTERS)
    for wrong in (
        lambda: links.score_pairs([0, 1]),
        lambda: links.score_pairs([(0, 900)]),
        lambda: predictor(replicas=0).fit(CLUSTERS),
        lambda: predictor(map="gat").fit(CLUSTERS),
        lambda: predictor(kernel="rbf").fit(CLUSTERS),
    ):
        with pytest.raises(InputError):
            wrong()
    with pytest.raises(FileError):
        kn.load_model(tmp_path / "none", graph=CLUSTERS)
