"""People who come from scikit-learn, and expect what it does to be done here."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import kernode as kn
from graphs import CLUSTERS
from kernode.kernels import RBF, Linear, Normalized
from refusals import refused
from tasks import LABELS, SPLIT

TRUTH = CLUSTERS.labels[SPLIT.test]


def quick(kind=kn.NodeKernelClassifier, **settings):
    return kind(**{"variant": "n1", "epochs": 15, "learning_rate": 0.05, "device": "cpu"} | settings)


def links(**settings):
    return kn.LinkPredictor(epochs=3, device="cpu", **settings)


def fitted(model, **more):
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, **more)


# ---- random_state


@pytest.mark.parametrize("kind", [kn.NodeKernelClassifier, kn.NodeKernelTransformer])
def test_no_seed_is_a_fresh_one_and_the_run_can_be_repeated(kind):
    """random_state=None, as everywhere; which run was it?"""
    one, two = (fitted(quick(kind, random_state=None, replicas=2)) for _ in range(2))
    assert one.seeds_ != two.seeds_
    assert one.seeds_ == (one.seeds_[0], one.seeds_[0] + 1)
    again = fitted(quick(kind, random_state=one.seeds_[0], replicas=2))
    assert np.array_equal(again.kernel_.gram([0, 1, 2]), one.kernel_.gram([0, 1, 2]))
    assert one.get_params()["random_state"] is None


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_a_seed_and_moves_on(make):
    """One generator for everything."""
    random = make(3)
    first, second = (fitted(quick(epochs=1, random_state=random)).seeds_ for _ in range(2))
    assert first != second
    assert fitted(quick(epochs=1, random_state=make(3))).seeds_ == first
    assert links(random_state=make(3)).fit(CLUSTERS).seeds_ == first
    model = quick(random_state=random)
    assert model.get_params()["random_state"] is random
    fitted(clone(model))


# ---- nested parameters


def test_settings_of_a_kernel_are_searched_by_name():
    """gamma is searched as in SVC."""
    model = quick(variant="k1", map=kn.maps.HopMLP((8,), 4), kernel=RBF(), triplets=200)
    grid = {"kernel__gamma": [0.1, 2.0], "map__hops": [1, 2]}
    search = GridSearchCV(model, grid, cv=2).fit(SPLIT.train, LABELS, graph=CLUSTERS)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_.model_.method
    assert best.kernel.gamma == search.best_params_["kernel__gamma"]
    assert best.map.hops == search.best_params_["map__hops"]
    assert model.kernel == RBF()  # what he gave is as it was


def test_settings_within_parts_are_listed_set_and_cloned():
    """What there is to set."""
    model = quick(kernel=Linear() + Normalized(RBF()), map=kn.maps.GCN())
    params = model.get_params()
    assert params["kernel__right__kernel__gamma"] == 1.0
    assert params["map__hidden"] == model.map.hidden
    assert set(model.get_params(deep=False)) == set(model._get_param_names())
    kernel = model.kernel
    model.set_params(kernel__right__kernel__gamma=3.0, epochs=2)
    assert (model.kernel, model.epochs) == (Linear() + Normalized(RBF(3.0)), 2)
    assert kernel == Linear() + Normalized(RBF())
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(**model.get_params()).get_params() == model.get_params()
    both = quick().set_params(kernel__gamma=0.5, kernel=RBF(learned=True))
    assert both.kernel == RBF(0.5, learned=True)
    assert links(kernel=RBF()).set_params(kernel__gamma=4.0).kernel == RBF(4.0)


@pytest.mark.parametrize(
    ("settings", "name", "code"),
    [
        ({"kernel_loss": "hinge"}, "kernel_loss__margin", "unknown"),
        ({}, "kernel__colour", "unknown"),
        ({"kernel": RBF()}, "kernel__gama", "unknown"),
        ({"kernel": RBF()}, "kernel__gamma__x", "setting"),
        ({"kernel": RBF()}, "kernel__gamma", "setting"),
    ],
)
def test_a_setting_that_is_nowhere_is_refused(settings, name, code):
    """A name was mistyped."""
    with refused(code):
        quick(**settings).set_params(**{name: -1})


def test_a_setting_of_a_part_that_is_not_given_changes_the_variants_own():
    """No map and no loss were given."""
    model = kn.NodeKernelClassifier("k3").set_params(map__hops=3, loss__margin=0.7, training__dropout=0.1)
    ((method, training),) = model.methods().values()
    assert (method.map.hops, method.loss.kernel.margin, training.dropout) == (3, 0.7, 0.1)


# ---- sample_weight


KERNEL = {"variant": "k1", "map": kn.maps.HopMLP((8,), 4), "triplets": 400}
LABELS_ALONE = {"variant": "label-propagation", "epochs": None, "learning_rate": None}


@pytest.mark.parametrize("settings", [{}, KERNEL, {"variant": "k3", "triplets": 200}, LABELS_ALONE])
def test_a_node_of_weight_zero_is_not_there_and_equal_weights_are_none(settings):
    """The last ten labels are guesses: they get weight 0."""
    wrong, weights = LABELS.copy(), np.ones(len(LABELS))
    wrong[-10:], weights[-10:] = (wrong[-10:] + 1) % 3, 0
    given = quick(**settings).fit(SPLIT.train, wrong, graph=CLUSTERS, sample_weight=7 * weights)
    absent = quick(**settings).fit(SPLIT.train[:-10], wrong[:-10], graph=CLUSTERS)
    assert np.array_equal(given.predict_proba(SPLIT.test), absent.predict_proba(SPLIT.test))


def test_weight_two_is_twice_in_the_list():
    """Some people were asked twice."""
    twice = np.arange(0, 60, 4)
    weights, model = np.ones(60), {"selection": "last", "precision": 64}
    weights[twice] = 2
    weighted = fitted(quick(**model), sample_weight=weights)
    nodes = np.concatenate([SPLIT.train, SPLIT.train[twice]])
    listed = quick(**model).fit(nodes, CLUSTERS.labels[nodes], graph=CLUSTERS)
    assert np.allclose(weighted.predict_proba(SPLIT.test), listed.predict_proba(SPLIT.test), atol=1e-9)
    plain = fitted(quick(**model))
    assert not np.allclose(weighted.predict_proba(SPLIT.test), plain.predict_proba(SPLIT.test), atol=1e-4)


def test_nearest_centroids_are_weighted_means():
    """One by hand: the mean similarity to each class, by weight."""
    weights = 1.0 + np.arange(60) % 7
    model = fitted(quick(**KERNEL, selection="last", precision=64), sample_weight=weights)
    gram = model.kernel_.gram(SPLIT.test, SPLIT.train)
    means = [np.average(gram[:, c == LABELS], axis=1, weights=weights[c == LABELS]) for c in range(3)]
    chances = np.exp(means) / np.exp(means).sum(axis=0)
    assert np.allclose(model.predict_proba(SPLIT.test), chances.T, atol=1e-9)


@pytest.mark.filterwarnings("ignore:y is not what the graph has")
@pytest.mark.parametrize("settings", [{}, KERNEL])
def test_labels_of_little_weight_teach_little(settings, tmp_path):
    """Half of the labels are wrong, and it is known which half to trust."""
    doubtful = np.arange(60) % 2 == 0
    wrong = np.where(doubtful, (LABELS + 1) % 3, LABELS)
    model = quick(**settings, selection="last").fit(
        SPLIT.train, wrong, graph=CLUSTERS, sample_weight=np.where(doubtful, 0.01, 1)
    )
    trusting = quick(**settings, selection="last").fit(SPLIT.train, wrong, graph=CLUSTERS)
    assert model.score(SPLIT.test, TRUTH) > trusting.score(SPLIT.test, TRUTH) + 0.1
    again = kn.load_model(model.save(tmp_path / "model.safetensors"), graph=CLUSTERS)
    assert np.array_equal(again.predict_proba(SPLIT.test), model.predict_proba(SPLIT.test))


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(3), r"one number per node of X \(60\). Got \(3,\)"),
        (-np.ones(60), "sample_weight must be finite numbers ≥ 0"),
        (np.full(60, np.nan), "sample_weight must be finite numbers ≥ 0"),
        (np.zeros(60), "every sample_weight is zero"),
    ],
)
def test_weights_that_are_none_are_one_sentence(weights, sentence):
    """The spreadsheet again."""
    with pytest.raises(kn.InputError, match=sentence):
        fitted(quick(), sample_weight=weights)


def test_weights_reach_folds_searches_and_transformers():
    """scikit-learn's tools, with and without routing."""
    weights, sizes = 1.0 + np.arange(60) % 3, []

    class Watched(kn.NodeKernelClassifier):
        def fit(self, X, y=None, *, graph=None, validation=None, sample_weight=None):
            sizes.append((len(X), len(sample_weight)))
            return super().fit(X, y, graph=graph, validation=validation, sample_weight=sample_weight)

    given = {"graph": CLUSTERS, "sample_weight": weights}
    assert cross_val_score(quick(Watched), SPLIT.train, LABELS, params=given, cv=3).mean() > 0.5
    with config_context(enable_metadata_routing=True):
        model = quick(Watched).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        GridSearchCV(model, {"hops": [1, 2]}, cv=2).fit(SPLIT.train, LABELS, **given)
        pipeline = make_pipeline(quick(kn.NodeKernelTransformer), LogisticRegression())
        pipeline[0].set_fit_request(sample_weight=True)
        pipeline[1].set_fit_request(sample_weight=True)
        pipeline.fit(SPLIT.train, LABELS, **given)
    assert sizes == [(40, 40)] * 3 + [(30, 30)] * 4 + [(60, 60)]
    vectors = quick(kn.NodeKernelTransformer).fit_transform(SPLIT.train, LABELS, **given)
    assert vectors.shape[0] == 60


# ---- rows of pandas


@pytest.fixture
def frame():
    """One row per node, with its class and a weight."""
    return pd.DataFrame({"id": SPLIT.train, "y": LABELS, "w": 1.0}, index=[f"r{i}" for i in range(60)])


def test_shuffled_columns_are_refused_and_the_same_order_is_not(frame):
    """y was shuffled, and pandas would have put it right by itself."""
    shuffled = frame.sample(frac=1, random_state=0)
    for given in ({"y": shuffled.y}, {"y": frame.y, "sample_weight": shuffled.w}):
        with pytest.raises(kn.InputError, match="same row labels in a different order"):
            quick().fit(frame.id, graph=CLUSTERS, **given)
    usual = quick().fit(frame.id, frame.y, graph=CLUSTERS, sample_weight=frame.w)
    sorted_ = quick().fit(frame.id, shuffled.y.loc[frame.index], graph=CLUSTERS)
    reset = quick().fit(frame.id, frame.y.reset_index(drop=True), graph=CLUSTERS)
    for model in (sorted_, reset):
        assert np.array_equal(model.predict_proba(SPLIT.test), usual.predict_proba(SPLIT.test))
    with pytest.raises(kn.InputError, match=r"Pass y\.loc\[X\.index\]"):
        usual.score(frame.id, shuffled.y)
    with pytest.raises(kn.InputError, match="same row labels"):
        quick().fit(frame.id, frame.y, graph=CLUSTERS, validation=(frame.id[:9], frame.y[8::-1]))


def test_pairs_and_links_of_shuffled_rows_are_refused():
    """Pairs, too."""
    pairs = pd.DataFrame({"u": [0, 1, 2], "v": [3, 4, 5]})
    with pytest.raises(kn.InputError, match="same row labels in a different order"):
        links().fit(pairs, pd.Series([1, 0, 1], index=[2, 0, 1]), graph=CLUSTERS)


# ---- what is handed over by mistake


def test_a_shuffled_mask_is_asked_about():
    """A mask came from a shuffled frame, and marked other rows than it should."""
    mask = pd.Series(np.arange(120) < 40, index=np.random.default_rng(0).permutation(120))
    with pytest.raises(kn.InputError, match=r"mask's rows are in another order.*mask\.sort_index\(\)"):
        quick().fit(mask, CLUSTERS.labels, graph=CLUSTERS)


def test_classes_that_contradict_the_graphs_are_said():
    """One column of two was sorted."""
    with pytest.warns(kn.KernodeWarning, match="y is not what the graph has for .* of 60 nodes"):
        quick(epochs=2).fit(SPLIT.train, np.sort(LABELS), graph=CLUSTERS)


def test_measurements_are_no_classes():
    """An amount was to be predicted."""
    with pytest.raises(kn.InputError, match="Unknown label type: continuous"):
        quick().fit(range(30), np.linspace(0, 1, 30), graph=CLUSTERS)


def test_features_in_place_of_nodes_are_pointed_out():
    """X is passed as everywhere else."""
    with pytest.raises(kn.InputError, match="features belong to the graph"):
        quick().fit(np.random.default_rng(0).random((30, 4)), [0, 1] * 15, graph=CLUSTERS)
