"""``fit("topic", graph=graph)``: a column of the graph's tables is predicted, and no feature."""

import numpy as np
import pytest

import kernode as kn
from kernode import InputError
from kernode.io import load_graph, write_npz

FAST = {"variant": "k3-tuned", "epochs": 30}


def papers(n=60):
    """Edges within topics; a year that tells the topic, a title, and a number with many values."""
    random = np.random.default_rng(3)
    of = np.arange(n) % 3
    pairs = [
        (i, j) for i in range(n) for j in range(i) if random.random() < (0.3 if of[i] == of[j] else 0.01)
    ]
    topics = np.array(["Theory", "Systems", "Graphs"], object)[of]
    topics[50:] = None
    nodes = {
        "id": [f"p{i}" for i in range(n)],
        "year": (1990 + 10 * of + random.integers(5, size=n)).tolist(),
        "topic": topics.tolist(),
        "open": [bool(one) for one in of == 1],
        "title": [f"{['on', 'near', 'about'][one]} w{i} w{i + 1} with w{i % 7}" for i, one in enumerate(of)],
        "price": random.normal(size=n).round(3).tolist(),
        "section": (of + 1).tolist(),
        "read": [f"2020-0{1 + i % 9}-11" for i in range(n)],
        "same": ["x"] * n,
    }
    edges = {"source": [f"p{i}" for i, _ in pairs], "target": [f"p{j}" for _, j in pairs]}
    return edges, nodes


@pytest.fixture(scope="module")
def graph():
    return kn.read_table(*papers())


@pytest.fixture(scope="module")
def model(graph):
    return kn.NodeKernelClassifier(**FAST).fit("topic", graph=graph)


@pytest.mark.parametrize("column", ["topic", "open", "section"])
def test_a_graph_with_a_target_is_the_graph_read_with_that_label(graph, column):
    found = kn.NodeKernelClassifier("label-propagation").fit(column, graph=graph).graph_
    expected = kn.read_table(*papers(), label=column)
    assert found.encoding == expected.encoding
    assert found.fingerprint == expected.fingerprint
    assert found.class_names == expected.class_names
    assert found.labels.tolist() == expected.labels.tolist()
    assert set(found.columns) == set(expected.columns)
    assert set(found.notes) == set(expected.notes)


def test_a_column_is_predicted_split_and_reported_as_labels_are(graph, model):
    of_labels = kn.NodeKernelClassifier(**FAST).fit(graph=kn.read_table(*papers(), label="topic"))
    nodes = ["p1", "p55"]
    assert model.predict(nodes).tolist() == of_labels.predict(nodes).tolist() == ["Systems", "Systems"]
    assert np.array_equal(model.predict_proba(nodes), of_labels.predict_proba(nodes))
    assert model.report().to_json()["test"] == of_labels.report().to_json()["test"]
    assert not any("topic" in name for name in model.graph_.encoding.feature_names)
    assert (model.graph_.labels < 0).sum() == 10
    assert graph.columns["topic"][0] == "Theory"  # the graph itself is as it was


def test_answers_about_the_graph_as_it_was_read_are_the_same(graph, model):
    assert np.array_equal(model.predict_proba(["p3"], graph=graph), model.predict_proba(["p3"]))
    again = kn.read_table(*papers(), like=model)
    assert np.array_equal(model.predict_proba(["p3"], graph=again), model.predict_proba(["p3"]))


@pytest.mark.parametrize("with_graph", [True, False])
def test_a_saved_model_knows_its_target(graph, model, tmp_path, with_graph):
    path = model.save(tmp_path / "topics.safetensors", with_graph=with_graph)
    read = kn.load_model(path) if with_graph else kn.load_model(path, graph)
    assert np.array_equal(read.predict_proba(["p3"]), model.predict_proba(["p3"]))
    assert read.graph_.encoding.label == "topic"
    assert read.model_.classes == ("Graphs", "Systems", "Theory")


def test_a_file_of_the_graph_keeps_columns_that_can_be_targets(graph, tmp_path):
    write_npz(graph, tmp_path / "papers.npz")
    read = load_graph(tmp_path / "papers.npz")
    model = kn.NodeKernelClassifier("label-propagation").fit("topic", graph=read)
    assert model.graph_.class_names == ("Graphs", "Systems", "Theory")


def test_the_only_column_as_target_leaves_positions():
    edges, nodes = papers()
    alone = {"id": nodes["id"], "topic": nodes["topic"]}
    found = kn.NodeKernelClassifier("label-propagation").fit("topic", graph=kn.read_table(edges, alone))
    assert found.graph_.fingerprint == kn.read_table(edges, alone, label="topic").fingerprint


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("price", "'price' holds numbers, and this predicts classes"),
        ("title", "was read as text, not as classes"),
        ("same", "same: left out, every value is the same"),
        ("topics", "keeps no column 'topics'. It has year, topic, open, price, section, read"),
    ],
)
def test_what_cannot_be_classes_is_refused(graph, column, words):
    with pytest.raises(InputError, match=words):
        kn.NodeKernelClassifier(**FAST).fit(column, graph=graph)


def test_a_graph_without_tables_has_no_columns_to_name(cora):
    with pytest.raises(InputError, match="was not read from tables"):
        kn.NodeKernelClassifier(**FAST).fit("topic", graph=cora[0])
