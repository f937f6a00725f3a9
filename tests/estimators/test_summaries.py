"""What printing a model says."""

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS
from kernode.tasks.classes.model import describe_hop_weights

NODES = np.arange(40)


def fitted(variant, **settings):
    model = kn.NodeKernelClassifier(variant, **settings)
    return model.fit(NODES, CLUSTERS.labels[NODES], graph=CLUSTERS, validation=np.arange(40, 60))


def test_a_model_is_printed_with_what_it_learned_from_and_how_it_validated():
    model = fitted("k3", epochs=5, replicas=2)
    said = str(model.model_)
    assert "40 nodes" in said
    assert f"{model.model_.validated('accuracy'):.2f} % accuracy" in said
    assert "for the node itself" in said


def test_hop_weights_are_described_in_words():
    model = fitted("k3", epochs=5, replicas=2).model_
    weights = model.hop_weights().mean(axis=0)
    words = describe_hop_weights(model)
    assert words.startswith(f"{weights[0]:.2f} for the node itself, {weights[1]:.2f} for nodes 1 hop away")
    assert "away" in words.split(",")[2]
    assert describe_hop_weights(fitted("gcn", epochs=2).model_) == ""


@pytest.mark.parametrize("kind", [kn.LinkPredictor, kn.LinkKernelTransformer])
def test_what_learns_from_links_says_which_edges(kind):
    assert "edge" in str(kind(epochs=2).fit(CLUSTERS).model_)
