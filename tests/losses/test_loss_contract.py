"""What every loss on the classes of nodes keeps to: each property for all losses that are listed."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import vectors
from kernode.compute.draws import Draws
from kernode.compute.stack import replica, under_prefix
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized, Polynomial
from kernode.losses import Joint, KernelLoss, Loss, Softmax
from kernode.losses.nodes_by_class import NodesByClass
from parts import LOSSES, over
from tasks import DOUBLE

every_loss = over("loss", LOSSES)
every_kernel = over("kernel", [Normalized(Linear()), Linear(), RBF(learned=True), Polynomial()])
SEEDS = torch.tensor([5, 6, 7])
LABELS = np.array([[0, 0, 1, 2, 1, 0, 0, 2], [2, 0, 1, 2, 1, 0, 1, 1], [0, 1, 2, 2, 2, 0, 1, 2]])
NODES = np.stack([np.random.default_rng(i).permutation(20)[:8] for i in range(3)])


def training_nodes(rows=slice(None)):
    return NodesByClass.of(NODES[rows], LABELS[rows], 3, DOUBLE.device)


def parameters_for(kernel, replicas=3):
    start = {f"kernel.{name}": value for name, value in kernel.initial(replicas).items()}
    return start | {"class_bias": torch.arange(3.0 * replicas, dtype=torch.float64).view(replicas, 3) / 5}


def losses_of(loss, kernel, g, parameters, rows=slice(None), own=None, epoch=4):
    """The loss and its parts on g of the training nodes (r × 8 × 3)."""
    own = loss.by_replica(len(SEEDS[rows]), DOUBLE) if own is None else own
    prepared = loss.prepare(training_nodes(rows), own, DOUBLE)
    return loss(prepared, kernel, parameters, g, Draws(SEEDS[rows], epoch))


@every_loss
def test_loss_travels_as_json_and_by_pickle(loss):
    assert Loss.from_json(json.loads(json.dumps(loss.to_json()))) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(replace(loss)) == hash(loss)


@every_kernel
@every_loss
def test_loss_of_a_stack_is_that_of_each_replica_alone(loss, kernel):
    g, parameters = vectors(3, 8), parameters_for(kernel)
    together = losses_of(loss, kernel, g, parameters)
    assert all(value.shape == (3,) for value in together.values())
    assert "loss" in together
    for i in range(3):
        row = slice(i, i + 1)
        alone = losses_of(loss, kernel, g[row], replica(parameters, i), row)
        assert together.keys() == alone.keys()
        for name, value in alone.items():
            assert torch.allclose(together[name][i], value[0])


@every_loss
def test_replicas_that_share_their_nodes_need_one_row_of_them(loss):
    kernel, g = Normalized(Linear()), vectors(3, 8)
    parameters, own = parameters_for(kernel), loss.by_replica(3, DOUBLE)
    shared = [
        loss(loss.prepare(nodes, own, DOUBLE), kernel, parameters, g, Draws(SEEDS, 1))["loss"]
        for nodes in (
            NodesByClass.of(NODES[:1], LABELS[:1], 3, DOUBLE.device),
            NodesByClass.of(NODES[[0, 0, 0]], LABELS[[0, 0, 0]], 3, DOUBLE.device),
        )
    ]
    assert torch.allclose(*shared)


@pytest.mark.slow
@every_kernel
@every_loss
def test_gradients_pass_gradcheck(loss, kernel):
    parameters = parameters_for(kernel)

    def of(g, *values):
        return losses_of(loss, kernel, g, dict(zip(parameters, values, strict=True)))["loss"]

    inputs = [vectors(3, 8).requires_grad_(), *(value.requires_grad_() for value in parameters.values())]
    assert torch.autograd.gradcheck(of, inputs)


@every_loss
def test_settings_of_each_replica_are_those_of_a_loss_of_its_own(loss):
    kernel, g = Normalized(Linear()), vectors(3, 8)
    parameters = parameters_for(kernel)
    parts = [loss, loss.kernel] if isinstance(loss, Joint) else [loss]
    names = [name for one in parts for name in one.per_replica]
    assert set(loss.by_replica(3, DOUBLE)) == set(names)
    for name in names:
        values = (0.1, 0.9, 2.5)
        stack = losses_of(_changed(loss, name, values), kernel, g, parameters)["loss"]
        for i, value in enumerate(values):
            row = slice(i, i + 1)
            alone = losses_of(_changed(loss, name, value), kernel, g[row], replica(parameters, i), row)
            assert torch.allclose(stack[i], alone["loss"][0])
        for wrong in (-0.1, float("nan"), "much", (0.1, -0.1)):
            with pytest.raises(InputError):
                _changed(loss, name, wrong)
        with pytest.raises(InputError):
            _changed(loss, name, (0.1, 0.2)).by_replica(3, DOUBLE)


def _changed(loss, name, value):
    if name in loss.per_replica:
        return replace(loss, **{name: value})
    return replace(loss, kernel=replace(loss.kernel, **{name: value}))


@every_loss
def test_kernel_losses_draw_afresh_in_every_epoch_and_others_draw_nothing(loss):
    kernel, g = Normalized(Linear()), vectors(3, 8)
    parameters = parameters_for(kernel)
    first, again, second = (
        losses_of(loss, kernel, g, parameters, epoch=epoch)["loss"] for epoch in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert torch.equal(first, second) == isinstance(loss, Softmax)


@every_kernel
@over("loss", [one for one in LOSSES if isinstance(one, KernelLoss)])
def test_a_kernel_loss_is_the_mean_over_its_triplets_read_from_the_gram_matrix(loss, kernel):
    """One triplet after the other, each as a loss of its own."""
    g, parameters = vectors(3, 8), parameters_for(kernel)
    own = loss.by_replica(3, DOUBLE)
    prepared = loss.prepare(training_nodes(), own, DOUBLE)
    found = loss(prepared, kernel, parameters, g, Draws(SEEDS, 4))["loss"]
    embedded = kernel.embed(g)
    gram = kernel.gram(embedded, embedded, under_prefix(parameters, "kernel."))
    triplets = [rows.T // 3 for rows in prepared.sampler.draw(Draws(SEEDS, 4))]  # r × t each
    for i in range(3):
        of_replica = {name: values[i : i + 1] for name, values in own.items()}
        one_by_one = [
            loss.of_triplets(gram[i, a, p].view(1, 1), gram[i, a, n].view(1, 1), of_replica)
            for a, p, n in zip(*(rows[i].tolist() for rows in triplets), strict=True)
        ]
        assert len(one_by_one) == loss.triplets
        assert torch.allclose(found[i], torch.cat(one_by_one).mean())


@over("loss", [one for one in LOSSES if isinstance(one, Joint)])
def test_joint_loss_is_softmax_and_lambda_times_the_kernels(loss):
    kernel, g = Normalized(Linear()), vectors(3, 8)
    parameters = parameters_for(kernel)
    both = losses_of(loss, kernel, g, parameters)
    for name, alone in (("kernel_loss", loss.kernel), ("softmax_loss", loss.softmax)):
        assert torch.equal(both[name], losses_of(alone, kernel, g, parameters)["loss"])
    assert torch.allclose(both["loss"], both["softmax_loss"] + loss.kernel_weight * both["kernel_loss"])
