"""Reports about numbers, against slow and obvious computations."""

import json
import math

import numpy as np
import pytest
from scipy.stats import betabinom, binom
from sklearn.metrics import mean_absolute_error, r2_score

import kernode as kn
from graphs import number_graph
from kernode.hops.spectral import normalized_adjacency
from kernode.metrics.significance import paired
from kernode.progress import progress_listener
from kernode.tasks.numbers.baselines import NAMES, baseline_numbers, propagate
from kernode.tasks.numbers.evaluation import coverage_by_chance, lines, r2_interval, twins
from tasks import number_model


def random_graph(n=40, seed=0, alone=3):
    """Weighted, with nodes without edges at the end."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(n - alone, size=(3 * n, 2))
    weights = rng.uniform(0.5, 2, len(edges))
    return kn.Graph.from_edges(edges, rng.standard_normal((n, 4)), weights=weights)


@pytest.fixture(scope="module")
def model():
    return number_model()


@pytest.fixture(scope="module")
def report(model):
    return model.report()


@pytest.mark.parametrize("share", [0.5, 0.95, 0.999])
def test_propagated_numbers_solve_the_dense_system(share):
    graph = random_graph()
    a = graph.adjacency.toarray().astype(float)
    degrees = a.sum(axis=1)
    train, targets = np.arange(0, 40, 3), np.random.default_rng(1).standard_normal(14) + 5
    found = propagate(normalized_adjacency(graph), degrees, train, targets, share)
    p = a / np.where(degrees > 0, degrees, 1)[:, None]
    others = np.setdiff1d(np.arange(40), train)
    right = share * p[np.ix_(others, train)] @ (targets - targets.mean())
    dense = np.linalg.solve(np.eye(len(others)) - share * p[np.ix_(others, others)], right)
    assert np.allclose(found[others], targets.mean() + dense, atol=1e-6)
    assert np.allclose(found[train], targets)
    alone = others[degrees[others] == 0]
    assert len(alone)
    assert np.allclose(found[alone], targets.mean())


def test_figures_are_those_of_scikit_learn(model, report):
    on, test = model._on(), report["test"]
    nodes = on.model.tested[0]
    truth = on.graph.targets[nodes]
    assert test["nodes"] == len(nodes)
    assert test["r2"] == pytest.approx(r2_score(truth, model.predict(nodes)))
    assert test["mae"] == pytest.approx(mean_absolute_error(truth, model.predict(nodes)))
    assert test["r2_95"][0] < test["r2"] < test["r2_95"][1]


def test_baselines_are_paired_node_by_node(model, report):
    on, test = model._on(), report["test"]
    nodes = on.model.tested[0]
    truth = on.graph.targets[nodes]
    ours = np.square(truth - model.predict(nodes))
    assert list(test["baselines"]) == list(NAMES)
    for name, (own, _) in baseline_numbers(on, nodes).items():
        found = paired(((ours - np.square(truth - own)) / truth.var()).tolist(), 0)
        one = test["baselines"][name]
        assert one["r2"] == pytest.approx(r2_score(truth, own))
        assert one["ahead"] == pytest.approx(one["r2"] - test["r2"], abs=1e-5)
        assert one["ahead_95"] == pytest.approx([found.low, found.high], abs=1e-5)


def test_baselines_learn_from_every_known_number_and_no_other(model):
    """Ridge regression by hand, and the same answers whatever the numbers of other nodes are."""
    on = model._on()
    nodes = on.model.tested[0]
    x = np.asarray(on.graph.features, float)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    train, targets = on.model.train[0], on.model.targets[0]
    found, about = baseline_numbers(on, nodes)["ridge"]
    penalty = float(about["setting"].split()[1])
    around = x[train] - x[train].mean(axis=0)
    weights = np.linalg.solve(around.T @ around + penalty * np.eye(x.shape[1]), around.T @ targets)
    assert np.allclose(found, targets.mean() + (x[nodes] - x[train].mean(axis=0)) @ weights, rtol=1e-2)
    assert baseline_numbers(on, nodes)["mean"][0] == pytest.approx(targets.mean())


def test_coverage_counts_the_numbers_within(model, report):
    on = model._on()
    nodes = on.model.tested[0]
    truth = on.graph.targets[nodes]
    for method, one in report["test"]["coverage"].items():
        intervals = model.predict_interval(nodes, method=method)
        inside = sum(low <= y <= high for (low, high), y in zip(intervals, truth, strict=True))
        assert one["measured"] == pytest.approx(100 * inside / len(nodes))
        width = sum(high - low for low, high in intervals) / len(nodes)
        assert one["width"] == pytest.approx(width)
        assert one["width_in_spreads"] == pytest.approx(width / truth.std())


def test_chance_of_coverage_is_beta_binomial_for_held_out_nodes(model):
    on = model._on()
    h, t = on.model.held.shape[1], 50
    k = math.ceil((h + 1) * 0.9)
    low, high = coverage_by_chance(on, t, 0.9, "conformal")
    assert [low, high] == [2 * betabinom.ppf(q, t, k, h + 1 - k) for q in (0.025, 0.975)]
    assert coverage_by_chance(on, t, 0.9, "loo") == [2 * binom.ppf(q, t, 0.9) for q in (0.025, 0.975)]


def test_held_out_ranks_are_as_often_below_as_beta_binomial_says():
    """By drawing errors: of 20 nodes, below the 18th smallest of 19."""
    rng = np.random.default_rng(0)
    held, new = rng.random((20_000, 19)), rng.random((20_000, 20))
    below = (new <= np.sort(held, axis=1)[:, 17:18]).sum(axis=1)
    expected = betabinom.pmf(np.arange(21), 20, 18, 2)
    assert np.abs(np.bincount(below, minlength=21) / 20_000 - expected).max() < 0.015


def test_interval_of_r2_is_that_of_resampled_nodes():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(400)
    predicted = truth + 0.5 * rng.standard_normal(400)
    some = rng.integers(400, size=(2000, 400))
    drawn = [r2_score(truth[one], predicted[one]) for one in some]
    expected = np.quantile(drawn, [0.025, 0.975]).tolist()
    assert r2_interval(truth, predicted) == pytest.approx(expected, abs=0.01)
    assert r2_interval(truth[:2], predicted[:2]) is None


def test_twins_are_found_as_by_comparing_all_pairs():
    rng = np.random.default_rng(2)
    edges = np.column_stack([rng.integers(60, size=90), rng.integers(60, 66, size=90)])
    graph = kn.Graph.from_edges(edges, np.ones((70, 1)))
    numbers = rng.integers(3, size=70).astype(float)
    train, nodes = np.arange(0, 70, 2), np.arange(1, 70, 2)
    around = [frozenset(row.nonzero()[0].tolist()) for row in graph.adjacency.toarray()]
    expected = [
        any(around[v] and around[u] == around[v] and numbers[u] == numbers[v] for u in train) for v in nodes
    ]
    found = twins(graph, train, numbers[train], nodes, numbers[nodes])
    assert 0 < sum(expected) < len(expected)
    assert found.tolist() == expected
    alone = twins(graph, nodes, numbers[nodes], nodes, numbers[nodes])  # no node is its own twin
    assert alone.tolist() == [
        any(u != v and around[v] and around[u] == around[v] and numbers[u] == numbers[v] for u in nodes)
        for v in nodes
    ]


def test_many_twins_are_said_with_r2_without_them(report):
    figures = json.loads(json.dumps(report.to_json()))
    assert not any("twin" in line for line in lines(figures))
    figures["test"]["twins"] = {"nodes": figures["test"]["nodes"] // 2, "r2_without": 0.25}
    said = " ".join(" ".join(lines(figures)).split())
    assert "test nodes have a twin among the known nodes (same neighbours, same number)" in said
    assert "R² without them 0.250" in said


def test_text_is_narrow_and_has_every_figure(report):
    text = str(report)
    assert all(len(line) <= 80 for line in text.splitlines())
    for word in ("R²", "MAE", "RMSE", "conformal", "loo", "gaussian", *NAMES.values()):
        assert word in text
    assert "ridge" in report._repr_html_()


def test_a_graph_without_meaning_adds_nothing():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(150)
    graph = kn.Graph.from_edges(rng.integers(150, size=(300, 2)), x, targets=y, target_name="price")
    found = kn.NodeKernelRegressor(nodes=60).fit(graph=graph).report()
    assert "the graph adds nothing measurable here" in str(found)
    assert found["test"]["baselines"]["ridge"]["graph_adds"] is False


def test_a_graph_that_decides_adds_something(report):
    assert "adds nothing" not in str(report)


def test_known_nodes_are_called_optimistic(model):
    on = model._on()
    nodes, truth = on.model.train[0][:30], on.model.targets[0][:30]
    assert "optimistic: 30 of the nodes are known" in str(model.report(nodes, truth))


def test_few_known_numbers_have_no_conformal_intervals():
    graph, nodes = number_graph(), np.arange(12)
    model = kn.NodeKernelRegressor(nodes=60).fit(nodes, graph.targets[nodes], graph=graph)
    found = model.report(np.arange(12, 19), graph.targets[12:19])
    assert "too few nodes were held out" in str(found)
    assert found["test"]["coverage"]["conformal"] == {"skipped": "too few nodes were held out of the fit"}


def test_long_parts_report_progress(model):
    heard = set()
    with progress_listener(lambda what, done, total: heard.add(what)):
        model.report()
    assert {"baselines", "intervals"} <= heard


def test_a_report_is_the_same_twice(model, report):
    assert model.report().to_json() == report.to_json()
