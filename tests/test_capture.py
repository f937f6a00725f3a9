"""A captured epoch against the plain one; both need a GPU."""

import numpy as np
import pytest
import torch

import kernode as kn
from kernode.accelerator import use_fused
from kernode.experiment import lesson_of
from kernode.model import Model
from kernode.sparse import Place
from kernode.variants import configure

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def probabilities(variant, monkeypatch, capture, **changes):
    graph, split = kn.load("cora")
    method, training = configure(variant, "cora", epochs=20, **changes)
    lesson, classes = lesson_of(graph, [split])
    if not capture:
        monkeypatch.setattr("kernode.training.Stack.capturable", False)
    model = Model.learn(
        graph, method, training, lesson, [0, 1], Place.of(64, "cuda"), tuple(classes.tolist())
    )
    return model.on(graph, "cuda").probabilities(split.test), model


@pytest.mark.parametrize("variant", ["k3", "n1", "k1", "k2", "gcn", "sgc", "appnp", "fastgcn", "presmoothed"])
def test_captured_and_plain_epochs_agree_in_float64(variant, monkeypatch):
    captured, one = probabilities(variant, monkeypatch, capture=True)
    with use_fused("never"):
        plain, other = probabilities(variant, monkeypatch, capture=False)
    assert np.abs(captured - plain).max() < 1e-8
    assert one.history.keys() == other.history.keys()
    assert np.allclose(one.history["loss"], other.history["loss"], atol=1e-8)
    assert np.array_equal(one.kept_epochs, other.kept_epochs)


def test_patience_stops_a_captured_run_where_it_stops_a_plain_one(monkeypatch):
    _, captured = probabilities("k3", monkeypatch, capture=True, patience=3)
    _, plain = probabilities("k3", monkeypatch, capture=False, patience=3)
    assert len(captured.history["loss"]) == len(plain.history["loss"])


def test_explicit_and_factored_agree_on_the_gpu(monkeypatch):
    factored, _ = probabilities("k3", monkeypatch, capture=True)
    monkeypatch.setattr("kernode.hops.cost.HopCost.kind", "explicit")
    explicit, _ = probabilities("k3", monkeypatch, capture=True)
    assert np.abs(factored - explicit).max() < 1e-8
