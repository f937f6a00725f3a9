"""Training on links: what the operator sees, what a variational method pays, which epoch is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

import kernode as kn
from graphs import CLUSTERS
from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import under_prefix
from kernode.io.edge_split import is_edge, split_edges
from kernode.kernels import Linear
from kernode.maps import HopMLP
from kernode.tasks.links.method import LinkMethod
from kernode.training.loop import STACK_NUMBERS
from kernode.training.settings import Training
from parts import LINK_METHODS
from tasks import link_task, run_loop

SPLIT = split_edges(CLUSTERS, 0)
SHORT = Training(epochs=10, weight_decay=0.0)


def learner_of(method, training=SHORT):
    (learner,) = link_task(seeds=(0, 1)).begin(method, training).learners
    return learner


def test_no_held_out_edge_is_in_the_operator_or_in_the_loss():
    """Read the operator that training multiplies with."""
    learner = learner_of(LinkMethod(HopMLP((), 4, hops=1), Linear()))
    one_hop = learner.prepared.neighbours.by_hop(torch.eye(120, dtype=torch.float64))[1].numpy()
    for pairs in (SPLIT.test, SPLIT.validation):
        assert is_edge(CLUSTERS.adjacency, pairs).all()
        assert not one_hop[pairs[:, 0], pairs[:, 1]].any()
        assert not one_hop[pairs[:, 1], pairs[:, 0]].any()
    assert int((one_hop != 0).sum()) == 2 * SPLIT.graph.n_edges
    held_out = {tuple(pair) for part in (SPLIT.test, SPLIT.validation) for pair in part.tolist()}
    assert not held_out & {tuple(sorted(pair)) for pair in learner.pairs.edges.tolist()}


def test_loss_is_cross_entropy_of_the_logits_on_edges_and_drawn_pairs():
    learner = learner_of(LINK_METHODS["rbf"], replace(SHORT, dropout=0.0))
    method = learner.method
    embedded, _ = method.embed(learner.parameters, learner.prepared)
    drawn, counts = learner.pairs.draw_negatives(Draws(learner.seeds, 1))
    on_edges = softplus(-method.logits(learner.parameters, embedded, learner.pairs.edges[None])).mean(dim=1)
    on_others = (softplus(method.logits(learner.parameters, embedded, drawn)) * counts).sum(dim=1)
    assert torch.allclose(learner.losses(1)["loss"], (on_edges + on_others / counts.sum(dim=1)) / 2)


def test_variational_training_draws_around_the_means_and_pays_the_divergence():
    method = LINK_METHODS["vgae"]
    learner = learner_of(method, Training(epochs=1, dropout=0.0))
    dropout = Dropout(Draws(learner.seeds, 1), torch.zeros(2, dtype=torch.float64))
    sample, divergence = method.embed(learner.parameters, learner.prepared, dropout)
    g = method.map(under_prefix(learner.parameters, "map."), learner.prepared)
    mean, deviation = g.chunk(2, dim=-1)[0], g.chunk(2, dim=-1)[1].exp()
    noise = (sample - mean) / deviation
    assert noise.mean().item() == pytest.approx(0, abs=0.1)
    assert noise.std().item() == pytest.approx(1, abs=0.1)
    assert torch.equal(method.embed(learner.parameters, learner.prepared)[0], mean)
    theirs = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, deviation),
        torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean)),
    )
    assert torch.allclose(divergence, theirs.sum(dim=-1).mean(dim=-1) / 120)
    drawn, counts = learner.pairs.draw_negatives(Draws(learner.seeds, 1))
    on_edges = softplus(-method.logits(learner.parameters, sample, learner.pairs.edges[None])).mean(dim=1)
    on_others = (softplus(method.logits(learner.parameters, sample, drawn)) * counts).sum(dim=1)
    expected = (on_edges + on_others / counts.sum(dim=1)) / 2 + divergence
    assert torch.allclose(learner.losses(1)["loss"], expected)


def test_kept_epoch_has_the_best_validation_auc():
    found = run_loop(link_task(seeds=(0, 1, 2)), LINK_METHODS["gae"], replace(SHORT, epochs=25))
    by_epoch = found.history["validation_auc"]
    for i, epoch in enumerate(found.epochs):
        assert epoch > 0
        assert by_epoch[epoch - 1, i] == by_epoch[:, i].max()


@pytest.mark.parametrize(
    ("method", "training", "reused"),
    [
        (LinkMethod(HopMLP((), 4), Linear(), scaled=True), SHORT, True),
        (LinkMethod(HopMLP((6,), 4), Linear()), replace(SHORT, dropout=0.5), False),
        (LinkMethod(HopMLP((), 4), Linear()), replace(SHORT, input_dropout=0.5), False),
        (LinkMethod(HopMLP((), 4), Linear(), variational=True), SHORT, False),
        (LinkMethod(HopMLP((), 4), Linear()), replace(SHORT, averaging=0.5), False),
        (LINK_METHODS["gae"], replace(SHORT, dropout=0.0), False),
    ],
)
def test_a_step_that_reuses_the_evaluation_gives_the_same_bits(method, training, reused):
    kept = []

    class Forget(kn.Callback):
        def on_epoch_end(self, loop):
            kept.append(loop.learners[0]._evaluated is not None)
            loop.learners[0]._evaluated = None

    quick = run_loop(link_task(seeds=(0, 1)), method, training)
    slow = run_loop(link_task(seeds=(0, 1), callbacks=(Forget(),)), method, training)
    assert kept == [reused] * 10
    assert all(np.array_equal(quick.history[key], values) for key, values in slow.history.items())
    assert all(torch.equal(quick.parameters[key], value) for key, value in slow.parameters.items())


def test_a_step_never_reuses_an_evaluation_of_other_parameters():
    learner = learner_of(LinkMethod(HopMLP((), 4), Linear()))
    learner.evaluate()
    with torch.no_grad():
        learner.parameters["map.weight_0"].mul_(2)
    moved = learner.losses(1)["loss"]
    assert torch.equal(moved, learner.losses(1)["loss"])
    learner.evaluate()
    assert torch.equal(moved, learner.losses(1)["loss"])


def test_wide_replicas_train_in_several_stacks_with_the_same_result(monkeypatch):
    whole = run_loop(link_task(seeds=range(5)), LINK_METHODS["rbf"], SHORT)
    monkeypatch.setitem(STACK_NUMBERS, "cpu", 2 * 120 * 8)
    parts = run_loop(link_task(seeds=range(5)), LINK_METHODS["rbf"], SHORT)
    assert np.array_equal(parts.epochs, whole.epochs)
    assert all(
        torch.allclose(parts.parameters[key], value, atol=1e-9) for key, value in whole.parameters.items()
    )
