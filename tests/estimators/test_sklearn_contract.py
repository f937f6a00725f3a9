"""scikit-learn's tools on our estimators, unchanged: checks, searches, folds, pipelines, kernel machines."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from sklearn.utils import get_tags

import kernode as kn
from graphs import CLUSTERS as PLAIN
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from refusals import refused
from tasks import LABELS, SPLIT

NAMES = np.array([f"node-{i:03d}" for i in np.random.default_rng(0).permutation(120)])
GRAPH = kn.Graph(PLAIN.adjacency, PLAIN.features, PLAIN.labels, node_names=NAMES, name="clusters")
DOUBLE = {"precision": 64}
QUICK = {"variant": "n1", "epochs": 25, "learning_rate": 0.05, "device": "cpu"}


def classifier(**settings):
    return kn.NodeKernelClassifier(**QUICK | settings)


def transformer(**settings):
    return kn.NodeKernelTransformer(**QUICK | settings)


def fitted(make=classifier, graph=GRAPH, **settings):
    return make(**settings).fit(SPLIT.train, LABELS, graph=graph)


# ---- X


FORMS = {
    "list": lambda nodes: nodes.tolist(),
    "column": lambda nodes: nodes[:, None],
    "column of floats": lambda nodes: nodes[:, None].astype(np.float64),
    "objects": lambda nodes: nodes.astype(object),
    "names": lambda nodes: NAMES[nodes],
    "list of names": lambda nodes: NAMES[nodes].tolist(),
    "column of names": lambda nodes: NAMES[nodes][:, None],
    "series": pd.Series,
    "series of names": lambda nodes: pd.Series(NAMES[nodes], index=nodes),
    "data frame": lambda nodes: pd.DataFrame({"node": nodes}),
}


@pytest.mark.parametrize("form", FORMS)
def test_nodes_come_in_any_form(form):
    nodes, test = FORMS[form](SPLIT.train), FORMS[form](SPLIT.test)
    usual, model = fitted(), classifier().fit(nodes, LABELS, graph=GRAPH)
    assert np.array_equal(model.predict_proba(test), usual.predict_proba(SPLIT.test))
    assert np.array_equal(model.predict(test), usual.predict(SPLIT.test))
    assert model.score(test, GRAPH.labels[SPLIT.test]) == usual.score(SPLIT.test, GRAPH.labels[SPLIT.test])
    assert np.array_equal(model.kernel_.gram(test), usual.kernel_.gram(SPLIT.test))


@pytest.mark.parametrize(
    "nodes",
    [
        [[0, 1], [2, 3]],
        3,
        [0.5],
        [np.nan],
        [np.inf],
        [1j],
        [-1],
        [120],
        [True, False],
        ["nobody"],
        np.array([0, "a"], dtype=object),
        [[0], [1, 2]],
        PLAIN.adjacency,
    ],
    ids=repr,
)
def test_every_other_form_is_refused(nodes):
    model = fitted(epochs=1)
    for use in (model.predict, model.kernel_.gram, lambda x: classifier().fit(x, [0], graph=GRAPH)):
        with pytest.raises(InputError):
            use(nodes)


def test_classes_may_be_a_column_and_must_be_there():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = classifier().fit(SPLIT.train, LABELS[:, None], graph=GRAPH)
    assert np.array_equal(column.predict(SPLIT.test), fitted().predict(SPLIT.test))
    with refused("missing", setting="y"):
        classifier().fit(SPLIT.train, graph=GRAPH)
    with pytest.raises(InputError):
        classifier().fit([0, 1], [0.0, np.nan], graph=GRAPH)
    for wrong in (None, "cora"):
        with pytest.raises(InputError):
            classifier().fit(SPLIT.train, LABELS, graph=wrong)


# ---- answers


def test_answers_depend_neither_on_the_order_nor_on_the_company_of_nodes():
    for model, methods in ((fitted(), ("predict", "predict_proba")), (fitted(transformer), ("transform",))):
        before = dict(vars(model))
        for method in methods:
            answer = getattr(model, method)
            whole, order = answer(SPLIT.test), np.random.default_rng(0).permutation(len(SPLIT.test))
            assert np.allclose(answer(SPLIT.test[order]), whole[order])
            assert np.allclose(np.concatenate([answer([node]) for node in SPLIT.test]), whole)
        assert vars(model) == before


def test_another_graph_gives_its_own_answers():
    twin = kn.Graph(GRAPH.adjacency, GRAPH.features, GRAPH.labels, node_names=NAMES[::-1], name="twin")
    for model in (fitted(), fitted(transformer)):
        answer = getattr(model, "predict_proba", None) or model.transform
        for graph in (twin, GRAPH, twin):
            names = (NAMES[::-1] if graph is twin else NAMES)[SPLIT.test]
            assert np.array_equal(answer(names, graph=graph), answer(SPLIT.test))
        with pytest.raises(InputError):
            answer(SPLIT.test, graph="cora")
    model, truth = fitted(), GRAPH.labels[SPLIT.test]
    there = model.predict(NAMES[::-1][SPLIT.test], graph=twin)
    assert np.array_equal(there, model.predict(SPLIT.test))
    assert model.score(NAMES[::-1][SPLIT.test], truth, graph=twin) == model.score(SPLIT.test, truth)


@pytest.mark.parametrize("kernel", [Normalized(Linear()), Linear(), RBF(0.5)])
@pytest.mark.parametrize("graph", [GRAPH, PLAIN])
def test_similar_nodes_are_those_of_a_loop_over_all(kernel, graph):
    model = fitted(graph=graph, replicas=2, training=DOUBLE, kernel=kernel)
    directions = [
        g / np.linalg.norm(g, axis=1, keepdims=True) for g in model.model_.on(model.graph_).g.numpy()
    ]
    inner = RBF(0.5) if kernel == RBF(0.5) else Linear()
    loop = []
    for other in range(120):
        products = [float(x[7] @ x[other]) for x in directions]
        values = products if inner == Linear() else [np.exp(-0.5 * (2 - 2 * p)) for p in products]
        loop.append((-np.mean(values), other))
    expected = [other for _, other in sorted(one for one in loop if one[1] != 7)][:5]
    found = model.similar(NAMES[7] if graph is GRAPH else 7, k=5)
    assert [node for node, _ in found] == [NAMES[v] if graph is GRAPH else v for v in expected]
    assert [value for _, value in found] == pytest.approx([-loop[v][0] for v in expected])
    assert all(type(node) is (str if graph is GRAPH else int) for node, _ in found)
    assert len(model.similar(0, k=1000)) == 119
    with pytest.raises(InputError):
        model.similar(0, k=0)


# ---- vectors


@pytest.mark.parametrize("kernel", [Linear(), Normalized(Linear()), Linear() + Normalized(Linear())])
def test_products_of_vectors_are_the_gram_matrix_of_a_dot_product_kernel(kernel):
    model = fitted(transformer, replicas=3, training=DOUBLE, kernel=kernel)
    vectors = model.transform(SPLIT.test)
    assert np.allclose(vectors @ vectors.T, model.kernel_.gram(SPLIT.test), rtol=1e-12, atol=1e-12)
    assert np.array_equal(vectors, model.kernel_.vectors(NAMES[SPLIT.test]))
    assert vectors.shape[1] == 3 * 3 * kernel.embedding_copies


def test_vectors_of_other_kernels_are_what_they_compare():
    model = fitted(transformer, replicas=2, training=DOUBLE, kernel=RBF(0.5))
    x, y = model.transform([3, 8])
    g = model.model_.on(model.graph_).g.numpy()
    assert ((x - y) ** 2).sum() == pytest.approx(((g[:, 3] - g[:, 8]) ** 2).sum(axis=1).mean())


def test_vectors_have_names_precision_and_the_index_of_what_was_asked():
    for precision in (32, 64):
        assert (
            fitted(transformer, training={"precision": precision}).transform([0, 1]).dtype
            == f"float{precision}"
        )
    model = fitted(transformer, replicas=2).set_output(transform="pandas")
    names = [f"nodekerneltransformer{i}" for i in range(6)]
    assert model.get_feature_names_out().tolist() == names
    asked = pd.Series(NAMES[SPLIT.test], index=SPLIT.test * 10)
    frame = model.transform(asked)
    assert frame.columns.tolist() == names
    assert frame.index.tolist() == asked.index.tolist()
    assert np.array_equal(frame.to_numpy(), fitted(transformer, replicas=2).transform(SPLIT.test))
    learned = pd.Series(NAMES[SPLIT.train], index=SPLIT.train + 500)
    both = model.fit_transform(learned, LABELS, graph=GRAPH)
    assert both.index.tolist() == learned.index.tolist()


def test_what_has_no_vectors_says_so():
    with refused("unsupported"):
        kn.NodeKernelTransformer("label-propagation").fit(SPLIT.train, LABELS, graph=GRAPH).transform([0])
    for use in (lambda m: m.transform([0]), lambda m: m.get_feature_names_out(), lambda m: m.similar(0)):
        with pytest.raises(NotFittedError):
            use(kn.NodeKernelTransformer())


# ---- searches, folds and pipelines


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [SPLIT.train, NAMES[SPLIT.train]], ids=["indices", "names"])
def test_folds_and_searches_run_unchanged(nodes):
    scores = cross_val_score(classifier(), nodes, LABELS, params={"graph": GRAPH}, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.7
    grid = {"hops": [1, 2], "kernel": [Normalized(Linear()), RBF()]}
    search = GridSearchCV(classifier(variant="k3", loss={"triplets": 200}), grid, cv=2).fit(
        nodes, LABELS, graph=GRAPH
    )
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.model_.method.map.hops == search.best_params_["hops"]
    assert search.best_estimator_.model_.method.kernel == search.best_params_["kernel"]
    assert search.score(SPLIT.test, GRAPH.labels[SPLIT.test]) > 0.7
    chances = cross_val_predict(
        classifier(), nodes, LABELS, params={"graph": GRAPH}, cv=2, method="predict_proba"
    )
    assert chances.shape == (len(nodes), 3)


def test_a_fold_is_what_its_own_training_nodes_teach():
    """The first of cross_val_score's figures, by hand."""
    half = len(SPLIT.train) // 2
    folds = [(np.arange(half), np.arange(half, 2 * half))]
    found = cross_val_score(classifier(), SPLIT.train, LABELS, params={"graph": GRAPH}, cv=folds)
    by_hand = classifier().fit(SPLIT.train[:half], LABELS[:half], graph=GRAPH)
    assert found[0] == by_hand.score(SPLIT.train[half:], LABELS[half:])


@pytest.mark.slow
@pytest.mark.parametrize("machine", [SVC(), LogisticRegression()])
def test_vectors_feed_any_machine_in_a_pipeline(machine):
    pipeline = Pipeline([("embed", transformer()), ("machine", machine)])
    pipeline.fit(SPLIT.train, LABELS, embed__graph=GRAPH)
    assert pipeline.score(SPLIT.test, GRAPH.labels[SPLIT.test]) > 0.7
    by_hand = clone(machine).fit(fitted(transformer).transform(SPLIT.train), LABELS)
    vectors = fitted(transformer).transform(SPLIT.test)
    assert np.array_equal(pipeline.predict(SPLIT.test), by_hand.predict(vectors))
    assert pipeline[:-1].get_feature_names_out()[0] == "nodekerneltransformer0"
    search = GridSearchCV(pipeline, {"embed__hops": [1, 2]}, cv=2)
    search.fit(SPLIT.train, LABELS, embed__graph=GRAPH)
    assert search.best_estimator_["embed"].hops == search.best_params_["embed__hops"]


@pytest.mark.slow
@pytest.mark.parametrize("asked_for", [False, True])
def test_metadata_routing_hands_the_graph_on(asked_for):
    with config_context(enable_metadata_routing=True):
        model, embed = classifier(), transformer()
        if asked_for:
            model, embed = model.set_fit_request(graph=True), embed.set_fit_request(graph=True)
        scores = cross_val_score(model, SPLIT.train, LABELS, params={"graph": GRAPH}, cv=2)
        assert scores.mean() > 0.6
        auc = cross_val_score(
            model, SPLIT.train, LABELS, params={"graph": GRAPH}, cv=2, scoring="roc_auc_ovr"
        )
        assert auc.mean() > 0.7
        pipeline = make_pipeline(embed, SVC()).fit(SPLIT.train, LABELS, graph=GRAPH)
        usual = pipeline.predict(SPLIT.test)
        assert (usual == GRAPH.labels[SPLIT.test]).mean() > 0.7
        assert np.array_equal(pipeline.predict(SPLIT.test, graph=GRAPH), usual)
        search = GridSearchCV(model, {"hops": [1, 2]}, cv=2).fit(SPLIT.train, LABELS, graph=GRAPH)
        assert search.score(SPLIT.test, GRAPH.labels[SPLIT.test]) > 0.7


def test_fitted_estimators_travel_by_pickle():
    model = fitted(replicas=2)
    vectors, links = fitted(transformer), kn.LinkPredictor(epochs=3, device="cpu").fit(GRAPH)
    before = model.predict_proba(SPLIT.test)
    model.predict(SPLIT.test, graph=GRAPH)
    again = [pickle.loads(pickle.dumps(one)) for one in (model, vectors, links, model.kernel_)]
    assert np.array_equal(again[0].predict_proba(NAMES[SPLIT.test]), before)
    assert np.array_equal(again[1].transform(SPLIT.test), vectors.transform(SPLIT.test))
    assert np.array_equal(again[2].score_pairs([(0, 1)]), links.score_pairs([(0, 1)]))
    assert np.array_equal(again[3].gram(NAMES[:3]), model.kernel_.gram([0, 1, 2]))
    for big in (fitted(replicas=2), links.fit(GRAPH)):
        fresh = len(pickle.dumps(big))
        kernel = len(pickle.dumps(big.kernel_))
        big.kernel_.gram()
        # what can be computed again stays at home
        assert (len(pickle.dumps(big)), len(pickle.dumps(big.kernel_))) == (fresh, kernel)


# ---- kernel machines


def test_a_kernel_machine_calls_the_kernel_on_columns_of_nodes():
    model = fitted(replicas=2)
    column = SPLIT.train[:, None]
    called = SVC(kernel=model.kernel_).fit(column, LABELS)
    given = SVC(kernel="precomputed").fit(model.kernel_.gram(SPLIT.train), LABELS)
    expected = given.decision_function(model.kernel_.gram(SPLIT.test, SPLIT.train))
    assert np.allclose(called.decision_function(SPLIT.test[:, None]), expected)
    assert np.array_equal(model.kernel_(SPLIT.test[:3]), model.kernel_.gram(SPLIT.test[:3]))
    assert clone(called).kernel is model.kernel_  # no copy of g
    scores = cross_val_score(SVC(kernel=model.kernel_), column, LABELS, cv=2)
    assert scores.mean() > 0.7
    assert repr(model.kernel_) == "NodeKernel(Normalized(kernel=Linear()) on 120 nodes, mean of 2)"


def test_tags_say_what_is_true():
    tags = {kind: get_tags(kind()) for kind in (kn.NodeKernelClassifier, kn.NodeKernelTransformer)}
    for one in tags.values():
        assert one.input_tags.one_d_array
        assert one.input_tags.string
        assert one.target_tags.required
        assert not one.input_tags.sparse
    assert is_classifier(kn.NodeKernelClassifier())
    assert is_classifier(kn.LinkPredictor())
    links = get_tags(kn.LinkPredictor())
    assert not links.target_tags.required
    assert not links.classifier_tags.multi_class
    assert not links.input_tags.one_d_array
    model = fitted()
    assert (model.n_features_in_, model.classes_.tolist()) == (1, [0, 1, 2])
    assert not hasattr(classifier(), "n_features_in_")
