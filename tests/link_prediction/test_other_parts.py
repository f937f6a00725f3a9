"""Link predictors with other maps and kernels than their variant's, and models of one's own split."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.kernels import RBF, Linear
from kernode.maps import GCN, HopMLP, Smoother


def test_a_map_without_parameters_serves_every_replica():
    graph = clustered_graph(90)
    model = kn.LinkPredictor(map=Smoother(), replicas=2, epochs=3, device="cpu").fit(graph)
    assert model._on_graph.logits([(0, 1), (2, 3)]).shape == (2, 2)
    assert model.evaluate()["auc"] > 50
    learned = kn.LinkPredictor(map=Smoother(), kernel=RBF(learned=True), replicas=2, epochs=2, device="cpu")
    assert learned.fit(graph).score_pairs([(0, 1)]).shape == (1,)
    plain = kn.LinkPredictor("gae", map=Smoother(), kernel=Linear(), replicas=2, device="cpu").fit(graph)
    assert plain._on_graph.logits([(0, 1)]).shape == (2, 1)


def test_a_map_without_a_width_gets_the_variants():
    model = kn.LinkPredictor(map=HopMLP(hidden=(8,)), epochs=1, device="cpu").fit(clustered_graph(90))
    assert model.model_.method.map == HopMLP(hidden=(8,), outputs=256)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"map": "gat"}, "map must be a part"),
        ({"kernel": "rbf"}, "kernel must be a part"),
        ({"variant": "vgae", "map": GCN(outputs=15)}, "outputs must be even"),
        ({"dropout": 0.5}, "dropout has no effect on the link variant auto"),
        ({"variant": 3}, "3 is not a link variant"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_a_sentence(settings, sentence):
    with pytest.raises(kn.InputError, match=sentence):
        kn.LinkPredictor(device="cpu", epochs=1, **settings).fit(clustered_graph(90))


def test_a_model_of_ones_own_split_is_read_with_its_training_edges(tmp_path):
    graph = clustered_graph(90)
    split = kn.split_edges(graph, seed=7)
    model = kn.LinkPredictor(epochs=2, device="cpu").fit(split)
    path = model.save(tmp_path / "links.safetensors")
    pairs = [(0, 1), (5, 9)]
    again = kn.load_model(path, graph=split.graph)
    assert np.array_equal(again.score_pairs(pairs), model.score_pairs(pairs))
    with pytest.raises(kn.InputError, match=r"graph=split\.graph"):
        kn.load_model(path, graph=graph)
    with pytest.raises(
        kn.InputError, match=r"Pass graph=split\.graph, the graph of the edges it was trained on"
    ):
        kn.load_model(path)
