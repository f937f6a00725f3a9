"""The page about a regressor: the figures of its report, and sums that are complete."""

import json

import numpy as np
import pytest
from test_html_report import Page

import kernode as kn
from commands import fails
from graphs import number_graph
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.report import contents_of, render
from tasks import number_model

pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def model():
    return number_model()


@pytest.fixture
def contents(model, cache):
    return contents_of(NumberEvaluation.of(model._on(), layout="pca"))


def test_the_page_has_the_figures_of_the_report(model, contents):
    test, page = model.report()["test"], Page(render(contents, "title"))
    assert contents.figures == test
    assert not page.open
    assert f"{test['r2']:.3f}" in page.text
    for name, one in test["baselines"].items():
        assert f"{one['ahead']:+.3f}".replace("-", "−") in page.text, name
    for method, one in test["coverage"].items():
        assert method in page.text
        assert f"{one['measured']:.1f}" in page.text
    assert sum("data-chart" in attributes for _, attributes in page.elements) == 4
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    links = [a["href"][1:] for tag, a in page.elements if tag == "a" and a["href"].startswith("#")]
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))
    assert "classes" not in links


def test_the_largest_errors_are_those_of_the_test_nodes(model, contents):
    nodes = model._on().model.tested[0]
    off = model.graph_.targets[nodes] - model.predict(nodes)
    slow = sorted(nodes.tolist(), key=lambda node: -abs(off[nodes.tolist().index(node)]))
    assert [one["index"] for one in contents.errors] == slow[:10]
    one = contents.errors[0]
    assert one["error"] == pytest.approx(one["known"] - one["number"])
    assert one["in_deviations"] == pytest.approx(one["error"] / one["deviation"])
    assert [one["low"], one["high"]] == pytest.approx(model.predict_interval([slow[0]])[0].tolist())


def test_explanations_add_up_both_ways(model, contents):
    assert 3 <= len(contents.explained) <= 6
    for one in contents.explained:
        assert one["mean"] + sum(one["parts"].values()) == pytest.approx(one["number"])
        known = sum(value for _, _, _, value in one["by"])
        assert one["mean"] + known + one["rest"] == pytest.approx(one["number"])
        assert model.predict([one["index"]])[0] == pytest.approx(one["number"])


def test_twins_and_a_graph_that_adds_nothing_are_said(contents):
    from dataclasses import replace

    other = replace(contents)
    vars(other)["figures"] = contents.figures | {"twins": {"nodes": 20, "r2_without": 0.5}}
    assert (
        "twin among the known nodes (same neighbours, same number): R² without them 0.500."
        in Page(render(other, "title")).text
    )


def test_names_are_text(cache):
    graph = number_graph(60)
    names = [f"<i>{i}</i>" for i in range(60)]
    odd = kn.Graph(
        graph.adjacency, graph.features, np.full(60, -1), node_names=names, targets=graph.targets,
        target_name="<b>$p_1$</b>", name="<u>data</u>",
    )  # fmt: skip
    model = kn.NodeKernelRegressor(nodes=30).fit(graph=odd)
    page = Page(render(contents_of(NumberEvaluation.of(model._on(), layout="pca")), "<u>title</u>"))
    assert not {tag for tag, _ in page.elements} & {"b", "i", "u"}
    assert "<i>" not in json.dumps(json.loads(page.scripts[0]))
    assert "<b>$p_1$</b>" in page.text


def test_a_model_without_test_nodes_shows_no_accuracy(cache):
    graph, nodes = number_graph(), np.arange(19)
    model = kn.NodeKernelRegressor(nodes=60).fit(nodes, graph.targets[nodes], graph=graph)
    contents = contents_of(NumberEvaluation.of(model._on(), layout="pca"))
    page = Page(render(contents, "title"))
    assert "There is no test accuracy: the model has no test nodes" in page.text
    assert contents.headline == contents.errors == []
    assert set(contents.left_out) == {"predicted", "coverage"}
    assert len(contents.explained) == 3
    json.dumps(contents.to_json(), allow_nan=False)


def test_the_command_writes_the_page(command, model, tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    model.save("houses.safetensors", with_graph=True)
    status, out, _ = command("report", "houses.safetensors", "--layout", "pca", "--json")
    said = json.loads(out)
    assert status == 0
    assert said["target"] == "price"
    assert said["test"]["r2"] == pytest.approx(model.report()["test"]["r2"])
    assert "price" in (tmp_path / said["out"]).read_text()
    fails(command("report", "houses.safetensors", "-o", "report.pdf"), 2, ".html")


def test_a_model_by_inducing_nodes_has_the_same_page(cache):
    model = kn.NodeKernelRegressor(nodes=40, inducing=30, exact=50).fit(graph=number_graph())
    contents = contents_of(NumberEvaluation.of(model._on(), layout="pca"))
    assert contents.left_out == {}
    assert contents.facts["posterior"] == "by 30 inducing nodes"
    for one in contents.explained:
        assert one["mean"] + sum(one["parts"].values()) == pytest.approx(one["number"], rel=1e-4)
    assert not Page(render(contents, "title")).open
