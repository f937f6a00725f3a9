"""Figures: their numbers equal slow loops, and a drawing is the same twice."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import distance

from experiments.reproduce import drawing
from experiments.reproduce.figures import embedding, gram, pack, unpack
from experiments.reproduce.overview import draw_overview
from experiments.runs import train_nodes
from graphs import clustered_graph
from kernode.errors import KernodeError
from kernode.tasks.classes.variants import configure
from refusals import refused
from tasks import DOUBLE

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")
pytest.importorskip("openTSNE")

SETTINGS = {"perplexity": 5, "seed": 0, "iterations": 50}
square = st.integers(1, 12).flatmap(
    lambda side: arrays(np.float64, (side, side), elements=st.floats(-1, 1, allow_subnormal=False))
)


def learned(epochs):
    return train_nodes(clustered_graph(), *configure("k3", epochs=epochs), DOUBLE, (0, 1), split="jk")


@pytest.fixture(scope="module")
def before():
    return learned(epochs=0)


@pytest.fixture(scope="module")
def after():
    return learned(epochs=15)


@pytest.fixture(scope="module")
def nodes():
    return np.arange(5, 45)


@pytest.fixture(scope="module")
def embedded(after, nodes):
    return embedding(after, nodes, **SETTINGS)


@pytest.fixture(scope="module")
def similarities(before, after, nodes):
    return gram(before, after, nodes, pixels=16)


def slow_silhouettes(x, labels, apart):
    """(b − a) / max(a, b) node by node, by loops."""
    values = []
    for i in range(len(x)):
        means = {}
        for label in set(labels):
            others = [apart(x[i], x[j]) for j in range(len(x)) if j != i and labels[j] == label]
            means[label] = sum(others) / len(others)
        a = means.pop(labels[i])
        b = min(means.values())
        values.append((b - a) / max(a, b))
    return np.array(values)


@given(square)
def test_unpacking_gives_every_value_back_within_half_a_level(matrix):
    back = unpack(pack(matrix))
    assert back.shape == matrix.shape
    assert np.abs(back - matrix).max() <= 1 / 254 + 1e-12
    assert np.array_equal(unpack(pack(back)), back)


def test_packing_keeps_the_ends_and_zero_exactly_and_refuses_what_is_not_square():
    exact = np.array([[-1.0, 0.0], [0.0, 1.0]])
    assert np.array_equal(unpack(pack(exact)), exact)
    assert unpack(pack(np.array([[1 + 1e-7]])))[0, 0] == 1
    with refused("shape"):
        pack(np.zeros((2, 3)))


def test_silhouettes_equal_a_slow_loop(after, nodes, embedded):
    labels = after.graph.labels[nodes]
    by_node = np.stack([slow_silhouettes(run[nodes], labels, distance.cosine) for run in after.on.g.numpy()])
    runs = by_node.mean(axis=1)
    silhouette = embedded["silhouette"]
    assert silhouette["runs"] == pytest.approx(runs, abs=6e-5)
    assert silhouette["mean"] == pytest.approx(runs.mean(), abs=6e-5)
    assert silhouette["std"] == pytest.approx(runs.std(ddof=1), abs=6e-5)
    averaged = by_node.mean(axis=0)
    assert silhouette["sampling_error"] == pytest.approx(averaged.std(ddof=1) / 40**0.5, abs=6e-5)
    by_class = [averaged[labels == label].mean() for label in range(3)]
    assert embedded["silhouette_by_class"] == pytest.approx(by_class, abs=6e-5)
    in_plane = slow_silhouettes(np.array(embedded["points"]), labels, distance.euclidean).mean()
    assert embedded["silhouette_in_plane"] == pytest.approx(in_plane, abs=6e-5)


def test_t_sne_repeats_bit_for_bit_with_the_same_seed(after, nodes, embedded):
    assert embedding(after, nodes, **SETTINGS) == embedded
    assert np.shape(embedded["points"]) == (40, 2)
    assert embedded["labels"] == after.graph.labels[nodes].tolist()


def test_hop_weight_history_has_a_row_per_epoch_and_a_column_per_hop(before, after):
    history, model = after.hop_weights, after.on.model
    weights = model.history["hop_weights"]
    assert np.shape(history["mean"]) == np.shape(history["std"]) == (15, 3)
    assert np.array(history["mean"]) == pytest.approx(weights.mean(axis=1), abs=6e-5)
    assert np.array(history["std"])[-1] == pytest.approx(weights[-1].std(axis=0, ddof=1), abs=6e-5)
    assert history["kept_epochs"] == model.kept_epochs.tolist()
    with pytest.raises(KernodeError):
        _ = before.hop_weights


def test_gram_means_equal_a_slow_loop_over_pairs(before, after, nodes, similarities):
    labels = after.graph.labels
    for answers, values in ((before, similarities["before"]), (after, similarities["after"])):
        full = answers.gram(nodes)
        pairs = [(i, j) for i in range(40) for j in range(40) if i != j]
        within = [full[i, j] for i, j in pairs if labels[nodes[i]] == labels[nodes[j]]]
        between = [full[i, j] for i, j in pairs if labels[nodes[i]] != labels[nodes[j]]]
        assert values["within"] == pytest.approx(np.mean(within), abs=6e-5)
        assert values["between"] == pytest.approx(np.mean(between), abs=6e-5)
    assert similarities["class_counts"] == np.bincount(labels[nodes]).tolist()


def test_a_gram_picture_is_the_kernel_in_the_order_of_classes(after, nodes, similarities):
    assert unpack(similarities["after"]["image"]).shape == (16, 16)
    order = np.argsort(after.graph.labels[nodes], kind="stable")
    full = gram(after, after, nodes, pixels=40)
    assert unpack(full["after"]["image"]) == pytest.approx(after.gram(nodes[order]), abs=1 / 250)


@pytest.fixture
def drawings(after, embedded, similarities):
    absent = embedded | {
        "class_names": [*embedded["class_names"], "never_seen"],
        "silhouette_by_class": [-0.25, *embedded["silhouette_by_class"][1:], None],
    }
    return {
        "overview": draw_overview,
        "embeddings": lambda stem: drawing.draw_embeddings({"GCN": absent, "K3": absent}, "Planes", stem),
        "hops": lambda stem: drawing.draw_hop_weights({"Cora": after.hop_weights}, stem),
        "gram": lambda stem: drawing.draw_gram(similarities, "Kernels", stem),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["overview", "embeddings", "hops", "gram"])
def test_a_drawing_is_a_png_and_an_svg_and_twice_the_same_bytes(name, drawings, tmp_path):
    paths = drawings[name](tmp_path / "figure.1")
    assert paths == [tmp_path / "figure.1.png", tmp_path / "figure.1.svg"]
    with Image.open(paths[0]) as picture:
        picture.load()
        assert min(picture.size) > 300
    assert ElementTree.parse(paths[1]).getroot().tag.endswith("svg")
    again = drawings[name](tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]
    assert len(list(tmp_path.iterdir())) == 4  # nothing else is left
