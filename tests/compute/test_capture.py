"""A captured epoch against the plain one; both need a GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from kernode.compute.fused import use_fused
from kernode.compute.place import Place
from kernode.data.edge_split import split_edges
from kernode.link_prediction.method import LINK_METHODS
from kernode.link_prediction.trainer import train_links
from kernode.node_classification.experiment import lesson_of
from kernode.node_classification.model import Model
from kernode.node_classification.trainer import Stack
from kernode.node_classification.variants import configure

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def probabilities(variant, monkeypatch, capture, **changes):
    graph, split = kn.load("cora")
    method, training = configure(variant, "cora", epochs=20, **changes)
    lesson, classes = lesson_of(graph, [split])
    if not capture:
        monkeypatch.setattr("kernode.node_classification.trainer.Stack.capturable", False)
    model = Model.learn(
        graph, method, training, lesson, [0, 1], Place.of(64, "cuda"), tuple(classes.tolist())
    )
    return model.on(graph, "cuda").probabilities(split.test), model


@pytest.mark.parametrize(
    "variant", ["k3", "n1", "k1", "k2", "gcn", "sgc", "appnp", "fastgcn", "presmoothed", "gat", "k2-gat"]
)
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


def test_gradients_of_a_float32_step_agree_fused_and_plain():
    graph, split = kn.load("cora")
    method, training = configure("k3", "cora")
    lesson, _ = lesson_of(graph, [split])
    method, place = method.for_classes(7), Place.of(32, "cuda")
    gradients = []
    for mode in ("never", "everywhere"):
        with use_fused(mode):
            stack = Stack(method.map.prepare(graph, place), method, training, lesson, [0], place)
            loss = stack.losses(1)["loss"]
            gradients.append(
                torch.autograd.grad(loss, list(stack.parameters.values()), torch.ones_like(loss))
            )
    for one, other in zip(*gradients, strict=True):
        assert (one - other).norm() <= 1e-5 * one.norm()


@pytest.mark.parametrize("name", ["kernel", "gae", "vgae"])
def test_links_captured_and_plain_agree_in_float64(name, monkeypatch):
    method, training = LINK_METHODS[name]
    split = split_edges(kn.load("cora")[0], seed=0)

    def losses():
        trained = train_links(split, method, replace(training, epochs=8), [0, 1], Place.of(64, "cuda"))
        return trained.history["loss"], trained.history["validation_auc"]

    captured = losses()
    monkeypatch.setattr("kernode.link_prediction.trainer.LinkStack.capturable", False)
    with use_fused("never"):
        plain = losses()
    assert all(np.allclose(one, other, atol=1e-8) for one, other in zip(captured, plain, strict=True))
