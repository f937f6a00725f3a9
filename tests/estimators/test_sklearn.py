"""scikit-learn on our estimators: seeds, weights, frames, searches, folds, pipelines, kernel machines."""

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
TRUTH = GRAPH.labels[SPLIT.test]
DOUBLE = {"precision": 64}
QUICK = {"variant": "n1", "epochs": 15, "learning_rate": 0.05, "device": "cpu"}


def classifier(kind=kn.NodeKernelClassifier, **settings):
    return kind(**QUICK | settings)


def transformer(**settings):
    return classifier(kn.NodeKernelTransformer, **settings)


def fitted(make=classifier, graph=GRAPH, **settings):
    return make(**settings).fit(SPLIT.train, LABELS, graph=graph)


# X and y


FORMS = {
    "list": lambda nodes: nodes.tolist(),
    "column of floats": lambda nodes: nodes[:, None].astype(np.float64),
    "objects": lambda nodes: nodes.astype(object),
    "column of names": lambda nodes: NAMES[nodes][:, None],
    "series of names": lambda nodes: pd.Series(NAMES[nodes], index=nodes),
    "data frame": lambda nodes: pd.DataFrame({"node": nodes}),
}


@pytest.mark.parametrize("form", FORMS)
def test_nodes_come_in_any_form(form):
    nodes, test = FORMS[form](SPLIT.train), FORMS[form](SPLIT.test)
    usual, model = fitted(epochs=3), classifier(epochs=3).fit(nodes, LABELS, graph=GRAPH)
    assert np.array_equal(model.predict_proba(test), usual.predict_proba(SPLIT.test))
    assert model.score(test, TRUTH) == usual.score(SPLIT.test, TRUTH)
    assert np.array_equal(model.kernel_.gram(test), usual.kernel_.gram(SPLIT.test))


OTHER_FORMS = ([[0, 1], [2, 3]], 3, [0.5], [np.nan], [-1], [120], [True, False], ["none"], [[0], [1, 2]])


@pytest.mark.parametrize("nodes", [*OTHER_FORMS, PLAIN.adjacency], ids=repr)
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


def test_mistaken_input_is_pointed_out():
    mask = pd.Series(np.arange(120) < 40, index=np.random.default_rng(0).permutation(120))
    for nodes, y, sentence in (
        (mask, PLAIN.labels, r"mask's rows are in another order.*mask\.sort_index\(\)"),
        (range(30), np.linspace(0, 1, 30), "Unknown label type: continuous"),
        (np.random.default_rng(0).random((30, 4)), [0, 1] * 15, "features belong to the graph"),
    ):
        with pytest.raises(InputError, match=sentence):
            classifier().fit(nodes, y, graph=PLAIN)
    with pytest.warns(kn.KernodeWarning, match="y is not what the graph has for .* of 60 nodes"):
        classifier(epochs=2).fit(SPLIT.train, np.sort(LABELS), graph=PLAIN)


def test_columns_in_another_row_order_are_refused():
    frame = pd.DataFrame({"id": SPLIT.train, "y": LABELS, "w": 1.0}, index=[f"r{i}" for i in range(60)])
    shuffled, quick = frame.sample(frac=1, random_state=0), classifier(epochs=3)
    usual = classifier(epochs=3).fit(frame.id, frame.y, graph=PLAIN, sample_weight=frame.w)
    for y in (shuffled.y.loc[frame.index], frame.y.reset_index(drop=True)):
        model = quick.fit(frame.id, y, graph=PLAIN)
        assert np.array_equal(model.predict_proba(SPLIT.test), usual.predict_proba(SPLIT.test))
    pairs = pd.DataFrame({"u": [0, 1, 2], "v": [3, 4, 5]})
    for wrong in (
        lambda: quick.fit(frame.id, shuffled.y, graph=PLAIN),
        lambda: quick.fit(frame.id, frame.y, graph=PLAIN, sample_weight=shuffled.w),
        lambda: quick.fit(frame.id, frame.y, graph=PLAIN, validation=(frame.id[:9], frame.y[8::-1])),
        lambda: usual.score(frame.id, shuffled.y),
        lambda: kn.LinkPredictor().fit(pairs, pd.Series([1, 0, 1], index=[2, 0, 1]), graph=PLAIN),
    ):
        with pytest.raises(InputError, match=r"same row labels in a different order.*Pass y|sample_weight"):
            wrong()


# random_state


@pytest.mark.parametrize("make", [classifier, transformer])
def test_no_seed_is_a_fresh_one_and_the_run_can_be_repeated(make):
    one, two = (fitted(make, random_state=None, replicas=2) for _ in range(2))
    assert one.seeds_ != two.seeds_
    assert one.seeds_ == (one.seeds_[0], one.seeds_[0] + 1)
    again = fitted(make, random_state=one.seeds_[0], replicas=2)
    assert np.array_equal(again.kernel_.gram([0, 1, 2]), one.kernel_.gram([0, 1, 2]))
    assert one.get_params()["random_state"] is None


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_a_seed_and_moves_on(make):
    random = make(3)
    first, second = (fitted(epochs=1, random_state=random).seeds_ for _ in range(2))
    assert first != second
    assert fitted(epochs=1, random_state=make(3)).seeds_ == first
    assert kn.LinkPredictor(epochs=1, random_state=make(3)).fit(PLAIN).seeds_ == first
    model = classifier(random_state=random)
    assert model.get_params()["random_state"] is random
    fitted(lambda: clone(model))


# sample_weight


KERNEL = {"variant": "k1", "map": kn.maps.HopMLP((8,), 4), "loss": {"triplets": 400}}
LABELS_ALONE = {"variant": "label-propagation", "epochs": None, "learning_rate": None}
LAST = {"training": {"selection": "last", "precision": 64}}


@pytest.mark.parametrize("settings", [{}, KERNEL, {"variant": "k3"}, LABELS_ALONE])
def test_a_node_of_weight_zero_is_not_there_and_equal_weights_are_none(settings):
    wrong, weights = LABELS.copy(), np.ones(len(LABELS))
    wrong[-10:], weights[-10:] = (wrong[-10:] + 1) % 3, 0
    given = classifier(**settings).fit(SPLIT.train, wrong, graph=PLAIN, sample_weight=7 * weights)
    absent = classifier(**settings).fit(SPLIT.train[:-10], wrong[:-10], graph=PLAIN)
    assert np.array_equal(given.predict_proba(SPLIT.test), absent.predict_proba(SPLIT.test))


def test_weight_two_is_twice_in_the_list():
    twice, weights = np.arange(0, 60, 4), np.ones(60)
    weights[twice] = 2
    weighted = classifier(**LAST).fit(SPLIT.train, LABELS, graph=PLAIN, sample_weight=weights)
    nodes = np.concatenate([SPLIT.train, SPLIT.train[twice]])
    listed = classifier(**LAST).fit(nodes, PLAIN.labels[nodes], graph=PLAIN)
    assert np.allclose(weighted.predict_proba(SPLIT.test), listed.predict_proba(SPLIT.test), atol=1e-9)
    plain = fitted(graph=PLAIN, **LAST)
    assert not np.allclose(weighted.predict_proba(SPLIT.test), plain.predict_proba(SPLIT.test), atol=1e-4)


def test_nearest_centroids_are_weighted_means_after_loading_too(tmp_path):
    weights = 1.0 + np.arange(60) % 7
    model = classifier(**KERNEL | LAST).fit(SPLIT.train, LABELS, graph=PLAIN, sample_weight=weights)
    gram = model.kernel_.gram(SPLIT.test, SPLIT.train)
    means = [np.average(gram[:, c == LABELS], axis=1, weights=weights[c == LABELS]) for c in range(3)]
    expected = np.exp(means) / np.exp(means).sum(axis=0)
    again = kn.load_model(model.save(tmp_path / "model.safetensors"), graph=PLAIN)
    for one in (model, again):
        assert np.allclose(one.predict_proba(SPLIT.test), expected.T, atol=1e-9)


def test_weights_reach_folds_searches_and_transformers():
    weights, sizes = 1.0 + np.arange(60) % 3, []

    class Watched(kn.NodeKernelClassifier):
        def fit(self, X, y=None, *, graph=None, validation=None, sample_weight=None):
            sizes.append((len(X), len(sample_weight)))
            return super().fit(X, y, graph=graph, validation=validation, sample_weight=sample_weight)

    given = {"graph": PLAIN, "sample_weight": weights}
    assert cross_val_score(classifier(Watched), SPLIT.train, LABELS, params=given, cv=3).mean() > 0.5
    with config_context(enable_metadata_routing=True):
        model = classifier(Watched).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        GridSearchCV(model, {"hops": [1, 2]}, cv=2).fit(SPLIT.train, LABELS, **given)
        pipeline = make_pipeline(transformer(), LogisticRegression())
        for step in pipeline:
            step.set_fit_request(sample_weight=True)
        pipeline.fit(SPLIT.train, LABELS, **given)
    assert sizes == [(40, 40)] * 3 + [(30, 30)] * 4 + [(60, 60)]
    assert len(transformer().fit_transform(SPLIT.train, LABELS, **given)) == 60


# answers


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
    model = fitted()
    assert model.score(NAMES[::-1][SPLIT.test], TRUTH, graph=twin) == model.score(SPLIT.test, TRUTH)


@pytest.mark.parametrize(
    ("kernel", "graph"), [(Normalized(Linear()), GRAPH), (Linear(), PLAIN), (RBF(0.5), GRAPH)]
)
def test_similar_nodes_are_those_of_a_loop_over_all(kernel, graph):
    model = fitted(graph=graph, replicas=2, training=DOUBLE, kernel=kernel)
    g = model.model_.on(graph).g.numpy()
    products = [x @ x[7] for x in g / np.linalg.norm(g, axis=2, keepdims=True)]
    values = np.mean([np.exp(p - 1) if kernel == RBF(0.5) else p for p in products], axis=0)
    expected = sorted((-value, node) for node, value in enumerate(values) if node != 7)[:5]
    named = graph.node_names if graph is GRAPH else range(120)
    found = model.similar(named[7], k=5)
    assert [node for node, _ in found] == [named[node] for _, node in expected]
    assert [value for _, value in found] == pytest.approx([-value for value, _ in expected])
    assert len(model.similar(0, k=1000)) == 119
    with pytest.raises(InputError):
        model.similar(0, k=0)


# vectors


@pytest.mark.parametrize("kernel", [Linear(), Normalized(Linear()), Linear() + Normalized(Linear())])
def test_products_of_vectors_are_the_gram_matrix_of_a_dot_product_kernel(kernel):
    model = fitted(transformer, replicas=3, training=DOUBLE, kernel=kernel)
    vectors = model.transform(SPLIT.test)
    assert np.allclose(vectors @ vectors.T, model.kernel_.gram(SPLIT.test), rtol=1e-12, atol=1e-12)
    assert vectors.shape[1] == 3 * 3 * kernel.embedding_copies


def test_vectors_of_other_kernels_are_what_they_compare():
    model = fitted(transformer, replicas=2, training=DOUBLE, kernel=RBF(0.5))
    x, y = model.transform([3, 8])
    g = model.model_.on(model.graph_).g.numpy()
    assert ((x - y) ** 2).sum() == pytest.approx(((g[:, 3] - g[:, 8]) ** 2).sum(axis=1).mean())


def test_vectors_have_names_precision_and_the_index_of_the_nodes():
    for precision in (32, 64):
        model = fitted(transformer, epochs=1, training={"precision": precision})
        assert model.transform([0, 1]).dtype == f"float{precision}"
    model = fitted(transformer, replicas=2).set_output(transform="pandas")
    names = [f"nodekerneltransformer{i}" for i in range(6)]
    assert model.get_feature_names_out().tolist() == names
    nodes = pd.Series(NAMES[SPLIT.test], index=SPLIT.test * 10)
    frame = model.transform(nodes)
    assert (frame.columns.tolist(), frame.index.tolist()) == (names, nodes.index.tolist())
    assert np.array_equal(frame.to_numpy(), fitted(transformer, replicas=2).transform(SPLIT.test))
    learned = pd.Series(NAMES[SPLIT.train], index=SPLIT.train + 500)
    assert model.fit_transform(learned, LABELS, graph=GRAPH).index.tolist() == learned.index.tolist()


def test_estimators_without_vectors_or_a_fit_are_refused():
    with refused("unsupported"):
        kn.NodeKernelTransformer("label-propagation").fit(SPLIT.train, LABELS, graph=GRAPH).transform([0])
    for use in (lambda m: m.transform([0]), lambda m: m.get_feature_names_out(), lambda m: m.similar(0)):
        with pytest.raises(NotFittedError):
            use(kn.NodeKernelTransformer())


# searches, folds and pipelines


def test_a_fold_is_what_its_own_training_nodes_give():
    half = len(SPLIT.train) // 2
    folds = [(np.arange(half), np.arange(half, 2 * half))]
    found = cross_val_score(classifier(), SPLIT.train, LABELS, params={"graph": GRAPH}, cv=folds)
    by_hand = classifier().fit(SPLIT.train[:half], LABELS[:half], graph=GRAPH)
    assert found[0] == by_hand.score(SPLIT.train[half:], LABELS[half:])


@pytest.mark.slow
def test_folds_and_searches_run_unchanged():
    data = {"X": NAMES[SPLIT.train], "y": LABELS, "params": {"graph": GRAPH}}
    assert cross_val_score(classifier(), **data, cv=3).mean() > 0.7
    grid = {"hops": [1, 2], "kernel": [Normalized(Linear()), RBF()]}
    search = GridSearchCV(classifier(variant="k3", loss={"triplets": 200}), grid, cv=2)
    search.fit(data["X"], LABELS, graph=GRAPH)
    best = search.best_estimator_.model_.method
    assert {"hops": best.map.hops, "kernel": best.kernel} == search.best_params_
    assert search.score(SPLIT.test, TRUTH) > 0.7
    assert cross_val_predict(classifier(), **data, cv=2, method="predict_proba").shape == (60, 3)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [SVC(), LogisticRegression()])
def test_vectors_feed_any_machine_in_a_pipeline(machine):
    pipeline = Pipeline([("embed", transformer()), ("machine", machine)])
    pipeline.fit(SPLIT.train, LABELS, embed__graph=GRAPH)
    assert pipeline.score(SPLIT.test, TRUTH) > 0.7
    by_hand = clone(machine).fit(fitted(transformer).transform(SPLIT.train), LABELS)
    vectors = fitted(transformer).transform(SPLIT.test)
    assert np.array_equal(pipeline.predict(SPLIT.test), by_hand.predict(vectors))
    search = GridSearchCV(pipeline, {"embed__hops": [1, 2]}, cv=2)
    search.fit(SPLIT.train, LABELS, embed__graph=GRAPH)
    assert search.best_estimator_["embed"].hops == search.best_params_["embed__hops"]


@pytest.mark.slow
@pytest.mark.parametrize("requested", [False, True])
def test_metadata_routing_hands_the_graph_on(requested):
    with config_context(enable_metadata_routing=True):
        model, embed = classifier(), transformer()
        if requested:
            model, embed = model.set_fit_request(graph=True), embed.set_fit_request(graph=True)
        data = {"X": SPLIT.train, "y": LABELS, "params": {"graph": GRAPH}, "cv": 2}
        assert cross_val_score(model, **data).mean() > 0.6
        assert cross_val_score(model, **data, scoring="roc_auc_ovr").mean() > 0.7
        pipeline = make_pipeline(embed, SVC()).fit(SPLIT.train, LABELS, graph=GRAPH)
        usual = pipeline.predict(SPLIT.test)
        assert (usual == TRUTH).mean() > 0.7
        assert np.array_equal(pipeline.predict(SPLIT.test, graph=GRAPH), usual)
        search = GridSearchCV(model, {"hops": [1, 2]}, cv=2).fit(SPLIT.train, LABELS, graph=GRAPH)
        assert search.score(SPLIT.test, TRUTH) > 0.7


def test_fitted_estimators_travel_by_pickle_without_what_can_be_computed_again():
    model, vectors = fitted(replicas=2), fitted(transformer)
    links = kn.LinkPredictor(epochs=3, device="cpu").fit(GRAPH)
    before = model.predict_proba(SPLIT.test)
    again = [pickle.loads(pickle.dumps(one)) for one in (model, vectors, links, model.kernel_)]
    assert np.array_equal(again[0].predict_proba(NAMES[SPLIT.test]), before)
    assert np.array_equal(again[1].transform(SPLIT.test), vectors.transform(SPLIT.test))
    assert np.array_equal(again[2].score_pairs([(0, 1)]), links.score_pairs([(0, 1)]))
    assert np.array_equal(again[3].gram(NAMES[:3]), model.kernel_.gram([0, 1, 2]))
    for fresh in (fitted(replicas=2), links.fit(GRAPH)):
        sizes = [len(pickle.dumps(fresh)), len(pickle.dumps(fresh.kernel_))]
        fresh.kernel_.gram()
        if not isinstance(fresh, kn.LinkPredictor):
            fresh.predict(SPLIT.test, graph=PLAIN)
        assert [len(pickle.dumps(fresh)), len(pickle.dumps(fresh.kernel_))] == sizes


def test_a_kernel_machine_calls_the_kernel_on_columns_of_nodes():
    model, column = fitted(replicas=2), SPLIT.train[:, None]
    called = SVC(kernel=model.kernel_).fit(column, LABELS)
    given = SVC(kernel="precomputed").fit(model.kernel_.gram(SPLIT.train), LABELS)
    expected = given.decision_function(model.kernel_.gram(SPLIT.test, SPLIT.train))
    assert np.allclose(called.decision_function(SPLIT.test[:, None]), expected)
    assert clone(called).kernel is model.kernel_  # no copy of g
    assert cross_val_score(SVC(kernel=model.kernel_), column, LABELS, cv=2).mean() > 0.7
    assert repr(model.kernel_) == "NodeKernel(Normalized(kernel=Linear()) on 120 nodes, mean of 2)"


def test_tags_say_what_is_true():
    for kind in (kn.NodeKernelClassifier, kn.NodeKernelTransformer):
        tags = get_tags(kind())
        assert tags.input_tags.one_d_array
        assert tags.input_tags.string
        assert tags.target_tags.required
        assert not tags.input_tags.sparse
    assert is_classifier(kn.NodeKernelClassifier())
    assert is_classifier(kn.LinkPredictor())
    links = get_tags(kn.LinkPredictor())
    assert not links.target_tags.required
    assert not links.classifier_tags.multi_class
    assert not links.input_tags.one_d_array
    model = fitted(epochs=1)
    assert (model.n_features_in_, model.classes_.tolist()) == (1, [0, 1, 2])
    assert not hasattr(classifier(), "n_features_in_")
