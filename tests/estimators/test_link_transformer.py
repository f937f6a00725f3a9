"""Vectors from links alone: no label is read, every edge trains, scikit-learn's tools take it as it is."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

import kernode as kn
from graphs import CLUSTERS
from refusals import refused
from tasks import retrieval

NAMES = np.array([f"node-{i:03d}" for i in np.random.default_rng(0).permutation(120)])
GRAPH = kn.Graph(CLUSTERS.adjacency, CLUSTERS.features, CLUSTERS.labels, node_names=NAMES, name="clusters")
UNLABELLED = kn.Graph(
    CLUSTERS.adjacency, CLUSTERS.features, np.full(120, -1), node_names=NAMES, name="clusters"
)


def transformer(**settings):
    return kn.LinkKernelTransformer(**{"epochs": 5, "device": "cpu"} | settings)


@pytest.fixture(scope="module")
def fitted():
    return transformer(replicas=2).fit(GRAPH)


def test_labels_change_no_bit(fitted):
    vectors = fitted.transform(None)
    assert (UNLABELLED.labels < 0).all()
    np.testing.assert_array_equal(transformer(replicas=2).fit_transform(UNLABELLED), vectors)
    again = transformer(replicas=2).fit(NAMES, np.arange(120) % 5, graph=GRAPH)  # y of whatever kind
    np.testing.assert_array_equal(again.transform(NAMES), vectors)


def test_nodes_of_a_class_are_found_better_than_by_their_features():
    def found(x):
        x = torch.from_numpy(normalize(np.asarray(x, np.float64)))
        return float(retrieval((x @ x.T)[None], torch.tensor(GRAPH.labels))[0][0])

    vectors = kn.LinkKernelTransformer(device="cpu").fit_transform(GRAPH)
    assert found(vectors) > found(GRAPH.features) + 5


def test_every_edge_trains_and_the_whole_graph_answers():
    seen = []

    class Edges(kn.Callback):
        def on_fit_begin(self, loop):
            seen.extend(len(one.pairs.edges) for one in loop.learners)

    model = transformer(callbacks=Edges()).fit(GRAPH)
    assert seen == [GRAPH.n_edges]
    assert model.graph_ is GRAPH
    assert model.model_.all_edges
    assert model.model_.held_out.shape == (0, 2)
    assert set(model.history_) == {"loss"}  # nothing is held out that could be evaluated


def test_a_variant_that_chooses_its_epoch_runs_them_all():
    model = transformer(variant="kernel", epochs=7).fit(GRAPH)
    assert (model.model_.training.selection, model.model_.training.patience) == ("last", None)
    assert model.model_.kept_epochs.tolist() == [7]
    for name, value in (("selection", "best"), ("patience", 3)):
        with refused("no-effect", setting=name):
            transformer(training={name: value}).fit(GRAPH)


# ---- scikit-learn


def test_a_pipeline_learns_from_few_labels():
    train, test = NAMES[:30], NAMES[30:]
    pipeline = make_pipeline(transformer(), LogisticRegression(C=10))
    pipeline.fit(train, GRAPH.labels[:30], linkkerneltransformer__graph=GRAPH)
    assert pipeline.score(test, GRAPH.labels[30:]) > 0.8


def test_frames_have_the_nodes_rows_and_named_columns(fitted):
    frames = pickle.loads(pickle.dumps(fitted)).set_output(transform="pandas")
    found = frames.transform(pd.Series(NAMES[:4], index=list("abcd")))
    assert found.index.tolist() == list("abcd")
    assert found.columns.tolist()[:2] == ["linkkerneltransformer0", "linkkerneltransformer1"]
    assert found.shape == (4, len(fitted.get_feature_names_out())) == (4, 1024)
    np.testing.assert_array_equal(found, fitted.transform(NAMES[:4]))


# ---- files and wrong use


@pytest.mark.parametrize("with_graph", [False, True])
def test_a_file_gives_the_same_vectors(fitted, tmp_path, with_graph):
    path = fitted.save(tmp_path / "m.safetensors", with_graph=with_graph)
    read = kn.load_model(path) if with_graph else kn.load_model(path, GRAPH)
    assert isinstance(read, kn.LinkKernelTransformer)
    np.testing.assert_array_equal(read.transform(None), fitted.transform(None))
    assert (read.variant, read.replicas, read.training.epochs) == ("embedding", 2, 5)
    if not with_graph:
        np.testing.assert_array_equal(clone(read).fit(GRAPH).transform(None), fitted.transform(None))
        with refused("missing", setting="graph"):
            kn.load_model(path)
        with refused("conflict", setting="graph"):
            kn.load_model(path, kn.Graph.from_edges([(0, 1)], np.eye(2)))


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda m: m.fit(GRAPH, graph=GRAPH), "duplicate"),
        (lambda m: m.fit(kn.Graph.from_edges([], np.eye(3), name="lone")), "too-few"),
        (lambda m: m.set_params(variant="k3").fit(GRAPH), "unknown"),
        (lambda m: m.set_params(training__dropout=0.5).fit(GRAPH), "no-effect"),
        (lambda m: m.fit(["none"], graph=GRAPH), "unknown"),
        (lambda m: m.fit(NAMES), "missing"),
    ],
)
def test_wrong_use_is_refused(use, code):
    with refused(code):
        use(transformer(epochs=1))
