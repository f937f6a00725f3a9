"""The report: one page that needs no network, says what `kernode fit` printed, and takes names as text."""

import json
import re
import shlex
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from trained_models import ODD, learned

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import write_npz
from kernode.node_classification.model import Model
from kernode.show.evidence import Evidence
from kernode.show.report.contents import Contents
from kernode.show.report.page import render
from kernode.show.report.rerun import rerun_command

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
    status, out, _ = command("report", "m.safetensors", graph_path, "--plane", "pca", "--json")
    said = json.loads(out)
    assert status == 0
    test = said["test"]
    for name in (
        "accuracy_mean",
        "accuracy_std",
        "runs",
        "macro_f1_mean",
        "classes",
        "confusion",
        "baselines",
    ):
        assert test[name] == printed["test"][name], name
    assert said["hop_weights"] == printed["hop_weights"]
    page = Page((folder / said["out"]).read_text())
    assert f"{printed['test']['accuracy_mean']:.2f} ± {printed['test']['accuracy_std']:.2f} %" in page.text
    for one in printed["test"]["baselines"].values():
        assert f"{one['accuracy_mean']:.2f}" in page.text
    assert not page.open
    assert said["command"] == (f"kernode fit {graph_path} --variant k3 --replicas 2 --seed 0 --epochs 8")
    # What the page tells to type trains the same model.
    words = said["command"].split()[1:]
    command(*words, "-o", "again.safetensors", "-q")
    assert (folder / "again.safetensors").read_bytes() == (folder / "m.safetensors").read_bytes()


def test_the_page_loads_nothing_and_is_in_order(own_splits, cache):
    text = render(Contents(Evidence.of(own_splits), "pca", (), ()), "title")
    page = Page(text)
    for tag, attributes in page.elements:
        for name in ("src", "href", "data", "action"):
            assert not (attributes.get(name) or "").startswith(("http", "//")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    tags = [tag for tag, _ in page.elements]
    assert {"header", "nav", "main", "footer"} <= set(tags)
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
    charts = [attributes for _, attributes in page.elements if "data-chart" in attributes]
    assert len(charts) == 8
    assert all(attributes["aria-label"] for attributes in charts)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [a["href"][1:] for tag, a in page.elements if tag == "a" and a["href"].startswith("#")]
    assert set(links) <= set(ids)


def test_charts_are_what_plotly_takes(own_splits, cache):
    import plotly.graph_objects as go

    contents = Contents(Evidence.of(own_splits), "pca", (), ())
    assert contents.left_out == {}
    for chart in contents.charts.values():
        go.Figure(data=chart["data"], layout=chart["layout"])  # raises at a name or value that is none
    points = [trace for trace in contents.charts["embedding"]["data"] if trace["x"] != [None]]
    assert sum(len(trace["x"]) for trace in points) == 90


@pytest.mark.slow
def test_odd_names_are_text(command, odd_tables, folder):
    edges, nodes = odd_tables
    fit = ("fit", edges, "--nodes", nodes, "--label", "group", "--variant", "k3", "--replicas", "2")
    assert command(*fit, "--epochs", "5", "--with-graph", "-o", "odd.safetensors", "-q")[0] == 0
    status, out, err = command("report", "odd.safetensors", "--plane", "pca", "--json")
    assert status == 0, err
    text = (folder / "odd-report.html").read_text()
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"b", "i"}
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert "<b>bold</b>" in page.text
    said = json.loads(out)
    names = [one["node"] for one in said["least_sure"]]
    assert all(len(name) <= 60 for name in names)
    assert any(ODD[0] in name or ODD[1] in name for name in names)
    assert any("standardised" in note for note in said["input"])
    charts = json.loads(page.scripts[0])
    hovers = "".join("".join(trace.get("text", [])) for trace in charts["embedding"]["data"])
    assert "&lt;script&gt;" in hovers
    assert "<script>" not in hovers


def test_a_model_without_test_nodes_shows_no_accuracy(clusters, cache):
    model = kn.NodeKernelClassifier("k3", epochs=5, folds=2)
    model.fit(np.arange(60), clusters.labels[:60], graph=clusters)
    contents = Contents(Evidence.of(model._on(None)), "pca", (), ())
    assert contents.figures is None
    assert contents.headline == []
    assert {"confusion", "reliability", "coverage"} <= set(contents.left_out)
    page = Page(render(contents, "title"))
    assert "There is no accuracy on nodes that the model did not see" in page.text
    assert "Test accuracy" not in page.text
    assert contents.command is None
    assert "30 nodes that taught no run" in contents.unsure.among


def test_reasons_are_those_of_explain_and_absent_where_a_map_has_none(own_splits, clusters, cache):

    contents = Contents(Evidence.of(own_splits), "pca", (), ())
    chances = own_splits.chances()
    assert contents.unsure.unexplained == ""
    first = contents.unsure.nodes[0]
    taught = np.unique(own_splits.model.train)
    unseen = np.setdiff1d(np.arange(90), taught)
    if not len(unseen):
        unseen = np.arange(90)
    assert first.chance == pytest.approx(100 * chances[unseen].max(axis=1).min(), abs=0.01)
    assert first.speaks_for or first.speaks_against
    gcn = Contents(Evidence.of(learned(clusters, "jk", variant="gcn", epochs=2)), "pca", (), ())
    assert "GCN" in gcn.unsure.unexplained
    assert all(not one.speaks_for for one in gcn.unsure.nodes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"learning_rate": 0.02, "margin": 0.3, "hops": 1}, "--learning-rate 0.02"),
        ({"objective": "softmax", "hidden": (8,)}, "--objective softmax"),
    ],
)
def test_the_command_to_run_it_again_gives_the_same_settings(clusters, changes, words):
    from kernode.cli.parts import parse_part
    from kernode.maps import FeatureMap
    from kernode.node_classification.variants import candidates

    on = learned(clusters, "0.5/0.25/0.25", **changes)
    command = shlex.split(rerun_command(Evidence.of(on), ["DATA"]))
    assert words in " ".join(command)
    given = dict(zip(command[3::2], command[4::2], strict=True))
    assert given.pop("--variant") == "k3"
    assert given.pop("--split") == "0.5/0.25/0.25"
    assert (given.pop("--replicas"), given.pop("--seed"), given.pop("--precision")) == ("2", "0", "64")
    read = {name[2:].replace("-", "_"): value for name, value in given.items()}
    numbers = {name: json.loads(value) for name, value in read.items() if name not in ("map", "objective")}
    if "map" in read:
        numbers["map"] = parse_part(read["map"], FeatureMap, "map")
    if "objective" in read:
        numbers["objective"] = read["objective"]
    ((method, training),) = candidates("k3", tuned=False, **numbers).values()
    assert (method.for_classes(3), training) == (on.model.method, on.model.training)


def test_the_command_for_tables_names_their_columns_and_trains_the_same_model(command, odd_tables, folder):
    edges, nodes = odd_tables
    fit = ("fit", edges, "--nodes", nodes, "--label", "group", "--features", "<i>x0</i>,<i>x1</i>:category")
    fit = (*fit, "--variant", "k3", "--replicas", "1", "--epochs", "3", "-q")
    assert command(*fit, "-o", "m.safetensors")[0] == 0
    report = ("report", "m.safetensors", edges, "--nodes", nodes, "--plane", "pca", "--json")
    said = json.loads(command(*report)[1])
    words = shlex.split(said["command"])[1:]
    assert words[words.index("--label") + 1] == "group"
    command(*words, "-o", "again.safetensors", "-q")
    again, first = (Model.load(folder / f"{name}.safetensors") for name in ("again", "m"))
    assert again.fingerprint == first.fingerprint
    for name, value in first.parameters.items():
        assert (again.parameters[name] == value).all()


def test_where_options_are_not_known_there_is_no_command(command, odd_tables, folder):
    edges, nodes = odd_tables
    fit = ("fit", edges, "--nodes", nodes, "--label", "group", "--variant", "k3", "--replicas", "1")
    assert command(*fit, "--epochs", "2", "--with-graph", "-q", "-o", "m.safetensors")[0] == 0
    out = command("report", "m.safetensors", "--plane", "pca", "--json")[1]
    assert json.loads(out)["command"] is None
    assert "No single command" in Page((folder / "m-report.html").read_text()).text


def test_another_graph_gives_its_sizes_no_command_and_not_the_trained_graphs_name(own_splits, cache):
    other = own_splits.model.on(clustered_graph(n=70, seed=5))
    contents = Contents(Evidence.of(other), "pca", ("other.npz",), ())
    facts = dict(contents.facts)
    assert "70 nodes" in facts["asked about"]
    assert "nodes" not in facts["graph"]
    assert contents.command is None


def test_how_sure_is_said_of_the_answers_that_the_charts_show(clusters, cache):
    model = kn.NodeKernelClassifier("k3", epochs=5, replicas=2)
    model.fit(np.arange(40), clusters.labels[:40], graph=clusters, validation=np.arange(40, 60))
    together = Contents(Evidence.of(model._on(None), np.arange(60, 90)), "pca", (), ())
    ensemble = together.figures["calibration"]["ensemble"]
    assert together.calibration["coverage"] == ensemble["coverage"]
    assert "2 runs together" in together.headline[-1][2]
    text = Page(render(together, "title")).text
    assert "at least so sure (2 runs together)" in text
    assert "Their error (2 runs together)" in text


def test_errors_are_sentences(command, graph_path, folder):
    fails(command("report", "none.safetensors"), 1, "none.safetensors")
    fails(command("report", "none.safetensors", "-o", "report.pdf"), 2, ".html")
    command("links", graph_path, "--epochs", "2", "--replicas", "1", "-q", "-o", "links.safetensors")
    fails(command("report", "links.safetensors", graph_path), 2, "links.safetensors", "a model of links")
    assert not list(folder.glob("*.html"))
