"""C_K: the nearest centroid, by a loop over nodes and classes."""

import numpy as np
import pytest
import torch

from kernode.compute.stack import take
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses.nodes_by_class import NodesByClass
from kernode.tasks.classes import method
from kernode.tasks.classes.method import centroid_scores, references

CPU = torch.device("cpu")
RANDOM = torch.Generator().manual_seed(0)


def scores(kernel, parameters, g, members, nodes):
    return centroid_scores(kernel, parameters, take(g, nodes), references(kernel, g, members), members)


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
    members = NodesByClass.of(train, labels, 3, CPU)
    ours = scores(kernel, parameters, g, members, nodes)
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
    g = torch.randn(1, 30, 3, dtype=torch.float64, generator=RANDOM)
    members = NodesByClass.of(np.arange(20)[None], np.arange(20)[None] % 2, 2, CPU)
    nodes = torch.arange(30)[None]
    whole = scores(RBF(), {}, g, members, nodes)
    monkeypatch.setattr(method, "GRAM_BLOCK", 40)
    assert torch.allclose(scores(RBF(), {}, g, members, nodes), whole)
