"""A captured epoch against the plain one; both need a GPU."""

import numpy as np
import pytest
import torch

import kernode as kn
from kernode.compute.gpu import use_fused
from kernode.compute.tensor_options import TensorOptions
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import configure
from kernode.tasks.links.task import LinkTask
from kernode.tasks.links.variants import configure_links
from kernode.training.run import Run
from tasks import fit, run_loop

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def probabilities(variant, monkeypatch, capture, **changes):
    graph, split = kn.load("cora")
    method, training = configure(variant, "cora", epochs=20, **changes)
    if not capture:
        monkeypatch.setattr("kernode.tasks.classes.task.NodeLearner.capturable", False)
    task = NodeTask.of_splits(graph, [split], Run((0, 1), TensorOptions.of(64, "cuda")))
    on = fit(task, method, training)
    return on.probabilities(split.test), on.model


@pytest.mark.parametrize(
    "variant", ["k3", "n1", "k1", "k2", "gcn", "sgc", "appnp", "presmoothed", "gat", "k2-gat"]
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


def test_gradients_of_a_float32_step_agree_fused_and_plain():
    graph, split = kn.load("cora")
    method, training = configure("k3", "cora")
    task = NodeTask.of_splits(graph, [split], Run((0,), TensorOptions.of(32, "cuda")))
    gradients = []
    for mode in ("never", "everywhere"):
        with use_fused(mode):
            (learner,) = task.begin(method.for_classes(7), training).learners
            loss = learner.losses(1)["loss"]
            gradients.append(
                torch.autograd.grad(loss, list(learner.parameters.values()), torch.ones_like(loss))
            )
    for one, other in zip(*gradients, strict=True):
        assert (one - other).norm() <= 1e-5 * one.norm()


@pytest.mark.parametrize("name", ["kernel", "gae", "vgae"])
def test_links_captured_and_plain_agree_in_float64(name, monkeypatch):
    method, training = configure_links(name, epochs=8)
    task = LinkTask.of_graph(kn.load("cora")[0], Run((0, 1), TensorOptions.of(64, "cuda")))

    def losses():
        trained = run_loop(task, method, training)
        return trained.history["loss"], trained.history["validation_auc"]

    captured = losses()
    monkeypatch.setattr("kernode.tasks.links.task.LinkLearner.capturable", False)
    with use_fused("never"):
        plain = losses()
    assert all(np.allclose(one, other, atol=1e-8) for one, other in zip(captured, plain, strict=True))
