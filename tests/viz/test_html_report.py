"""The report: one page without a network, with the figures of `kernode fit`; names are text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from trained_models import learned

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import write_npz
from kernode.viz.evaluation import EvaluationData
from kernode.viz.report import Contents, render

pytest.importorskip("plotly")
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """A page's elements and its text, and whether every element that begins ends."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open, self.scripts = [], "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.text += data


@pytest.fixture
def folder(tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def graph_path(clusters, folder):
    write_npz(clusters, folder / "clusters.npz")
    return folder / "clusters.npz"


def test_the_page_has_the_figures_that_fit_printed(command, graph_path, folder):
    fit = ("fit", graph_path, "--variant", "k3", "--replicas", "2", "--epochs", "8", "--json")
    printed = json.loads(command(*fit, "-o", "m.safetensors")[1])
    status, out, _ = command("report", "m.safetensors", "--graph", graph_path, "--layout", "pca", "--json")
    said = json.loads(out)
    assert status == 0
    test = said["test"]
    names = ("accuracy_mean", "accuracy_std", "runs", "macro_f1_mean", "classes", "confusion", "baselines")
    assert [test[name] for name in names] == [printed["test"][name] for name in names]
    assert said["hop_weights"] == printed["hop_weights"]
    page = Page((folder / said["out"]).read_text())
    assert f"{printed['test']['accuracy_mean']:.2f} ± {printed['test']['accuracy_std']:.2f} %" in page.text
    for one in printed["test"]["baselines"].values():
        assert f"{one['accuracy_mean']:.2f}" in page.text
    assert not page.open
    assert "epochs=8" in said["settings"]["training"]
    assert said["settings"]["training"] in page.text


def test_the_page_loads_nothing_and_its_links_lead_somewhere(own_splits, cache):
    text = render(Contents(EvaluationData.of(own_splits, layout="pca")), "title")
    page = Page(text)
    for tag, attributes in page.elements:
        for name in ("src", "href", "data", "action"):
            assert not (attributes.get(name) or "").startswith(("http", "//")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert sum("data-chart" in attributes for _, attributes in page.elements) == 8
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [a["href"][1:] for tag, a in page.elements if tag == "a" and a["href"].startswith("#")]
    assert set(links) <= set(ids)


def test_charts_are_what_plotly_takes(own_splits, cache):
    import plotly.graph_objects as go

    contents = Contents(EvaluationData.of(own_splits, layout="pca"))
    assert contents.left_out == {}
    for chart in contents.charts.values():
        go.Figure(data=chart["data"], layout=chart["layout"])  # raises at a name or value that is none
    points = [trace for trace in contents.charts["embedding"]["data"] if trace["x"] != [None]]
    assert sum(len(trace["x"]) for trace in points) == 90


def test_names_of_nodes_classes_and_data_sets_are_escaped(clusters, cache):
    labels = clusters.labels.copy()
    labels[60:70] = (labels[60:70] + 1) % 3  # some labels to doubt
    nodes = [f"<i>{i}</i>" if i % 2 else f"</script>{'a' * 300}{i}" for i in range(90)]
    classes = ("<b>a</b>", "<b>b</b>", "<b>c</b>")
    odd = kn.Graph(clusters.adjacency, clusters.features, labels, classes, nodes, name="<u>data</u>")
    contents = Contents(EvaluationData.of(learned(odd, "jk"), layout="pca"))
    assert contents.doubtful["doubtful_labels"]
    page = Page(render(contents, "<u>title</u>"))
    assert not {tag for tag, _ in page.elements} & {"b", "i", "u"}
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert "<u>data</u>" in page.text
    assert all(len(one["node"]) <= 60 for one in contents.unsure["least_sure"])
    hovers = json.dumps(json.loads(page.scripts[0])["embedding"])
    assert "&lt;i&gt;" in hovers
    assert "<i>" not in hovers
    for row in contents.doubtful["doubtful_labels"]:
        assert all(row[name] in page.text for name in ("node", "label", "predicted", "reason"))


def test_a_model_without_test_nodes_shows_no_accuracy(clusters, cache):
    model = kn.NodeKernelClassifier("k3", epochs=5, folds=2)
    model.fit(np.arange(60), clusters.labels[:60], graph=clusters)
    contents = Contents(EvaluationData.of(model._on(None), layout="pca"))
    assert contents.figures is None
    assert contents.headline == []
    assert {"confusion", "reliability", "coverage"} <= set(contents.left_out)
    page = Page(render(contents, "title"))
    assert "There is no test accuracy" in page.text
    assert "Test accuracy" not in page.text
    assert "30 nodes that no replica was trained on" in contents.unsure["least_sure_among"]


def test_the_least_sure_nodes_have_reasons_where_the_map_has_them(own_splits, clusters, cache):
    contents = Contents(EvaluationData.of(own_splits, layout="pca"))
    chances = own_splits.calibrated()
    assert contents.unsure["without_reasons"] is None
    first = contents.unsure["least_sure"][0]
    taught = np.unique(own_splits.model.train)
    unseen = np.setdiff1d(np.arange(90), taught)
    if not len(unseen):
        unseen = np.arange(90)
    assert first["chance"] == pytest.approx(100 * chances[unseen].max(axis=1).min(), abs=0.01)
    assert first["speaks_for"] or first["speaks_against"]
    gat = Contents(EvaluationData.of(learned(clusters, "jk", variant="gat", epochs=2), layout="pca"))
    assert "no exact explanation" in gat.unsure["without_reasons"]
    assert all(not one["speaks_for"] for one in gat.unsure["least_sure"])


def test_another_graph_gives_its_sizes_and_not_the_trained_graphs_name(own_splits, cache):
    other = own_splits.model.on(clustered_graph(n=70, seed=5))
    contents = Contents(EvaluationData.of(other, layout="pca"))
    facts = contents.facts
    assert "70 nodes" in facts["applied to"]
    assert "nodes" not in facts["graph"]


def test_calibration_is_that_of_the_answers_in_the_charts(clusters, cache):
    model = kn.NodeKernelClassifier("k3", epochs=5, replicas=2)
    model.fit(np.arange(40), clusters.labels[:40], graph=clusters, validation=np.arange(40, 60))
    together = Contents(EvaluationData.of(model._on(None), np.arange(60, 90), layout="pca"))
    ensemble = together.figures["calibration"]["ensemble"]
    assert together.calibration["coverage"] == ensemble["coverage"]
    assert "2 replicas together" in together.headline[-1][2]
    text = Page(render(together, "title")).text
    assert "with at least this probability (2 replicas together)" in text
    assert "Their error (2 replicas together)" in text


def test_errors_are_sentences(command, graph_path, folder):
    fails(command("report", "none.safetensors"), 1, "none.safetensors")
    fails(command("report", "none.safetensors", "-o", "report.pdf"), 2, ".html")
    command("links", graph_path, "--epochs", "2", "--replicas", "1", "-q", "-o", "links.safetensors")
    fails(command("report", "links.safetensors", "--graph", graph_path), 2, "a model of links")
    assert not list(folder.glob("*.html"))
