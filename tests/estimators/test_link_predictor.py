"""The link predictor, on graphs and on pairs as scikit-learn has them: answers, parts, files, wrong use."""

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.io.edge_split import is_edge
from kernode.tasks.links.method import LinkMethod
from refusals import refused

SPLIT = kn.split_edges(CLUSTERS, 0)


def predictor(variant="gae", **settings):
    return kn.LinkPredictor(variant, **{"epochs": 5, "device": "cpu"} | settings)


def test_an_unfitted_predictor_says_so():
    for use in (lambda model: model.score_pairs([(0, 1)]), lambda model: model.kernel_):
        with pytest.raises(NotFittedError):
            use(predictor())


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
    ("use", "code"),
    [
        (lambda: predictor("magic").fit(CLUSTERS), "unknown"),
        (lambda: predictor().fit("cora"), "setting"),
        (lambda: predictor("fast", training={"dropout": 0.5}).fit(CLUSTERS), "no-effect"),
        (lambda: predictor(replicas=0).fit(CLUSTERS), "setting"),
        (lambda: predictor(map="gat").fit(CLUSTERS), "setting"),
        (lambda: predictor().fit(CLUSTERS).missing_links(3, k=0), "setting"),
        (lambda: predictor().fit(CLUSTERS).missing_links([3, 4]), "setting"),
        (lambda: predictor().fit(CLUSTERS).score_pairs([0, 1]), "shape"),
        (lambda: predictor().fit(CLUSTERS).score_pairs([(0, 900)]), "unknown"),
    ],
)
def test_wrong_use_is_refused(use, code):
    with refused(code):
        use()


# pairs


def pairs_and_links():
    """All edges and as many pairs without an edge, in random order."""
    random, linked = np.random.default_rng(0), CLUSTERS.adjacency.toarray()
    edges, pairs = np.argwhere(np.triu(linked)), np.argwhere(np.triu(linked == 0, 1))
    others = pairs[random.choice(len(pairs), len(edges), replace=False)]
    order = random.permutation(2 * len(edges))
    return np.concatenate([edges, others])[order], np.repeat([1, 0], len(edges))[order]


PAIRS, LINKED = pairs_and_links()


def pair_predictor(**settings):
    return kn.LinkPredictor(**{"epochs": 15, "device": "cpu"} | settings)


def test_edges_outside_the_given_pairs_are_never_seen():
    """Other edges are taken away, put elsewhere and weighted anew: to the last bit the same answers."""
    known, y = PAIRS[:200], LINKED[:200]
    given = {tuple(pair) for pair in known[y == 1].tolist()}
    random = np.random.default_rng(1)
    garbled = np.array([*given, *(sorted(random.choice(120, 2, replace=False)) for _ in range(300))])
    known_one = [tuple(pair) in given for pair in garbled.tolist()]
    weights = np.where(known_one, 1, random.uniform(1, 9, len(garbled)))
    other = kn.Graph.from_edges(garbled, CLUSTERS.features, weights=weights, name="clusters")
    assert other.n_edges > len(given) + 100
    usual, same = (pair_predictor().fit(known, y, graph=graph) for graph in (CLUSTERS, other))
    assert usual.split_.graph.n_edges == len(given) - int(0.05 * len(given))
    assert usual.split_.graph.fingerprint == same.split_.graph.fingerprint
    assert np.array_equal(usual.decision_function(PAIRS), same.decision_function(PAIRS))


def test_held_out_pairs_choose_the_epoch_and_never_train():
    links = pair_predictor().fit(PAIRS, LINKED, graph=CLUSTERS)
    split, m = links.split_, int(LINKED.sum())
    assert len(split.validation) == len(split.validation_negatives) == int(0.05 * m)
    given = {(tuple(pair), y) for pair, y in zip(PAIRS.tolist(), LINKED.tolist(), strict=True)}
    assert {(tuple(pair), 1) for pair in split.validation.tolist()} <= given
    assert {(tuple(pair), 0) for pair in split.validation_negatives.tolist()} <= given
    assert split.graph.n_edges == m - int(0.05 * m)
    assert not is_edge(split.graph.adjacency, split.validation).any()
    shuffled = np.random.default_rng(5).permutation(len(PAIRS))
    turned = PAIRS[shuffled][:, ::-1]
    again = pair_predictor().fit(turned, LINKED[shuffled], graph=CLUSTERS)
    assert np.array_equal(again.score_pairs(PAIRS), links.score_pairs(PAIRS))
    other = pair_predictor(random_state=1).fit(PAIRS, LINKED, graph=CLUSTERS).split_
    assert not np.array_equal(other.validation, split.validation)


@pytest.mark.parametrize("y", [None, "ones", "few"])
def test_without_enough_unlinked_pairs_others_are_drawn(y):
    pairs = PAIRS[LINKED == 1]
    few = PAIRS[LINKED == 0][:3]
    if y == "few":
        pairs, y = np.concatenate([pairs, few]), np.repeat([1, 0], [len(pairs), 3])
    elif y == "ones":
        y = np.ones(len(pairs))
    links = pair_predictor().fit(pairs, y, graph=CLUSTERS)
    negatives = links.split_.validation_negatives
    assert len(negatives) == len(links.split_.validation) == int(0.05 * LINKED.sum())
    assert not is_edge(CLUSTERS.adjacency, negatives).any()
    if y is not None and not y.all():  # what teaches does not choose
        assert not {tuple(pair) for pair in few.tolist()} & {tuple(pair) for pair in negatives.tolist()}


def test_pairs_are_drawn_among_those_not_given():
    """Of 55 pairs all but three are given, and two must be found."""
    pairs = np.random.default_rng(0).permutation(np.argwhere(np.triu(np.ones((11, 11)), 1)))
    graph = kn.Graph.from_edges(pairs, np.eye(11))
    links = pair_predictor(epochs=1).fit(pairs[:53], np.repeat([1, 0], [52, 1]), graph=graph)
    assert sorted(links.split_.validation_negatives.tolist()) == sorted(pairs[53:].tolist())


def test_unlinked_pairs_train():
    """Compared with a predictor that is chosen by the same pairs and trained on the linked ones alone."""
    with_them = pair_predictor(epochs=60).fit(PAIRS, LINKED, graph=CLUSTERS)
    without = pair_predictor(epochs=60).fit(with_them.split_)
    chose = {tuple(pair) for pair in with_them.split_.validation_negatives.tolist()}
    trained = np.array([pair for pair in PAIRS[LINKED == 0] if tuple(pair) not in chose])
    scores = [model.decision_function(trained).mean() for model in (with_them, without)]
    assert scores[0] < scores[1] - 0.1


@pytest.mark.parametrize("replicas", [1, 3])
def test_answers_about_pairs_fit_together(replicas):
    links = pair_predictor(replicas=replicas).fit(PAIRS, LINKED, graph=CLUSTERS)
    chances, odds = links.predict_proba(PAIRS), links.decision_function(PAIRS)
    assert chances.shape == (len(PAIRS), 2)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(chances[:, 1], links.score_pairs(PAIRS))
    assert np.allclose(odds, np.log(chances[:, 1] / chances[:, 0]))
    assert np.array_equal(links.predict(PAIRS), links.classes_[chances.argmax(axis=1)])
    assert links.score(PAIRS, LINKED) == (links.predict(PAIRS) == LINKED).mean() > 0.7
    assert links.classes_.tolist() == [0, 1]


@pytest.mark.slow
def test_folds_and_searches_over_pairs_run_unchanged():
    data = {"X": PAIRS, "y": LINKED, "params": {"graph": CLUSTERS}, "cv": 3, "scoring": "roc_auc"}
    auc = cross_val_score(pair_predictor(), **data)
    assert auc.mean() > 0.6
    grid = {"variant": ["kernel", "gae"], "learning_rate": [0.01, 0.05]}
    search = GridSearchCV(pair_predictor(), grid, cv=2)
    search.fit(PAIRS, LINKED, graph=CLUSTERS)
    assert search.best_estimator_.variant == search.best_params_["variant"]
    assert 0.5 < search.score(PAIRS, LINKED) <= 1
    with config_context(enable_metadata_routing=True):
        assert np.array_equal(auc, cross_val_score(pair_predictor(), **data))


def test_weights_of_linked_pairs_are_the_graphs():
    weighted = kn.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], np.eye(5), weights=[2, 3, 4, 5])
    links = pair_predictor(epochs=1).fit([(0, 1), (2, 1), (3, 2), (0, 4)], graph=weighted)
    seen = links.split_.graph.adjacency.toarray()
    expected = {(0, 1): 2, (1, 2): 3, (2, 3): 4, (0, 4): 1}
    held_out = tuple(links.split_.validation[0].tolist())
    for pair, weight in expected.items():
        assert seen[pair] == (0 if pair == held_out else weight)
    assert seen[3, 4] == 0


def test_predictor_of_pairs_answers_the_same_after_loading(tmp_path):
    links = pair_predictor().fit(PAIRS, LINKED, graph=CLUSTERS)
    again = kn.load_model(links.save(tmp_path / "l"), links.split_.graph)
    assert np.array_equal(again.score_pairs(PAIRS), links.score_pairs(PAIRS))
    for one in (links, again):
        with refused("missing", setting="edges"):
            one.evaluate()
    assert again.evaluate(PAIRS[LINKED == 1], PAIRS[LINKED == 0])["auc"] > 60


@pytest.mark.parametrize(
    ("pairs", "y", "graph", "code"),
    [
        (CLUSTERS, None, CLUSTERS, "conflict"),
        ([(0, 1), (1, 2)], [1], CLUSTERS, "shape"),
        ([(0, 1), (1, 2)], [1, 2], CLUSTERS, "setting"),
        ([(0, 1), (1, 0)], [1, 0], CLUSTERS, "conflict"),
        ([(0, 1), (1, 1)], None, CLUSTERS, "setting"),
        ([(0, 1), (1, 2)], [0, 0], CLUSTERS, "too-few"),
        ([(0, 1, 2)], None, CLUSTERS, "shape"),
        ([("a", "b"), ("b", "c")], None, CLUSTERS, "unknown"),
        ([(0, 1), (0, 2), (1, 2)], None, kn.Graph.from_edges([(0, 1)], np.eye(3)), "too-few"),
    ],
)
def test_wrong_pairs_are_refused(pairs, y, graph, code):
    with refused(code):
        pair_predictor(epochs=1).fit(pairs, y, graph=graph)
