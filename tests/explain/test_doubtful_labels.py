"""Labels that the model doubts: wrong ones first, by replicas that were not trained on them."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from refusals import refused

BASE = clustered_graph(n=150)
FEATURES = BASE.features + 3 * np.eye(3, 8)[BASE.labels]  # clear: then only wrong labels are doubtful
TRAIN, VALIDATION, TEST = np.arange(90), np.arange(90, 120), np.arange(120, 150)
FLIPPED = np.array([95, 107, 121, 133, 146])
IN_TRAINING = np.array([4, 40])
LABELS = BASE.labels.copy()
LABELS[FLIPPED] = (LABELS[FLIPPED] + 1) % 3
LABELS[IN_TRAINING] = (LABELS[IN_TRAINING] + 1) % 3
NAMES = np.array([f"v{i}" for i in range(150)])
GRAPH = kn.Graph(BASE.adjacency, FEATURES, LABELS, ("a", "b", "c"), NAMES, name="clusters")
SPLIT = kn.Split(TRAIN, VALIDATION, TEST)


def fitted(split=SPLIT, variant="k3", **settings):
    return kn.NodeKernelClassifier(variant, device="cpu", **settings).fit(graph=GRAPH, split=split)


@pytest.fixture(scope="module")
def model():
    return fitted(epochs=20)


def test_flipped_labels_of_held_out_nodes_come_first(model):
    rows = [row for row in model.doubtful_labels(150) if not row["trained"]]
    assert {row["node"] for row in rows[: len(FLIPPED)]} == set(NAMES[FLIPPED])
    for row in rows[: len(FLIPPED)]:
        node = int(row["node"][1:])
        assert (row["label"], row["predicted"]) == ("abc"[LABELS[node]], "abc"[BASE.labels[node]])
    margins = [row["p_predicted"] - row["p_label"] for row in model.doubtful_labels(150)]
    assert margins == sorted(margins, reverse=True)
    assert margins[-1] > 0
    assert model.doubtful_labels(3) == model.doubtful_labels(150)[:3]


def test_a_row_has_the_probabilities_of_predict_proba_and_marks_training_nodes(model):
    rows = model.doubtful_labels(150)
    classes = model.classes_.tolist()
    for row in rows:
        (chances,) = model.predict_proba([row["node"]])
        assert row["p_label"] == pytest.approx(chances[classes.index(row["label"])])
        assert row["p_predicted"] == pytest.approx(chances.max())
        assert row["trained"] == (int(row["node"][1:]) in TRAIN)
    assert any(row["trained"] for row in rows)


def test_reasons_count_similar_training_nodes_and_neighbours(model):
    row = next(row for row in model.doubtful_labels() if row["node"] == "v133")
    nearest = model.similar("v133", k=5, among=NAMES[TRAIN])
    same = sum("abc"[LABELS[int(name[1:])]] == row["predicted"] for name, _ in nearest)
    around = LABELS[BASE.adjacency[[133]].indices]
    of_class = int((around == "abc".index(row["predicted"])).sum())
    assert row["reason"] == (
        f"{same} of 5 most similar training nodes are {row['predicted']}; "
        f"{of_class} of {len(around)} neighbours with a label are {row['predicted']}"
    )


def test_only_runs_that_were_not_trained_on_a_node_count():
    other = kn.Split(np.arange(60, 150), np.arange(30, 60), np.arange(30))
    model = fitted(split=[SPLIT, other], replicas=2, epochs=20)
    by_run = model._on(None).probabilities()
    rows = {int(row["node"][1:]): row for row in model.doubtful_labels(150)}
    assert set(FLIPPED) | set(IN_TRAINING) <= set(rows)
    for node, row in rows.items():
        runs = [0] if node >= 90 else [1] if node < 60 else [0, 1]  # 60 to 89 trained both
        expected = model.model_.calibrated(by_run[runs, node].mean(axis=0)).max()
        assert row["p_predicted"] == pytest.approx(expected)
        assert row["trained"] == (60 <= node < 90)


def test_no_kernel_no_labels_and_no_rows(model):
    (first, *_) = fitted(variant="label-propagation").doubtful_labels()
    assert first["reason"].endswith(f"neighbours with a label are {first['predicted']}")
    assert "similar" not in first["reason"]
    without = kn.Graph(BASE.adjacency, 1 + FEATURES, np.full(150, -1), name="empty")
    with refused("missing", setting="graph"):
        model.doubtful_labels(graph=without)
    with refused("setting", setting="k"):
        model.doubtful_labels(0)
