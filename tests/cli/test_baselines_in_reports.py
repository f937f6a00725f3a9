"""What a figure is worth: baselines on the same split, class by class, sizes and versions."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph


def test_a_report_says_when_edges_alone_do_better(workspace):
    """Features are noise and edges say everything, and no figure showed it."""
    random = np.random.default_rng(0)
    n, pairs = 90, []
    for i in range(n):
        pairs += [(i, j) for j in range(i) if i % 3 == j % 3 and random.random() < 0.3]
    workspace.table("edges.csv", ("source", "target"), pairs)
    rows = [(i, *random.normal(size=3).round(3), "ABC"[i % 3]) for i in range(n)]
    workspace.table("nodes.csv", ("id", "x", "y", "z", "group"), rows)
    line = "fit edges.csv --nodes nodes.csv --label group --variant n1 --epochs 1 --replicas 2"
    report = workspace.kernode(f"{line} --json").json["test"]
    assert report["baselines"]["edges"]["accuracy_mean"] == 100
    assert report["baselines"]["majority"]["accuracy_mean"] < 60
    assert "edges alone (label propagation): ahead by" in workspace.kernode(line).out


@pytest.mark.parametrize("edges_count", [False, True])
def test_a_report_says_when_the_graph_adds_nothing(workspace, edges_count):
    """Features say all and edges are drawn, or edges say all and features are noise."""
    random = np.random.default_rng(0)
    group = np.arange(150) % 3
    x = random.normal(size=(150, 3)) + (0 if edges_count else 3) * np.eye(3)[group]
    linked = random.random((150, 150)) < (0.2 * (group[:, None] == group) if edges_count else 0.05)
    workspace.table("edges.csv", ("source", "target"), np.argwhere(np.triu(linked, 1)).tolist())
    rows = [(i, *x[i].round(3), "ABC"[group[i]]) for i in range(150)]
    workspace.table("nodes.csv", ("id", "x", "y", "z", "group"), rows)
    tables = "edges.csv --nodes nodes.csv --label group"
    line = f"fit {tables} --variant k3 --epochs 60 --replicas 2 -o m.safetensors"
    figures = workspace.kernode(f"{line} --json").json["test"]["baselines"].values()
    (best,) = (one for one in figures if "graph_adds" in one)
    low, high = best["ahead_95"]
    assert low <= best["ahead"] <= high
    assert best["graph_adds"] == edges_count
    sentence = "the graph adds nothing measurable here: the model has"
    assert (sentence in workspace.kernode(line).out) is not edges_count
    page = workspace.kernode("report m.safetensors --graph edges.csv --nodes nodes.csv --json").json["out"]
    assert (sentence[1:] in (workspace.folder / page).read_text()) is not edges_count


def test_a_report_has_every_class_and_the_confusion_matrix(workspace, shop):
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.taste, strict=True)
    workspace.table("people.csv", ("id", "age", "taste"), rows)
    line = "fit edges.csv --nodes people.csv --label taste --variant n1 --epochs 30 --replicas 2"
    report = workspace.kernode(f"{line} --json").json
    assert report["sizes"] == {"nodes": 60, "labelled": 60, "train": 36, "validation": 12, "test": 12}
    assert {one["class"] for one in report["test"]["classes"]} == {"Tee", "Kaffee", "Süßes"}
    assert np.sum(report["test"]["confusion"]) == 24  # both runs
    assert report["versions"]["kernode"] == kn.__version__
    out = workspace.kernode(line).out
    assert "Süßes" in out
    assert "macro F1" in out
    assert " thread" in out


def test_python_has_the_same_report():
    """In a notebook it is printed."""
    graph = clustered_graph()
    train, test = np.arange(40), np.arange(40, 60)
    model = kn.NodeKernelClassifier("n1", epochs=30).fit(train, graph.labels[train], graph=graph)
    report = model.report(test, graph.labels[test])
    assert report["accuracy_mean"] == pytest.approx(100 * model.score(test, graph.labels[test]))
    assert list(report["baselines"]) == ["majority", "features", "edges", "boosting", "instant"]
    for name in ("features alone (logistic regression or boosting)", "untrained kernel (instant)"):
        assert name in str(report)
    assert report["classes"][0]["support"] == 6


def test_a_report_on_nodes_that_taught_says_so():
    """A report on all nodes that have a class."""
    graph = clustered_graph()
    model = kn.NodeKernelClassifier("n1", epochs=5).fit(range(40), graph.labels[:40], graph=graph)
    with pytest.warns(kn.KernodeWarning, match="40 of the 60 nodes trained some replica"):
        model.report(range(60), graph.labels)


@pytest.mark.parametrize(("ends", "status"), [(MemoryError, 1), (KeyboardInterrupt, 130)])
def test_a_model_that_was_not_judged_is_not_lost(workspace, shop, monkeypatch, ends, status):
    """The run of a night was done when the baselines took the rest of the memory."""
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.taste, strict=True)
    workspace.table("people.csv", ("id", "age", "taste"), rows)

    def fails(*_):
        raise ends

    monkeypatch.setattr("kernode.tasks.classes.evaluation.evaluate", fails)
    monkeypatch.setattr("kernode.tasks.links.evaluation.link_metrics", fails)
    line = "fit edges.csv --nodes people.csv --label taste --variant n1 --epochs 3 --replicas 1"
    answer = workspace.kernode(f"{line} -q -o m.safetensors --predictions p.csv")
    assert answer.status == status
    assert "The model is saved in m.safetensors" in answer.err
    assert len(workspace.classes("p.csv")) == 60
    said = workspace.kernode(
        "links edges.csv --nodes people.csv --epochs 3 --replicas 1 -q -o l.safetensors"
    ).err
    assert "The model is saved in l.safetensors" in said
    assert kn.load_model(
        "m.safetensors", kn.read_table("edges.csv", "people.csv", label="taste")
    ).classes_.size


@pytest.mark.filterwarnings("ignore:y is not what the graph has")
def test_validation_nodes_that_train_and_numbers_of_ones_own_are_refused():
    """Validation nodes that train, and classes that are numbered otherwise than the graph's."""
    graph = clustered_graph()
    train, validation = np.arange(40), np.arange(40, 60)
    model = kn.NodeKernelClassifier("n1", epochs=2)
    with pytest.raises(kn.InputError, match="node 30 trains and validates"):
        model.fit(train, graph.labels[train], graph=graph, validation=np.arange(30, 60))
    with pytest.raises(kn.InputError, match="the classes in y are not the graph's own"):
        model.fit(train, (graph.labels[train] + 1) % 3, graph=graph, validation=validation)
    model.fit(train, graph.labels[train], graph=graph, validation=(np.arange(60) >= 40, graph.labels))


def test_minus_one_and_one_are_two_classes_where_nothing_speaks_against_it():
    """Nodes are labelled −1 and 1, in a graph without labels, and a batch of −1 alone is scored."""
    clusters = clustered_graph(classes=2)
    graph = kn.from_scipy(clusters.adjacency, clusters.features)
    y = np.where(clusters.labels == 0, -1, 1)
    model = kn.NodeKernelClassifier("n1", epochs=20).fit(range(40), y[:40], graph=graph)
    batch = np.flatnonzero(y == -1)
    assert model.score(batch, y[batch]) > 0.5
    with pytest.raises(kn.InputError, match="or give classes as text if −1 is one"):
        model.fit(range(3), [-1, 0, 1], graph=graph)
