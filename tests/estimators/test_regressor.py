"""NodeKernelRegressor: predictions and their parts, intervals, growth, files, scikit-learn, wrong input."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR

import kernode as kn
from graphs import clustered_graph, graphs
from kernode.io.node_split import random_split
from kernode.kernels import RBF, FeatureCovariance, GraphCovariance, Linear, RegularizedLaplacian
from kernode.tasks.numbers import process
from kernode.tasks.numbers.learned import MapTask
from kernode.tasks.numbers.process import LEARNED, posterior_of, process_inputs
from refusals import refused

PLAIN = clustered_graph(n=120)
Y = np.asarray(PLAIN.features, float) @ np.linspace(-1, 1, 8) + 3.0 * PLAIN.labels
TRAIN, TEST = np.arange(0, 120, 2), np.arange(1, 120, 2)
NAMES = np.array([f"node-{i:03d}" for i in np.random.default_rng(0).permutation(120)])
NAMED = kn.Graph(PLAIN.adjacency, PLAIN.features, PLAIN.labels, node_names=NAMES, name="clusters")
WITH_NUMBERS = kn.Graph(
    PLAIN.adjacency, PLAIN.features, np.full(120, -1), targets=np.where(np.arange(120) < 100, Y, np.nan),
    target_name="price", name="priced",
)  # fmt: skip
SIMPLE = FeatureCovariance(RBF(gamma=0.5)) + GraphCovariance((RegularizedLaplacian(0.9),))


def regressor(**settings):
    return kn.NodeKernelRegressor(**{"kernel": SIMPLE} | settings)


def fitted(graph=PLAIN, nodes=TRAIN, y=None, **settings):
    return regressor(**settings).fit(nodes, Y[nodes] if y is None else y, graph=graph)


@pytest.fixture(scope="module")
def default():
    """With the default covariance."""
    return fitted(kernel=None)


def expected_posterior(model, graph, nodes, numbers):
    """By the hyperparameters of a model: the posterior of other numbers, or on another graph."""
    own = model.model_
    inputs = process_inputs(own.method, own.parameters, graph)
    targets = (np.asarray(numbers) - own.center) / own.spread
    return posterior_of(own.method, own.parameters, inputs, np.asarray(nodes), targets)


def unscaled(model, posterior):
    return model.model_.center + model.model_.spread * posterior.mean


# What a prediction is


@given(graph=graphs(max_nodes=10), seed=st.integers(0, 1000))
def test_weights_and_parts_sum_to_the_prediction(graph, seed):
    n = graph.n_nodes
    assume(n >= 4)
    random = np.random.default_rng(seed)
    y = random.normal(size=n) * 10.0 ** random.integers(-3, 4)
    known = random.permutation(n)[: max(3, n - 2)]
    model = kn.NodeKernelRegressor().fit(known, y[known], graph=graph)
    predicted = model.predict(range(n))
    assert np.isfinite(predicted).all()
    size = np.abs(y).max()
    for node in range(n):
        why = model.explain(node, top=2)
        assert why.number == predicted[node]
        by_known = why.mean + sum(one.value for one in why.known) + why.rest
        assert by_known == pytest.approx(predicted[node], abs=1e-8 * size)
        assert why.mean + sum(why.parts.values()) == pytest.approx(predicted[node], abs=1e-8 * size)
        assert all(one.value == one.weight * (one.number - why.mean) for one in why.known)
        assert len(why.known) + why.rest_count == len(known)


def test_it_learns_what_features_and_edges_say(default):
    assert default.score(TEST, Y[TEST]) > 0.6
    assert set(default.explain(1).parts) == {"features", "edges", "features and edges together"}
    features = fitted(kernel=FeatureCovariance(Linear()))
    assert features.score(TEST, Y[TEST]) > 0.6
    assert set(features.explain(1).parts) == {"features"}
    edges = fitted(kernel=GraphCovariance((RegularizedLaplacian(0.9),)))
    assert set(edges.explain(1).parts) == {"edges"}
    assert edges.score(TEST, Y[TEST]) > 0.3


def test_an_explanation_names_nodes_and_is_text_html_and_json():
    why = fitted(graph=NAMED).explain(NAMES[1], top=3)
    assert why.node == json.loads(json.dumps(why.to_json()))["node"] == NAMES[1]
    assert {one.node for one in why.known} <= set(NAMES[TRAIN])
    assert fitted().explain(1).node == 1
    assert [abs(one.value) for one in why.known] == sorted(
        (abs(one.value) for one in why.known), reverse=True
    )
    assert "57 others" in str(why)
    assert why._repr_html_().count("<table>") == 2
    assert why.to_json()["known"][0]["weight"] == why.known[0].weight
    assert len(fitted(graph=NAMED).explain(NAMES[1], top=100).known) == 60


def test_units_of_the_numbers_do_not_matter(default):
    other = fitted(kernel=None, y=1000 * Y[TRAIN] - 5e4)
    assert np.allclose(other.predict(TEST), 1000 * default.predict(TEST) - 5e4, rtol=1e-4, atol=1)
    deviations = [model.predict(TEST, return_std=True)[1] for model in (other, default)]
    assert np.allclose(deviations[0], 1000 * deviations[1], rtol=1e-3)


def test_leave_one_out_is_the_posterior_of_all_others():
    model = fitted()
    mean, deviation = model.loo_
    nodes, numbers = model.model_.train[0], model.model_.targets[0]
    for at in (0, 7, 59):
        kept = np.arange(60) != at
        others = expected_posterior(model, PLAIN, nodes[kept], numbers[kept])
        assert mean[at] == pytest.approx(unscaled(model, others)[nodes[at]])
        variance = others.variance[nodes[at]] + others.noise
        assert deviation[at] == pytest.approx(model.model_.spread * variance**0.5)


# Intervals


def test_quantiles_rise_and_are_those_of_the_gaussian_interval(default):
    levels = [0.01, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999]
    found = default.predict_quantiles(TEST, levels)
    assert found.shape == (60, 7)
    assert (np.diff(found, axis=1) > 0).all()
    mean, deviation = default.predict(TEST, return_std=True)
    assert np.allclose(found[:, 3], mean)
    assert np.allclose(found[:, 5], mean + norm.ppf(0.95) * deviation)
    assert np.allclose(default.predict_interval(TEST, 0.9, "gaussian"), found[:, [1, 5]])
    assert np.array_equal(default.predict_quantiles(TEST, 0.3), found[:, [2]])


@pytest.mark.parametrize("method", ["conformal", "loo", "gaussian"])
def test_intervals_are_ordered_and_grow_with_the_coverage(method):
    model = fitted(nodes=np.arange(100), y=Y[:100])
    narrow, wide = (model.predict_interval(TEST, coverage, method) for coverage in (0.5, 0.9))
    for one in (narrow, wide):
        assert one.shape == (60, 2)
        assert (one[:, 0] < one[:, 1]).all()
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (wide[:, 1] >= narrow[:, 1]).all()


def test_conformal_intervals_cover_new_nodes_even_if_the_model_is_wrong():
    """Errors with heavy tails, some nodes a hundred times noisier, and a covariance that knows none of it."""
    graph = clustered_graph(n=500)
    covered, held = [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        y = np.exp(graph.features[:, 0]) + random.standard_t(2, 500) * np.where(
            random.random(500) < 0.1, 9, 0.5
        )
        nodes = random.permutation(500)
        model = regressor(kernel=FeatureCovariance(Linear()), nodes=60, random_state=seed)
        model.fit(nodes[:300], y[nodes[:300]], graph=graph)
        low, high = model.predict_interval(nodes[300:], 0.9).T
        covered.append(((low <= y[nodes[300:]]) & (y[nodes[300:]] <= high)).mean())
        held.append(model.model_.held.shape[1])
    assert held == [60] * 8
    # Four standard errors of a mean of eight: of 60 calibration and 200 test nodes each.
    assert abs(np.mean(covered) - 0.9) < 4 * np.sqrt(0.09 * (1 / 60 + 1 / 200) / 8)


def test_a_conformal_interval_is_the_quantile_of_nodes_held_out():
    model = fitted(nodes=np.arange(100), y=Y[:100])
    own = model.model_
    assert own.held.shape == (1, 20)
    used = ~np.isin(own.train[0], own.held[0])
    without = expected_posterior(model, PLAIN, own.train[0, used], own.targets[0, used])
    middle = unscaled(model, without)
    deviation = own.spread * np.sqrt(without.variance + without.noise)
    errors = np.sort(np.abs(Y - middle)[own.held[0]] / deviation[own.held[0]])
    expected = middle + np.array([[-1], [1]]) * errors[18] * deviation  # ⌈21 · 0.9⌉ = 19
    assert np.allclose(model.predict_interval(range(120), 0.9), expected.T)
    with pytest.raises(kn.InputError, match="the errors of 20 nodes are too few"):
        model.predict_interval(range(120), 0.99)


def test_center_and_spread_are_those_of_the_numbers_that_were_fitted():
    own = fitted(nodes=np.arange(100), y=Y[:100]).model_
    used = ~np.isin(own.train[0], own.held[0])
    assert own.center == pytest.approx(own.targets[0, used].mean())
    assert own.spread == pytest.approx(own.targets[0, used].std())


def test_few_numbers_have_no_conformal_interval():
    model = fitted(nodes=TRAIN[:20])
    with refused("unsupported", setting="method"):
        model.predict_interval(TEST)
    assert model.predict_interval(TEST, method="loo").shape == (60, 2)


def test_samples_are_of_the_posterior_and_repeatable(default):
    mean, _ = default.predict(TEST, return_std=True)
    drawn = default.sample(TEST, 500, random_state=3)
    deviation = default._on().deviations(TEST, noise=False)
    assert drawn.shape == (500, 60)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * deviation / np.sqrt(500))
    assert np.allclose(drawn.std(axis=0) / deviation, 1, atol=0.25)
    assert np.array_equal(default.sample(TEST, 500, random_state=3), drawn)


# More numbers, nodes and edges


def test_more_numbers_are_those_of_a_posterior_with_the_same_hyperparameters():
    model = fitted(nodes=np.arange(100), y=Y[:100])
    later = model.add_labels([99, 110, 5], [1.0, 2.0, 3.0])  # two of them were known
    numbers = Y[:100].copy()
    numbers[[99, 5]] = 1.0, 3.0
    expected = expected_posterior(model, PLAIN, [*range(100), 110], [*numbers, 2.0])
    assert np.allclose(later.predict(range(120)), unscaled(model, expected))
    assert np.array_equal(model.predict(range(9)), fitted(nodes=np.arange(100), y=Y[:100]).predict(range(9)))
    assert not np.isin(later.model_.held[0], [99, 110, 5]).any()
    assert later.loo_[0].shape == (101,)
    again = fitted(nodes=TRAIN[:20]).add_labels(TRAIN[20:], Y[TRAIN[20:]])
    assert again.model_.held is None
    assert again.model_.train.shape == (1, 60)


def test_extended_is_what_is_computed_on_the_larger_graph(tmp_path):
    model = fitted(graph=NAMED)
    grown = model.extend(
        None, PLAIN.features[:2] + 0.1, [("new", NAMES[3]), ("more", "new")], names=["new", "more"]
    )
    larger = grown.graph_
    assert larger.n_nodes == 122
    expected = expected_posterior(model, larger, TRAIN, Y[TRAIN])
    assert np.allclose(grown.predict(range(122)), unscaled(model, expected))
    assert model.graph_ is NAMED
    assert np.isfinite(grown.predict(["new", "more"], return_std=True)).all()
    path = grown.save(tmp_path / "grown.safetensors", with_graph=True)
    assert np.array_equal(kn.load_model(path).predict(["new"]), grown.predict(["new"]))
    bare = grown.save(tmp_path / "bare.safetensors")
    assert np.array_equal(kn.load_model(bare, larger).predict(["new"]), grown.predict(["new"]))
    with refused("conflict", setting="graph"):
        model.extend(larger, None, [(NAMES[0], NAMES[7])])


def test_what_if_is_the_prediction_on_the_changed_graph():
    model = fitted()
    neighbour = int(PLAIN.adjacency[[1]].indices[0])
    found = model.what_if(1, remove=[neighbour], features={0: 9.0})
    features = np.array(PLAIN.features)
    features[1, 0] = 9.0
    a = PLAIN.adjacency.tolil()
    a[1, neighbour] = a[neighbour, 1] = 0
    changed = kn.Graph(a.tocsr(), features, PLAIN.labels)
    expected = expected_posterior(model, changed, TRAIN, Y[TRAIN])
    assert found.before[0] == model.predict([1])[0]
    assert found.after[0] == pytest.approx(unscaled(model, expected)[1])
    assert "becomes" in str(found)
    assert found.to_json()["after"] == found.after


# Files


@pytest.mark.parametrize("with_graph", [True, False])
@pytest.mark.parametrize("approximate", [False, True])
def test_a_saved_model_predicts_the_same_bits(approximate, with_graph, tmp_path):
    model = fitted(graph=NAMED, kernel=None, inducing=30, exact=40 if approximate else 5000)
    assert (model.model_.inducing is not None) == approximate
    path = model.save(tmp_path / "m.safetensors", with_graph=with_graph)
    again = kn.load_model(path) if with_graph else kn.load_model(path, NAMED)
    assert isinstance(again, kn.NodeKernelRegressor)
    for one, other in zip(
        again.predict(NAMES, return_std=True), model.predict(NAMES, return_std=True), strict=True
    ):
        assert np.array_equal(one, other)
    for method in ("loo", "gaussian"):
        assert np.array_equal(
            again.predict_interval(TEST, 0.8, method), model.predict_interval(TEST, 0.8, method)
        )
    assert np.array_equal(again.kernel_.gram(NAMES[:9]), model.kernel_.gram(NAMES[:9]))
    assert again.explain(NAMES[3]) == model.explain(NAMES[3])
    assert again.save(tmp_path / "again.safetensors", with_graph=with_graph).read_bytes() == path.read_bytes()
    refit = again.fit(TRAIN, Y[TRAIN], graph=NAMED)
    assert np.array_equal(refit.predict(TEST), model.predict(TEST))


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    one, two, other = (
        fitted(nodes=np.arange(100), y=Y[:100], random_state=seed).save(tmp_path / f"{at}").read_bytes()
        for at, seed in enumerate((3, 3, 4))
    )
    assert one == two != other


def test_without_its_graph_a_model_says_which_it_needs(tmp_path):
    path = fitted(graph=NAMED).save(tmp_path / "m.safetensors")
    with refused("missing", setting="graph") as caught:
        kn.load_model(path)
    assert "'clusters'" in str(caught.value)
    assert str(caught.value).count(". ") == 1  # what is wrong, and the fix
    with refused("conflict", setting="graph"):
        kn.load_model(path, clustered_graph(n=120, seed=1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"train": np.arange(59)[None]},
        {"train": -np.arange(60)[None]},
        {"targets": np.full((1, 60), np.nan)},
        {"spread": 0.0},
        {"center": np.inf},
        {"held": np.array([[1]])},
        {"inducing": np.array([[1]])},
        {"tested": np.array([[0.5]])},
    ],
    ids=str,
)
def test_a_file_with_wrong_fields_is_refused(wrong, tmp_path):
    path = replace(fitted().model_, **wrong).save(tmp_path / "m.safetensors")
    with pytest.raises(kn.FileError):
        kn.load_model(path, PLAIN)


def test_a_file_with_nodes_that_its_graph_does_not_have_is_refused(tmp_path):
    path = replace(fitted().model_, tested=np.array([[120]])).save(tmp_path / "m.safetensors")
    with refused("wrong-file"):
        kn.load_model(path, PLAIN)


def test_a_summary_says_what_is_known_and_how():
    model = fitted(graph=WITH_NUMBERS, nodes=np.arange(60), y=Y[:60], inducing=30, exact=40)
    summary = dict(model.model_.summary())
    assert summary["price"].startswith("60 nodes, ")
    assert summary["posterior"] == "by 30 inducing nodes"
    assert dict(fitted(nodes=TRAIN[:30]).model_.summary())["posterior"] == "exact"


def test_it_travels_by_pickle(default):
    again = pickle.loads(pickle.dumps(default))
    assert np.array_equal(again.predict(range(120)), default.predict(range(120)))
    assert np.array_equal(
        again.predict_interval(TEST, method="loo"), default.predict_interval(TEST, method="loo")
    )


def test_the_posterior_of_the_fit_is_not_computed_again(monkeypatch):
    model = fitted(kernel=None)
    monkeypatch.setattr(process, "between", None)
    monkeypatch.setattr("kernode.tasks.numbers.posterior.between", None)
    model.predict(TEST, return_std=True)


# A learned map

MAP = kn.maps.HopMLP(hidden=(16,), outputs=4, normalize_rows=False)
BRIEF = {"map": MAP, "training": {"epochs": 30}}
WITH_MAP = SIMPLE + LEARNED


def sums_of_relus(n=600):
    """A graph, and numbers that are means over two hops of what a hidden layer makes of the features."""
    graph, random = clustered_graph(n=n), np.random.default_rng(0)
    x = random.normal(size=(n, 8))
    graph = kn.Graph(graph.adjacency, x, graph.labels)
    a = graph.adjacency.toarray()
    step = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    y = step @ step @ np.maximum(x @ random.normal(size=(8, 3)), 0).sum(axis=1)
    return graph, y, random.permutation(n)


def test_a_map_learns_what_the_kernels_lack():
    graph, y, nodes = sums_of_relus()
    train, test = nodes[:400], nodes[400:]
    plain = FeatureCovariance(Linear())
    alone = regressor(kernel=plain).fit(train, y[train], graph=graph)
    feature_map = kn.maps.HopMLP(hidden=(32,), outputs=8, normalize_rows=False)
    model = regressor(kernel=plain + LEARNED, map=feature_map).fit(train, y[train], graph=graph)
    assert model.score(test, y[test]) > alone.score(test, y[test]) + 0.1
    low, high = model.predict_interval(test).T
    assert 0.8 < ((low <= y[test]) & (y[test] <= high)).mean() < 0.98
    assert model.history_["validation_r2"].shape == (200, 1)


def test_hyperparameters_are_of_numbers_that_the_map_was_not_trained_on(monkeypatch):
    seen = {}
    begin, likelihood = MapTask.begin, process.fit_hyperparameters

    def noted(task, *rest):
        seen["task"] = task
        return begin(task, *rest)

    def noted_targets(covariance, own, targets):
        seen["nodes"] = own.rows
        return likelihood(covariance, own, targets)

    monkeypatch.setattr(MapTask, "begin", noted)
    monkeypatch.setattr(process, "fit_hyperparameters", noted_targets)
    model = fitted(kernel=WITH_MAP, nodes=np.arange(100), y=Y[:100], **BRIEF)
    task, held = seen["task"], model.model_.held[0]
    assert (len(held), len(task.nodes), len(task.validation)) == (20, 48, 32)
    assert set(seen["nodes"]) == set(task.validation)
    parts = np.concatenate([held, task.nodes, task.validation])
    assert np.array_equal(np.sort(parts), np.arange(100))


@pytest.mark.parametrize("exact", [5000, 0])
def test_the_learned_map_is_a_part_of_the_sum(exact):
    model = fitted(kernel=None, exact=exact, **BRIEF)
    assert model.model_.method.covariance.needs_map
    for node in TEST[:5]:
        why = model.explain(node, top=3)
        assert "learned map" in why.parts
        for added in (why.parts.values(), [*(one.value for one in why.known), why.rest]):
            assert why.mean + sum(added) == pytest.approx(why.number, abs=1e-8 if exact else 1e-6)
    assert np.linalg.eigvalsh(model.kernel_.gram()).min() > -1e-8


def test_a_map_within_a_product_is_named():
    near = GraphCovariance((RegularizedLaplacian(0.9),), unit=True)
    learned = FeatureCovariance(RBF(gamma=0.5), columns="learned")
    model = fitted(kernel=learned * near + near, **BRIEF)
    assert set(model.explain(1).parts) == {"learned map and edges together", "edges"}


def test_replicas_are_side_by_side():
    one, two = (fitted(kernel=WITH_MAP, random_state=3, replicas=r, **BRIEF) for r in (1, 2))
    assert two.seeds_ == (3, 4)
    learned = two._on().inputs.learned
    assert learned.shape == (120, 8)
    assert learned.std(dim=0, correction=0).numpy() == pytest.approx(1)
    assert torch.allclose(learned[:, :4], one._on().inputs.learned, atol=1e-8)
    assert not torch.allclose(learned[:, :4], learned[:, 4:], atol=0.1)
    assert all(len(value) == 2 for value in two.model_.parameters.values())
    assert dict(two.model_.summary())["learned map"] == repr(MAP)


@pytest.mark.parametrize("exact", [5000, 0])
def test_a_learned_map_is_saved_and_has_the_same_bits(exact, tmp_path):
    model = fitted(graph=NAMED, kernel=None, exact=exact, replicas=2, **BRIEF)
    path = model.save(tmp_path / "m.safetensors", with_graph=True)
    again = kn.load_model(path)
    assert np.array_equal(again.predict(NAMES, return_std=True), model.predict(NAMES, return_std=True))
    assert again.explain(NAMES[3]) == model.explain(NAMES[3])
    assert again.save(tmp_path / "again.safetensors", with_graph=True).read_bytes() == path.read_bytes()
    assert np.array_equal(again.history_["validation_r2"], model.history_["validation_r2"])
    repeated = fitted(graph=NAMED, kernel=None, exact=exact, replicas=2, **BRIEF)
    assert repeated.save(tmp_path / "repeated.safetensors", with_graph=True).read_bytes() == path.read_bytes()
    if not exact:  # the kernel of edges was chosen
        return
    refit = clone(again).fit(TRAIN, Y[TRAIN], graph=NAMED)
    assert np.array_equal(refit.predict(NAMES), model.predict(NAMES))


def test_growth_and_changes_recompute_the_learned_map():
    model = fitted(graph=NAMED, kernel=WITH_MAP, **BRIEF)
    larger = model.extend(None, np.ones((1, 8)), [("new", NAMES[0]), ("new", NAMES[2])], names=["new"])
    expected = expected_posterior(model, larger.graph_, model.model_.train[0], model.model_.targets[0])
    assert np.array_equal(larger.predict(["new"]), unscaled(model, expected)[[120]])
    before, after = (one._on().inputs.learned for one in (model, larger))
    assert not torch.equal(before[0], after[0])
    found = model.what_if(NAMES[1], features={0: 9.0})
    assert found.before[0] != found.after[0]
    more = model.add_labels(NAMES[TEST[:9]], Y[TEST[:9]])
    assert more.model_.train.shape == (1, 69)
    assert torch.equal(more._on().inputs.learned, before)


def test_scoring_chooses_the_epoch():
    by_error = fitted(kernel=WITH_MAP, scoring="neg_mean_absolute_error", **BRIEF)
    history = by_error.history_["validation_neg_mean_absolute_error"]
    assert by_error.model_.kept_epochs[0] == 1 + history[:, 0].argmax()
    assert (history < 0).all()
    assert by_error.model_.training.select_by == "neg_mean_absolute_error"
    last = fitted(kernel=WITH_MAP, map=MAP, training=kn.Training(epochs=5, selection="last"))
    assert last.model_.kept_epochs.tolist() == [5]


def test_a_map_without_outputs_gets_a_width():
    model = fitted(kernel=WITH_MAP, map=kn.maps.HopMLP(hidden=(8,)), training={"epochs": 3})
    assert model._on().inputs.learned.shape == (120, 16)


def test_a_map_need_not_say_its_width():
    wide = kn.maps.ConcatMap(MAP, kn.maps.DiffusedComponents(3))
    model = fitted(kernel=WITH_MAP, map=wide, training={"epochs": 3})
    assert model._on().inputs.learned.shape == (120, 7)


@pytest.mark.parametrize(
    ("settings", "code", "setting"),
    [
        ({"replicas": 2}, "no-effect", "replicas"),
        ({"scoring": "r2"}, "no-effect", "scoring"),
        ({"training": {"epochs": 3}}, "no-effect", "training"),
        ({"kernel": SIMPLE, "map": MAP}, "no-effect", "map"),
        ({"kernel": WITH_MAP}, "missing", "map"),
        ({"map": "HopMLP"}, "setting", "map"),
        ({"map": kn.maps.HopMLP}, "setting", "map"),
        ({"map": kn.maps.NodeEmbedding(outputs=4)}, "unsupported", "map"),
        ({"map": MAP, "replicas": 0}, "setting", "replicas"),
        ({"map": MAP, "scoring": "accuracy"}, "setting", "scoring"),
        ({"map": MAP, "scoring": "roc_auc"}, "setting", "scoring"),
        ({"map": MAP, "scoring": "rand_score"}, "setting", "scoring"),
        ({"map": MAP, "scoring": "R2"}, "setting", "scoring"),
        ({"map": MAP, "training": {"select_by": "map"}}, "setting", "select_by"),
        ({"map": MAP, "scoring": "r2", "training": {"selection": "last"}}, "no-effect", "scoring"),
        ({"map": MAP, "training": {"precision": 64}}, "no-effect", "precision"),
        ({"map": MAP, "training": kn.Training(threads=2)}, "no-effect", "threads"),
        ({"map": MAP, "training": {"select_by": "accuracy"}}, "setting", "select_by"),
        ({"map": MAP, "training": {"rate": 1}}, "unknown", "rate"),
        ({"map": MAP, "training": 200}, "setting", "training"),
    ],
)
def test_wrong_settings_of_a_map_are_refused(settings, code, setting):
    with refused(code, setting=setting):
        fitted(**({"kernel": None} | settings))


def test_a_map_needs_some_numbers():
    with refused("too-few", setting="map"):
        fitted(kernel=None, nodes=TRAIN[:9], map=MAP)


# Columns of tables, and a graph's own numbers


@pytest.fixture
def tables(tmp_path):
    """Houses along streets: two CSV files, and the true prices, of which every seventh is missing."""
    random = np.random.default_rng(0)
    n = 140
    street = np.repeat(np.arange(14), 10)
    rooms, worth = random.integers(1, 7, n), random.normal(size=14)[street]
    price = (100 + 30 * rooms + 40 * worth + random.normal(size=n)).round(2)
    shown = ["" if i % 7 == 0 else f"{price[i]:.2f}" for i in range(n)]
    rows = [f"h{i},{rooms[i]},{random.choice(['brick', 'wood'])},{shown[i]}" for i in range(n)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,rooms,built,price", *rows]))
    edges = [f"h{i},h{j}" for i in range(n) for j in range(i) if street[i] == street[j] and (i + j) % 3]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    return tmp_path / "edges.csv", tmp_path / "nodes.csv", price


def test_a_column_of_tables_is_predicted(tables, tmp_path):
    edges, nodes, price = tables
    model = kn.NodeKernelRegressor().fit("price", graph=kn.read_table(edges, nodes))
    assert not any("price" in name for name in model.graph_.encoding.feature_names)
    known = np.arange(140) % 7 != 0
    own = model.model_
    assert (own.target_name, own.train.shape[1] + own.tested.shape[1]) == ("price", known.sum())
    assert np.array_equal(own.targets[0], price[own.train[0]])
    hidden = [f"h{i}" for i in range(0, 140, 7)]
    assert model.score(hidden, price[::7]) > 0.8
    assert model.report()["test"]["r2"] > 0.8
    path = model.save(tmp_path / "prices.safetensors")
    for graph in (kn.read_table(edges, nodes), kn.read_table(edges, nodes, label="price")):
        assert np.array_equal(kn.load_model(path, graph).predict(hidden), model.predict(hidden))
    labelled = kn.NodeKernelRegressor().fit(graph=kn.read_table(edges, nodes, label="price"))
    assert np.array_equal(labelled.predict(hidden), model.predict(hidden))
    grown = model.extend(
        None, {"id": ["x"], "rooms": [4], "built": ["wood"]}, {"source": ["x"], "target": ["h3"]}
    )
    assert np.isfinite(grown.predict(["x"])).all()
    few, many = (model.what_if("h0", columns={"rooms": rooms}) for rooms in (1, 6))
    assert few.before == many.before
    assert few.after[0] < many.after[0]
    with refused("unknown", setting="X"):
        kn.NodeKernelRegressor().fit("colour", graph=kn.read_table(edges, nodes))


@pytest.mark.parametrize("split", [None, "0.5/0.3/0.2", "60/20/20", "own"])
def test_a_graphs_own_numbers_are_split(split):
    parts = random_split(WITH_NUMBERS.targets, (50, 30, 20), 1)
    model = regressor().fit(graph=WITH_NUMBERS, split=parts if split == "own" else split)
    own, sizes = model.model_, {None: (64, 16, 20), "60/20/20": (60, 20, 20)}.get(split, (50, 30, 20))
    assert (own.train.shape[1], own.held.shape[1], own.tested.shape[1]) == (sizes[0] + sizes[1], *sizes[1:])
    assert np.array_equal(own.targets[0], WITH_NUMBERS.targets[own.train[0]])
    nodes = np.concatenate([own.train[0], own.tested[0]])
    assert np.array_equal(np.sort(nodes), np.arange(100))
    assert own.target_name == "price"
    if split == "own":
        assert np.array_equal(own.held[0], parts.validation)
        assert np.array_equal(own.tested[0], parts.test)
    assert model.predict_interval(own.tested[0]).shape == (sizes[2], 2)
    found = model.report()["test"]
    assert found["r2"] == pytest.approx(model.score(own.tested[0], Y[own.tested[0]]))


def test_a_graph_with_classes_too_is_split_by_its_numbers():
    both = replace(WITH_NUMBERS, labels=PLAIN.labels, class_names=())
    found, expected = (regressor().fit(graph=one) for one in (both, WITH_NUMBERS))
    assert np.array_equal(found.predict(range(120)), expected.predict(range(120)))


def test_wrong_splits_are_refused():
    for split in (kn.Split([0, 1, 2, 105], [3], [4]), kn.Split([0, 1, 2], [3], [119])):
        with refused("missing", setting="split"):
            regressor().fit(graph=WITH_NUMBERS, split=split)
    with refused("unknown", what="node"):
        regressor().fit(graph=WITH_NUMBERS, split=kn.Split([0, 1, 2], [3], [400]))
    with refused("unsupported", setting="split"):
        regressor().fit(graph=WITH_NUMBERS, split="20-per-class")
    with refused("missing", setting="y"):
        regressor().fit(graph=PLAIN)
    with refused("conflict", setting="split"):
        regressor().fit(TRAIN, Y[TRAIN], graph=PLAIN, split="0.6/0.2/0.2")
    with refused("missing", setting="X"):
        fitted().report()


# Many known numbers


def test_many_numbers_are_approximated_with_the_same_sums():
    model = fitted(kernel=None, inducing=30, exact=40)
    own = model.model_
    assert own.inducing.shape == (1, 30)
    assert np.isin(own.inducing[0], TRAIN).all()
    assert model.score(TEST, Y[TEST]) > 0.6
    predicted = model.predict(range(120))
    for node in (0, 1, 77):
        why = model.explain(node)
        assert why.mean + sum(why.parts.values()) == pytest.approx(predicted[node], abs=1e-6)
        by_known = why.mean + sum(one.value for one in why.known) + why.rest
        assert by_known == pytest.approx(predicted[node], abs=1e-6)
    assert "edges" in why.parts
    later = model.add_labels(TEST[:5], Y[TEST[:5]])
    assert (
        np.abs(later.predict(TEST[:5]) - Y[TEST[:5]]).mean()
        < np.abs(predicted[TEST[:5]] - Y[TEST[:5]]).mean()
    )
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(range(120)), predicted)


@pytest.mark.parametrize(
    "kernel", [FeatureCovariance(RBF(gamma=0.5)), GraphCovariance((RegularizedLaplacian(0.5),)), SIMPLE],
    ids=["features", "edges", "both"],
)  # fmt: skip
def test_any_covariance_has_an_approximation(kernel):
    model = fitted(kernel=kernel, inducing=20, exact=40)
    assert np.isfinite(model.predict(range(120), return_std=True)).all()
    assert model.predict_interval(TEST, method="loo").shape == (60, 2)
    assert model.kernel_.gram().shape == (120, 120)


def test_nodes_unlike_the_inducing_ones_are_known_to_be_uncertain():
    """Few inducing nodes of a function that varies much: errors are no larger than said."""
    graph, ratios = clustered_graph(n=500), []
    for seed in range(3):
        random = np.random.default_rng(seed)
        y = np.sin(2 * graph.features[:, :3]).sum(axis=1) + 0.05 * random.normal(size=500)
        nodes = random.permutation(500)
        model = regressor(kernel=SIMPLE, inducing=60, exact=40, random_state=seed).fit(
            nodes[:400], y[nodes[:400]], graph=graph
        )
        mean, deviation = model.predict(nodes[400:], return_std=True)
        ratios.append(np.square((y[nodes[400:]] - mean) / deviation).mean() ** 0.5)
    assert 0.4 < np.mean(ratios) < 1.2


# scikit-learn


def test_kernel_is_psd_and_fits_kernel_machines(default):
    gram = default.kernel_.gram()
    assert np.linalg.eigvalsh(gram).min() > -1e-8
    assert np.allclose(gram, gram.T)
    machine = SVR(kernel="precomputed", C=100).fit(default.kernel_.gram(TRAIN), Y[TRAIN])
    assert machine.score(default.kernel_.gram(TEST, TRAIN), Y[TEST]) > 0.6
    classes = SVC(kernel="precomputed").fit(default.kernel_.gram(TRAIN), PLAIN.labels[TRAIN])
    assert classes.score(default.kernel_.gram(TEST, TRAIN), PLAIN.labels[TEST]) > 0.5
    graph_kernel = RegularizedLaplacian(0.9)
    classes = SVC(kernel="precomputed").fit(graph_kernel.gram(PLAIN, TRAIN), PLAIN.labels[TRAIN])
    assert classes.score(graph_kernel.gram(PLAIN, TEST, TRAIN), PLAIN.labels[TEST]) > 0.5


def test_kernel_is_the_covariance_where_one_node_has_a_known_number():
    model = fitted()
    on = model._on()
    expected = on.posterior._gram(on.posterior.own).numpy()
    assert np.allclose(model.kernel_.gram(range(120), TRAIN), expected, atol=1e-4)


def test_similar_nodes_are_those_of_the_kernel():
    model = fitted(graph=NAMED)
    g = model.kernel_.gram()
    normalized = g / np.sqrt(np.outer(g.diagonal(), g.diagonal()))
    np.fill_diagonal(normalized, -np.inf)
    best = np.argsort(-normalized[5], kind="stable")[:4]
    found = model.similar(NAMES[5], k=4)
    assert [name for name, _ in found] == NAMES[best].tolist()
    assert np.allclose([value for _, value in found], normalized[5, best])
    among = model.similar(NAMES[5], k=2, among=NAMES[:4])
    assert {name for name, _ in among} <= set(NAMES[:4])


def test_clones_folds_and_searches(default):
    assert is_regressor(default)
    copy = clone(default)
    assert copy.get_params() == default.get_params()
    with pytest.raises(NotFittedError):
        copy.predict([0])
    assert clone(fitted()).kernel == SIMPLE
    scores = cross_val_score(regressor(), TRAIN, Y[TRAIN], params={"graph": PLAIN}, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.5
    search = GridSearchCV(regressor(), {"nodes": [10, 30], "kernel": [None, SIMPLE]}, cv=2)
    search.fit(TRAIN, Y[TRAIN], graph=PLAIN)
    assert set(search.best_params_) == {"nodes", "kernel"}
    assert search.score(TEST, Y[TEST]) > 0.5
    assert regressor().set_params(nodes=5).nodes == 5


def test_gaussian_processes_of_gpytorch_take_the_kernel():
    gp = pytest.importorskip("kernode.kernels.gp")
    torch = pytest.importorskip("torch")
    covariance = gp.GPKernel(fitted().kernel_)
    column = torch.tensor(TRAIN[:4], dtype=torch.float64)[:, None]
    assert np.allclose(covariance(column).to_dense().numpy(), fitted().kernel_.gram(TRAIN[:4]))


FORMS = {
    "list": lambda nodes: nodes.tolist(),
    "column of floats": lambda nodes: nodes[:, None].astype(float),
    "names": lambda nodes: NAMES[nodes],
    "series": lambda nodes: pd.Series(NAMES[nodes], index=nodes),
    "mask": lambda nodes: np.isin(np.arange(120), nodes),
    "positions": kn.positions,
}


@pytest.mark.parametrize("form", FORMS)
def test_nodes_come_in_any_form(form):
    usual = fitted(graph=NAMED)
    model = fitted(graph=NAMED, nodes=FORMS[form](TRAIN), y=Y[TRAIN])
    assert np.array_equal(model.predict(FORMS[form](TEST)), usual.predict(TEST))
    assert model.score(FORMS[form](TEST), Y[TEST]) == usual.score(TEST, Y[TEST])


def test_a_mask_may_have_the_numbers_of_all_nodes():
    mask = np.isin(np.arange(120), TRAIN)
    numbers = np.where(mask, Y, np.nan)
    assert np.array_equal(fitted(nodes=mask, y=numbers).predict(TEST), fitted().predict(TEST))


def test_numbers_may_be_a_column_integers_or_a_series():
    with pytest.warns(DataConversionWarning):
        column = fitted(y=Y[TRAIN][:, None])
    assert np.array_equal(column.predict(TEST), fitted().predict(TEST))
    whole = fitted(y=Y[TRAIN].astype(int))
    assert np.array_equal(whole.predict(TEST), fitted(y=Y[TRAIN].astype(int).tolist()).predict(TEST))
    frame = pd.DataFrame({"node": TRAIN, "y": Y[TRAIN]})
    series = regressor().fit(frame.node, frame.y, graph=PLAIN)
    assert np.array_equal(series.predict(TEST), fitted().predict(TEST))
    shuffled = frame.sample(frac=1, random_state=0)
    with refused("ambiguous", setting="y"):
        regressor().fit(frame.node, shuffled.y, graph=PLAIN)


def test_no_seed_is_a_fresh_one_and_the_run_can_be_repeated():
    given = {"nodes": np.arange(100), "y": Y[:100]}
    one, two = (fitted(random_state=None, **given) for _ in range(2))
    assert one.seeds_ != two.seeds_
    again = fitted(random_state=one.seeds_[0], **given)
    assert np.array_equal(again.predict_interval(TEST), one.predict_interval(TEST))


# Graphs and numbers at the edge


def test_a_graph_without_edges_is_a_regression_on_features():
    bare = kn.Graph.from_edges([], PLAIN.features)
    model = kn.NodeKernelRegressor().fit(TRAIN, Y[TRAIN], graph=bare)
    assert np.isfinite(model.predict(range(120), return_std=True)).all()
    assert model.score(TEST, Y[TEST]) > 0
    only_edges = fitted(graph=bare, kernel=GraphCovariance((RegularizedLaplacian(0.9),)))
    assert np.allclose(only_edges.predict(TEST), only_edges.model_.center)


@pytest.mark.parametrize("columns", [1, 70])
def test_constant_features_are_no_help_and_no_harm(columns):
    graph = kn.Graph(PLAIN.adjacency, np.full((120, columns), 0.1), PLAIN.labels)
    model = kn.NodeKernelRegressor().fit(TRAIN, Y[TRAIN], graph=graph)
    assert np.isfinite(model.predict(range(120), return_std=True)).all()
    grown = model.extend(None, np.full((1, columns), 0.3), [(120, 3)])
    assert np.abs(grown.predict([120])[0] - Y.mean()) < 10 * Y.std()


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e9])
def test_the_same_number_everywhere_is_every_prediction(value):
    with pytest.warns(kn.KernodeWarning, match="all known numbers are the same"):
        model = fitted(y=np.full(60, value))
    assert np.allclose(model.predict(TEST), value)


def test_three_numbers_are_enough():
    model = fitted(nodes=[0, 1, 2], y=[1.0, 2.0, 4.0], kernel=None)
    assert np.isfinite(model.predict(TEST, return_std=True)).all()
    assert model.predict_interval(TEST, 0.5, "loo").shape == (60, 2)


@pytest.mark.parametrize(
    ("nodes", "y", "code", "setting"),
    [
        ([0, 1], [1.0, 2.0], "too-few", "y"),
        ([0, 1, 1], [1.0, 2.0, 3.0], "duplicate", "X"),
        ([0, 1, 2], [1.0, np.nan, 3.0], "not-finite", "y"),
        ([0, 1, 2], [1.0, np.inf, 3.0], "not-finite", "y"),
        ([0, 1, 2], [1.0, 2.0], "shape", "y"),
        ([0, 1, 2], [[1.0, 2.0]] * 3, "shape", "y"),
        ([0, 1, 2], ["much", "more", "most"], "setting", "y"),
        ([0, 1, 2], [1j, 2.0, 3.0], "setting", "y"),
        ([0, 1, 2], None, "missing", "y"),
        ([0, 1, 120], [1.0, 2.0, 3.0], "unknown", None),
        (["a", "b", "c"], [1.0, 2.0, 3.0], "unknown", None),
        ([[0, 1], [2, 3]], [1.0, 2.0], "shape", "nodes"),
    ],
)
def test_wrong_numbers_and_nodes_are_refused(nodes, y, code, setting):
    with refused(code, **({"setting": setting} if setting else {})):
        regressor().fit(nodes, y, graph=PLAIN)


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        (lambda model: model.predict_interval([0], coverage=1.0), "coverage"),
        (lambda model: model.predict_interval([0], coverage=90), "coverage"),
        (lambda model: model.predict_interval([0], coverage=True), "coverage"),
        (lambda model: model.predict_interval([0], method="exact"), "method"),
        (lambda model: model.predict_quantiles([0], [0.5, 1.5]), "quantiles"),
        (lambda model: model.predict_quantiles([0], ["half"]), "quantiles"),
        (lambda model: model.sample([0], 0), "count"),
        (lambda model: model.explain(0, top=0), "top"),
        (lambda model: model.explain([0, 1]), "node"),
        (lambda model: regressor(kernel=RBF()).fit([0, 1, 2], [1, 2, 3], graph=PLAIN), "kernel"),
        (lambda model: regressor(kernel="rbf").fit([0, 1, 2], [1, 2, 3], graph=PLAIN), "kernel"),
        (lambda model: regressor(nodes=1).fit([0, 1, 2], [1, 2, 3], graph=PLAIN), "nodes"),
        (lambda model: regressor(inducing="many").fit([0, 1, 2], [1, 2, 3], graph=PLAIN), "inducing"),
    ],
)
def test_wrong_settings_are_refused(wrong, setting):
    with refused("setting", setting=setting):
        wrong(fitted())


def test_an_unknown_node_is_named():
    for ask in ("predict", "explain", "similar", "predict_interval"):
        with refused("unknown"):
            getattr(fitted(graph=NAMED, nodes=np.arange(100), y=Y[:100]), ask)(["nobody"])
    with refused("missing", setting="graph"):
        regressor().fit([0, 1, 2], [1, 2, 3])
