"""Fused kernels against the plain operations: on a GPU where there is one, else in Triton's interpreter."""

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.compute.adam import Adam
from kernode.compute.draws import Draws, Dropout
from kernode.compute.gpu import fused, use_fused
from kernode.compute.sparse import product, to_torch
from kernode.compute.tensor_options import TensorOptions
from kernode.hops import HopOperator
from kernode.kernels import Linear, Normalized
from kernode.kernels.weighted_sum import WeightedSum
from kernode.losses import Hinge
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import cross_entropy, node_weights
from kernode.losses.triplets import TripletSampler
from kernode.maps.layers.mlp import activate
from kernode.tasks.classes.variants import configure
from tasks import node_task

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DOUBLE = TensorOptions(torch.float64, DEVICE)
SEEDS = torch.tensor([3, -7, 2**40], device=DEVICE)


def both(compute):
    """The result of fused and of plain operations."""
    with use_fused("never"):
        assert fused(SEEDS) is None
        plain = compute()
    with use_fused("everywhere"):
        assert fused(SEEDS) is not None
        return compute(), plain


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(DEVICE)


@pytest.mark.parametrize("width", [1, 4, 7, 16])
@pytest.mark.parametrize("replicas", [1, 3])
def test_masked_relu_drops_the_same_elements(width, replicas):
    x = random(33, replicas, width).requires_grad_()
    rates = torch.tensor([0.5, 0.0, 0.9], dtype=torch.float64, device=DEVICE)[:replicas]

    def compute():
        out = activate(x, 1, Dropout(Draws(SEEDS[:replicas], 5), rates))
        return out.detach(), torch.autograd.grad((out * random(33, replicas, width)).sum(), x)[0]

    for ours, plain in zip(*both(compute), strict=True):
        assert torch.allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("width", [1, 5, 130])
def test_sparse_products(width):
    graph = clustered_graph(n=30)
    matrix = to_torch(graph.adjacency[:20], DOUBLE)
    x, minus = random(30, width), random(20, width)
    assert torch.allclose(*both(lambda: product(matrix, x)))
    assert torch.allclose(*both(lambda: product(matrix, x, minus.clone())))


@pytest.mark.slow
@pytest.mark.parametrize("powers", ["each", "last", "released", "plain"])
@pytest.mark.parametrize("kind", ["explicit", "factored"])
@pytest.mark.parametrize("hops", [1, 2, 4])  # interpreted: seconds each
def test_hop_operator(powers, kind, hops):
    operator = HopOperator.of(clustered_graph(n=20), hops, powers, DOUBLE, kind)
    z, weights = random(20, 2, 3).requires_grad_(), random(2, hops + 1).requires_grad_()

    def compute():
        out = operator(z, weights)
        return out.detach(), *torch.autograd.grad((out * random(20, 2, 3)).sum(), (z, weights))

    for ours, plain in zip(*both(compute), strict=True):
        assert torch.allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("own_nodes", [False, True])
def test_triplets_and_their_hinge(own_nodes):
    q = 3 if own_nodes else 1
    labels = np.tile([0, 0, 0, 1, 1, 1, 1, 3], (q, 1))
    sampler = TripletSampler(NodesByClass.of(np.tile(np.arange(8), (q, 1)), labels, 4, DEVICE), 70)
    x = random(8, 3, 5).transpose(0, 1).requires_grad_()
    margins, kernel = random(3).abs(), Normalized(Linear())

    def compute():
        triplets = sampler.draw(Draws(SEEDS, 9))
        loss = Hinge().of_kernel(kernel, {}, kernel.embed(x), triplets, {"margin": margins})
        return *triplets, loss.detach(), torch.autograd.grad(loss @ random(3), x)[0]

    for ours, plain in zip(*both(compute), strict=True):
        assert torch.allclose(ours, plain, atol=1e-12)


def test_zero_rows_have_no_direction_and_no_gradient():
    x = random(1, 4, 3)
    x[0, 2] = 0
    x.requires_grad_()

    def compute():
        out = Normalized(Linear()).embed(x)
        return out.detach(), torch.autograd.grad((out * random(1, 4, 3)).sum(), x)[0]

    (ours, gradient), (plain, plain_gradient) = both(compute)
    assert torch.allclose(ours, plain, atol=1e-12)
    assert torch.allclose(gradient, plain_gradient, atol=1e-12)
    assert not gradient[0, 2].any()


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_sum_of_kernels_embeds_blocks_of_columns(replicas):
    kernel = WeightedSum((Normalized(Linear()), Normalized(Linear())), (2, 3), (0.25, 0.75))
    ours, plain = both(lambda: kernel.embed(random(7, replicas, 5).transpose(0, 1)))
    assert torch.allclose(ours, plain, atol=1e-12)
    assert torch.allclose(
        kernel.pairs(plain, plain), torch.ones(replicas, 7, dtype=torch.float64, device=DEVICE)
    )


@pytest.mark.parametrize("shared", [True, False])
def test_cross_entropy(shared):
    scores = (100 * random(11, 3, 5)).transpose(0, 1).requires_grad_()
    labels = torch.arange(11 if shared else 33, device=DEVICE).reshape(-1, 11) % 6 - 1
    weights = node_weights(labels, None, torch.float64)

    def compute():
        loss = cross_entropy(scores, labels, weights)
        return loss.detach(), torch.autograd.grad(loss @ random(3), scores)[0]

    for ours, plain in zip(*both(compute), strict=True):
        assert torch.allclose(ours, plain, atol=1e-12)


@pytest.mark.parametrize("alike", [True, False])
def test_adam(alike):
    rates = torch.tensor([0.1, 0.1 if alike else 0.02], dtype=torch.float64, device=DEVICE)

    def compute():
        adam = Adam({"w": random(2, 7), "v": random(2, 3, 4)}, rates, rates / 3)
        for step in (1, 2, 3):
            adam.step({"w": step * random(2, 7), "v": random(2, 3, 4) / step}, step)
        return adam.flat

    assert torch.allclose(*both(compute), atol=1e-13)


SLOWLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("n1", "k1", "gcn")]  # as K3 and APPNP do


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["k3", "appnp", *SLOWLY])
def test_epochs_of_a_stack(variant):
    changes = {"k3": {"triplets": 50}, "k1": {"triplets": 50, "outputs": 5}, "appnp": {"hops": 2}}
    method, training = configure(variant, hidden=(8,), **changes.get(variant, {}))
    task = node_task(clustered_graph(n=30), (0, 1), options=DOUBLE)

    def compute():
        (learner,) = task.begin(method.for_classes(3), training).learners
        records = [learner.advance(epoch) for epoch in (1, 2)]
        return learner.optimiser.flat, records[-1]["loss"], records[-1]["validation_loss"]

    for ours, plain in zip(*both(compute), strict=True):
        assert torch.allclose(ours, plain, atol=1e-10)
