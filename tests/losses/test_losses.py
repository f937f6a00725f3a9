import numpy as np
import pytest
import torch
from torch.nn import functional

from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized, Polynomial
from kernode.losses import KERNEL_LOSSES, kernel_loss, node_weights, softmax_loss, triplet_hinge
from kernode.losses.triplets import Members, Triplets
from kernode.node_classification.classifiers import centroid_scores, class_scores

RANDOM = torch.Generator().manual_seed(0)
POSITIVE, NEGATIVE = torch.rand(2, 3, 50, dtype=torch.float64, generator=RANDOM) * 2 - 1


def test_triplet_hinge_equals_a_naive_loop():
    margins = [0.1, 0.5, 2.0]
    ours = triplet_hinge(POSITIVE, NEGATIVE, torch.tensor(margins))
    for replica, margin in enumerate(margins):
        total = 0.0
        for p, n in zip(POSITIVE[replica].tolist(), NEGATIVE[replica].tolist(), strict=True):
            total += max(0.0, n - p + margin)
        assert ours[replica].item() == pytest.approx(total / 50)


def test_pair_losses_equal_naive_loops():
    squared = KERNEL_LOSSES["squared"](POSITIVE, NEGATIVE, 0.1)
    logistic = KERNEL_LOSSES["logistic"](POSITIVE, NEGATIVE, 0.1)
    for replica in range(3):
        pairs = [(k, 1.0) for k in POSITIVE[replica].tolist()] + [
            (k, -1.0) for k in NEGATIVE[replica].tolist()
        ]
        assert squared[replica].item() == pytest.approx(np.mean([(k - s) ** 2 for k, s in pairs]))
        assert logistic[replica].item() == pytest.approx(
            np.mean([np.log1p(np.exp(-s * k)) for k, s in pairs])
        )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_softmax_loss_equals_torch_one_replica_at_a_time(shared, weighted):
    scores = torch.randn(3, 20, 4, dtype=torch.float64, generator=RANDOM)
    labels = torch.randint(0, 4, (1 if shared else 3, 20), generator=RANDOM)
    weights = torch.rand(1 if shared else 3, 4, dtype=torch.float64, generator=RANDOM) if weighted else None
    scores.requires_grad_()
    ours = softmax_loss(scores, labels, node_weights(labels, weights, torch.float64))
    gradient = torch.autograd.grad(ours @ torch.arange(1.0, 4, dtype=torch.float64), scores)[0]
    for i in range(3):
        q = 0 if shared else i
        weight = None if weights is None else weights[q]
        theirs = functional.cross_entropy(scores[i], labels[q], weight=weight)
        assert torch.allclose(ours[i], theirs)
        assert torch.allclose(gradient[i], torch.autograd.grad((i + 1) * theirs, scores)[0][i])


def test_softmax_loss_of_large_scores_is_finite_and_unknown_labels_add_nothing():
    scores = torch.tensor([[[1e4, -1e4], [0.0, 0.0]]], dtype=torch.float64)
    assert softmax_loss(scores, torch.tensor([[0, -1]])).item() == 0
    assert softmax_loss(scores, torch.tensor([[1, 0]])).item() == pytest.approx((2e4 + np.log(2)) / 2)


@pytest.mark.parametrize("kernel", [Normalized(Linear()), Linear(), RBF(learned=True), Polynomial()], ids=str)
@pytest.mark.parametrize("name", sorted(KERNEL_LOSSES))
@pytest.mark.parametrize("margin", [-3.0, 0.2, 3.0])
def test_kernel_loss_and_its_gradient_equal_those_read_from_the_gram_matrix(kernel, name, margin):
    x = torch.randn(6, 2, 3, dtype=torch.float64, generator=RANDOM).transpose(0, 1).requires_grad_()
    nodes = torch.randint(0, 6, (3, 40, 2), generator=RANDOM)
    rows = Triplets(*(nodes * 2 + torch.arange(2)))
    parameters, margins = kernel.initial(2), torch.tensor([margin, margin / 2], dtype=torch.float64)
    fast = kernel_loss(name, kernel, parameters, kernel.embed(x), rows, margins)
    gram = kernel.gram(kernel.embed(x), kernel.embed(x), parameters)
    anchor, *others = nodes.transpose(1, 2)
    near, far = (gram[torch.arange(2)[:, None], anchor, other] for other in others)
    slow = KERNEL_LOSSES[name](near, far, margins)
    assert torch.allclose(fast, slow)
    weights = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert torch.allclose(*(torch.autograd.grad(loss @ weights, x)[0] for loss in (fast, slow)))


@pytest.mark.parametrize("kernel", [Normalized(Linear()), Linear(), Normalized(RBF(learned=True))], ids=str)
@pytest.mark.parametrize("shared", [True, False])
def test_nearest_centroid_equals_mean_similarity_node_by_node(kernel, shared):
    g = torch.randn(2, 12, 3, dtype=torch.float64, generator=RANDOM)
    q = 1 if shared else 2
    random = np.random.default_rng(0)
    train = np.stack([random.permutation(12)[:6] for _ in range(q)])
    labels = np.array([[2, 0, 0, 2, 2, 0], [2, 0, 2, 2, 2, 0]])[:q]
    nodes = torch.tensor(np.stack([random.permutation(12)[:4] for _ in range(q)]))
    parameters = {k: v - torch.tensor([0.0, 1.0]) for k, v in kernel.initial(2).items()}
    members = Members.of(train, labels, 3, torch.device("cpu"))
    ours = centroid_scores(kernel, parameters, g, members, nodes)
    embedded = kernel.embed(g)
    for i in range(2):
        own = {name: value[i : i + 1] for name, value in parameters.items()}
        gram = kernel.gram(embedded[i : i + 1], embedded[i : i + 1], own)[0]
        for row, node in enumerate(nodes[0 if shared else i].tolist()):
            for y in range(3):
                of_class = train[0 if shared else i][labels[0 if shared else i] == y]
                expected = np.mean([gram[node, v].item() for v in of_class]) if len(of_class) else -1e3
                assert ours[i, row, y].item() == pytest.approx(expected)


def test_gram_blocks_do_not_change_nearest_centroids(monkeypatch):
    from kernode.node_classification import classifiers

    g = torch.randn(1, 30, 3, dtype=torch.float64, generator=RANDOM)
    members = Members.of(np.arange(20)[None], np.arange(20)[None] % 2, 2, torch.device("cpu"))
    nodes = torch.arange(30)[None]
    whole = centroid_scores(RBF(), {}, g, members, nodes)
    monkeypatch.setattr(classifiers, "GRAM_BLOCK", 40)
    assert torch.allclose(centroid_scores(RBF(), {}, g, members, nodes), whole)


def test_softmax_needs_one_output_per_class():
    g = torch.randn(1, 4, 5)
    with pytest.raises(InputError, match=r"needs one output per class \(3\). Got 5"):
        class_scores(g, torch.zeros(1, 3))
