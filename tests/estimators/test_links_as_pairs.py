"""scikit-learn's form: pairs of nodes, and whether they are linked."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score

import kernode as kn
from graphs import CLUSTERS
from kernode.io.edge_split import is_edge
from refusals import refused


def pairs_and_links(graph=CLUSTERS, seed=0):
    """All edges and as many pairs that are none, in random order."""
    random = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(graph.adjacency.toarray()))
    pairs = np.argwhere(np.triu(graph.adjacency.toarray() == 0, 1))
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


def test_held_out_pairs_choose_the_epoch_and_never_teach():
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


def test_unlinked_pairs_teach():
    """Beside a predictor that is chosen by the same pairs, and taught by the linked ones alone."""
    told = pair_predictor(epochs=60).fit(PAIRS, LINKED, graph=CLUSTERS)
    untold = pair_predictor(epochs=60).fit(told.split_)
    chose = {tuple(pair) for pair in told.split_.validation_negatives.tolist()}
    taught = np.array([pair for pair in PAIRS[LINKED == 0] if tuple(pair) not in chose])
    assert told.decision_function(taught).mean() < untold.decision_function(taught).mean() - 0.1


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
    auc = cross_val_score(
        pair_predictor(), PAIRS, LINKED, params={"graph": CLUSTERS}, cv=3, scoring="roc_auc"
    )
    assert auc.shape == (3,)
    assert auc.mean() > 0.6
    grid = {"variant": ["kernel", "gae"], "learning_rate": [0.01, 0.05]}
    search = GridSearchCV(pair_predictor(), grid, cv=2)
    search.fit(PAIRS, LINKED, graph=CLUSTERS)
    assert search.best_estimator_.variant == search.best_params_["variant"]
    assert 0.5 < search.score(PAIRS, LINKED) <= 1
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            pair_predictor(), PAIRS, LINKED, params={"graph": CLUSTERS}, cv=3, scoring="roc_auc"
        )
    assert np.array_equal(auc, routed)


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
        (CLUSTERS, [1], None, "conflict"),
        (CLUSTERS, None, CLUSTERS, "conflict"),
        ([(0, 1), (1, 2)], [1], CLUSTERS, "shape"),
        ([(0, 1), (1, 2)], [1, 2], CLUSTERS, "setting"),
        ([(0, 1), (1, 2)], [1, 0.5], CLUSTERS, "setting"),
        ([(0, 1), (1, 0)], [1, 0], CLUSTERS, "conflict"),
        ([(0, 1), (1, 1)], None, CLUSTERS, "setting"),
        ([(0, 1), (1, 0)], None, CLUSTERS, "too-few"),
        ([], None, CLUSTERS, "too-few"),
        ([(0, 1), (1, 2)], [0, 0], CLUSTERS, "too-few"),
        ([(0, 1), (0, 2), (1, 2)], None, kn.Graph.from_edges([(0, 1)], np.eye(3)), "too-few"),
    ],
)
def test_wrong_pairs_are_refused(pairs, y, graph, code):
    with refused(code):
        pair_predictor(epochs=1).fit(pairs, y, graph=graph)


@pytest.mark.parametrize("pairs", [[(0, 1, 2)], [(0,), (1,)], [(0, 900), (1, 2)], [("a", "b"), ("b", "c")]])
def test_what_is_not_two_nodes_of_the_graph_is_refused(pairs):
    with pytest.raises(kn.InputError):
        pair_predictor(epochs=1).fit(pairs, graph=CLUSTERS)
