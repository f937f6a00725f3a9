"""Pictures of predicted numbers: their data equal slow counts, and files are whole."""

import json
import math

import numpy as np
import pytest

import kernode as kn
from commands import fails
from graphs import number_graph
from kernode.viz.layout import node_positions
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.pictures import find_picture, pictures_about, write_pictures
from kernode.viz.pictures.number_maps import number_map, residual_map
from kernode.viz.pictures.predicted import coverage_data, predicted_data
from refusals import refused
from tasks import number_model

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model():
    return number_model()


@pytest.fixture
def evaluation(model, cache):
    return NumberEvaluation.of(model._on(), layout="pca")


def test_predictions_are_those_of_the_estimator(model, evaluation):
    data = predicted_data(evaluation)
    nodes = evaluation.test_nodes
    assert np.array_equal(data.truth, model.graph_.targets[nodes])
    assert data.numbers == pytest.approx(model.predict(nodes))
    assert data.names == [f"house {node}" for node in nodes]
    assert data.intervals == pytest.approx(model.predict_interval(nodes[data.some]))
    assert np.all(np.diff(data.truth[data.some]) >= 0)
    assert len(data.some) == min(40, len(nodes))


def test_coverage_counts_the_numbers_within_at_each_level(model, evaluation):
    nodes = evaluation.test_nodes
    truth, rows = model.graph_.targets[nodes], coverage_data(evaluation).rows
    assert list(rows) == ["conformal", "loo", "gaussian"]
    held = model._on().model.held.shape[1]
    for method, found in rows.items():
        for nominal, measured, low, high in found:
            inside = [
                one <= y <= two
                for (one, two), y in zip(
                    model.predict_interval(nodes, nominal / 100, method), truth, strict=True
                )
            ]
            assert measured == pytest.approx(100 * sum(inside) / len(nodes))
            assert low < high
            assert method != "conformal" or math.ceil((held + 1) * nominal / 100) <= held


def test_maps_have_known_or_else_predicted_numbers_and_errors_of_test_nodes(model, evaluation):
    on, shown = model._on(), number_map(evaluation)
    for node, value in zip(shown.nodes, shown.values, strict=True):
        target = on.graph.targets[node]
        assert value == pytest.approx(model.predict([node])[0] if np.isnan(target) else target)
    errors = residual_map(evaluation)
    tested = np.isfinite(errors.values)
    assert np.array_equal(np.flatnonzero(tested), np.sort(on.model.tested[0]))
    expected = on.graph.targets[tested] - model.predict(np.flatnonzero(tested))
    assert errors.values[tested] == pytest.approx(expected)
    assert errors.ends[0] == -errors.ends[1]
    assert len(number_map(evaluation, most=20).nodes) == 20


def test_without_test_nodes_errors_are_those_of_each_known_number_by_the_others(cache):
    graph, nodes = number_graph(), np.arange(0, 19)
    model = kn.NodeKernelRegressor(nodes=60).fit(nodes, graph.targets[nodes], graph=graph)
    evaluation = NumberEvaluation.of(model._on(), layout="pca")
    errors = residual_map(evaluation)
    assert errors.values[nodes] == pytest.approx(graph.targets[nodes] - model.loo_[0])
    assert "each by all others" in errors.title
    for name in ("predicted", "coverage"):
        with refused("missing", setting="X"):
            find_picture(name, "numbers").data(evaluation)


def test_the_layout_is_another_after_other_nodes_are_known(model, cache):
    graph, on = model.graph_, model._on()
    first = node_positions(on, "pca")
    unknown = np.flatnonzero(~np.isin(np.arange(graph.n_nodes), on.model.train[0]))[:30]
    more = model.add_labels(unknown, np.full(30, 50.0))
    assert not np.array_equal(node_positions(more._on(), "pca"), first)
    assert np.array_equal(node_positions(on, "pca"), first)


def test_pictures_of_classes_are_refused_and_given_nodes_are_judged(model, cache):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert kn.plots.predicted(model, axes=axes) is axes
    assert "R²" in axes.texts[0].get_text()
    nodes, numbers = np.arange(5), np.full(5, 40.0)
    with pytest.warns(UserWarning, match="training nodes"):
        axes = kn.plots.predicted(model, nodes, numbers, axes=Figure().subplots())
    assert axes.collections[-1].get_offsets()[:, 0].tolist() == [40.0] * 5
    for name in ("confusion", "gram", "losses", "reliability"):
        with refused("unsupported", what="picture", name=name):
            getattr(kn.plots, name)(model)
    with refused("no-effect", setting="X"):
        kn.plots.embedding(model, nodes)
    with refused("missing", setting="y"):
        kn.plots.predicted(model, [19])  # a house without a price
    with refused("missing", setting="X"):
        kn.plots.predicted(model, y=numbers)


def test_every_picture_is_drawn_and_its_chart_is_what_plotly_takes(evaluation, tmp_path):
    go = pytest.importorskip("plotly.graph_objects")
    found = dict(write_pictures(evaluation, tmp_path))
    assert list(found) == ["embedding", "predicted", "residuals", "coverage"]
    assert all(path.stat().st_size for paths in found.values() for path in paths)
    for picture in pictures_about("numbers"):
        chart = picture.chart(picture.data(evaluation, **picture.chart_settings))
        go.Figure(data=chart["data"], layout=chart["layout"])
        json.dumps(chart, allow_nan=False)


def test_the_command_writes_pictures_of_a_regressor(command, model, tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    model.save("houses.safetensors", with_graph=True)
    status, out, _ = command("plot", "houses.safetensors", "--layout", "pca", "--json")
    assert status == 0
    assert list(json.loads(out)["pictures"]) == ["embedding", "predicted", "residuals", "coverage"]
    fails(command("plot", "houses.safetensors", "confusion"), 2, "confusion", "a model of numbers")
