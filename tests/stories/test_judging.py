"""What a figure is worth: baselines on the same split, class by class, sizes and versions."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph


def test_a_report_says_when_edges_alone_do_better(desk):
    """Nils' features are noise and his edges say everything, and nobody told him so."""
    random = np.random.default_rng(0)
    n, pairs = 90, []
    for i in range(n):
        pairs += [(i, j) for j in range(i) if i % 3 == j % 3 and random.random() < 0.3]
    desk.table("edges.csv", ("source", "target"), pairs)
    rows = [(i, *random.normal(size=3).round(3), "ABC"[i % 3]) for i in range(n)]
    desk.table("nodes.csv", ("id", "x", "y", "z", "group"), rows)
    line = "fit edges.csv --nodes nodes.csv --label group --variant n1 --epochs 1 --replicas 2"
    report = desk.kernode(f"{line} --json").json["test"]
    assert report["baselines"]["edges"]["accuracy_mean"] == 100
    assert report["baselines"]["majority"]["accuracy_mean"] < 60
    assert "edges alone (label propagation): ahead by" in desk.kernode(line).out


def test_a_report_has_every_class_and_who_is_taken_for_whom(desk, shop):
    """Orla must tell her boss which customers are mistaken for which."""
    desk.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.taste, strict=True)
    desk.table("people.csv", ("id", "age", "taste"), rows)
    line = "fit edges.csv --nodes people.csv --label taste --epochs 30 --replicas 2"
    report = desk.kernode(f"{line} --json").json
    assert report["sizes"] == {"nodes": 60, "labelled": 60, "train": 36, "validation": 12, "test": 12}
    assert {one["class"] for one in report["test"]["classes"]} == {"Tee", "Kaffee", "Süßes"}
    assert np.sum(report["test"]["confusion"]) == 24  # both runs
    assert report["versions"]["kernode"] == kn.__version__
    out = desk.kernode(line).out
    assert "Süßes" in out
    assert "macro F1" in out


def test_python_has_the_same_report():
    """Piet works in a notebook, and prints it."""
    graph = clustered_graph()
    train, test = np.arange(40), np.arange(40, 60)
    model = kn.NodeKernelClassifier("n1", epochs=30).fit(train, graph.labels[train], graph=graph)
    report = model.report(test, graph.labels[test])
    assert report["accuracy_mean"] == pytest.approx(100 * model.score(test, graph.labels[test]))
    assert set(report["baselines"]) == {"majority", "features", "edges"}
    assert "features alone (logistic regression)" in str(report)
    assert report["classes"][0]["support"] == 6
