"""Every kind of part, listed once: whoever writes a new one adds it here, and it gets its kind's contract.

tests/maps/test_map_contract.py, tests/kernels/test_kernel_contract.py, tests/hops/test_spectral.py,
tests/kernels/test_covariances.py, tests/losses/test_loss_contract.py,
tests/tasks/classes/test_node_methods.py and tests/tasks/links/test_link_methods.py go through these lists;
tests/test_parts_are_listed.py sees to it that nothing is forgotten.
"""

from dataclasses import dataclass

import pytest
import torch

from experiments.rivals import FastGCN, JKConcat
from graphs import dense_features
from kernode.kernels import (
    RBF,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
    GraphDiffusion,
    GraphMatern,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RegularizedLaplacian,
)
from kernode.kernels.weighted_sum import WeightedSum
from kernode.losses import Hinge, Joint, LinkCrossEntropy, Logistic, Softmax, Squared
from kernode.maps import (
    GAT,
    GCN,
    GCNII,
    MLP,
    ClassicGNN,
    ConcatMap,
    DiffusedComponents,
    Diffusion,
    FeatureMap,
    HopMLP,
    HopNet,
    HopStages,
    Members,
    NodeEmbedding,
    OnColumns,
    Presmoothed,
    Smoother,
    Stages,
    Standardized,
    Wrapped,
)
from kernode.maps.graph_kernel import GraphKernelMap
from kernode.tasks.classes.kernel_ridge import Instant
from kernode.tasks.classes.logistic_regression import LogisticRegression
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.propagation import CorrectAndSmooth, LabelPropagation
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.variants import LINK_VARIANTS
from kernode.tasks.numbers.process import GaussianProcess

# Parts of a user's own


class TwoLinear(torch.nn.Module):
    """A module of a user's own, with dropout."""

    def __init__(self, in_channels, out_channels, width=4):
        super().__init__()
        self.first = torch.nn.Linear(in_channels, width)
        self.second = torch.nn.Linear(width, out_channels)

    def forward(self, x, edge_index):
        return self.second(torch.nn.functional.dropout(torch.relu(self.first(x)), 0.5, self.training))


class Normed(torch.nn.Module):
    """A module of a user's own, with batch statistics."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(in_channels)
        self.linear = torch.nn.Linear(in_channels, out_channels)

    def forward(self, x, edge_index):
        return self.linear(self.norm(x))


@dataclass(frozen=True)
class BareMap(FeatureMap):
    """A new map that writes what it must, and says nothing of itself."""

    def prepare(self, graph, place):
        return torch.tensor(dense_features(graph), dtype=place.dtype)

    def initial(self, prepared, draws, place):
        start = draws.seeds.to(place.dtype)[:, None, None] % 7 + 1
        return {"weight": start.expand(-1, prepared.shape[1], 3).contiguous()}

    def __call__(self, parameters, prepared, dropout=None):
        return prepared @ parameters["weight"]


# The lists

MAPS = [  # three outputs each, four side by side: a direction in one number is a sign
    HopMLP((4,), 3),
    HopMLP((), 3, hops=3, powers="last"),
    HopMLP((4,), 3, hops=2, powers="released"),
    HopMLP((4, 5), 3, hop_weights=0.5),
    HopMLP((4,), 3, hops=1, powers="plain", normalize_rows=False),
    Diffusion((4,), 3, hops=4, teleport=0.2),
    Diffusion((), 3, hops=2, hop_weights="pagerank", teleport=0.5, biases=False),
    HopNet((4,), 3, self_loop=True),
    HopNet((4, 4), 3, hops=3, residual=True),
    HopNet((), 3, powers="last", hop_weights=0.5),
    Standardized(HopNet((4, 4), 3, norm=False, self_loop=True, normalize_rows=False)),
    Standardized(Diffusion((4,), 3, hops=3, hop_weights="pagerank", normalize_rows=False)),
    Standardized(HopStages((4,), 3)),
    Standardized(ClassicGNN("sage", (4,), 3)),
    HopStages((4,), 3),
    HopStages((4, 5), 3, hops=2, norm=False),
    Stages((4,), 3),
    Stages((4, 5), 3, hops=2),
    Standardized(Stages((8, 8), 3)),
    OnColumns(Stages((4,), 3)),
    OnColumns(MLP((4,), 3), columns="neighbours"),
    Members((HopMLP((4,), 1), Stages((4,), 2))),
    Presmoothed((4,), 3),
    Presmoothed((), 3, powers="plain"),
    Presmoothed((4,), 3, powers="last", hops=1),
    GCN((4,), 3),
    GCN((), 3),
    GCN((4, 5), 3),
    FastGCN((4,), 3),
    FastGCN((4, 5), 3),
    GAT((8,), 3, heads=2),
    GAT((), 3),
    GAT((6, 4), 3, heads=2, attention_dropout=0),
    ClassicGNN("gcn", (4, 5), 3),
    ClassicGNN("sage", (4, 4), 3),
    ClassicGNN("sage", (4,), 3, norm=False, residual=False, head=False),
    ClassicGNN("gat", (8, 8), 3, heads=2),
    GCNII((6,), 3, depth=3),
    MLP((8,), 3, norm=True, normalize_rows=True),
    MLP((), 3, normalize_rows=True),
    JKConcat((4, 4), 3),
    Wrapped.of(TwoLinear, outputs=3, width=6),
    NodeEmbedding(3),
    Smoother(),
    Smoother(3, averaged=False),
    DiffusedComponents(3, hops=2),
    ConcatMap(HopMLP((4,), 2), DiffusedComponents(2, hops=3), 0.3),
    BareMap(),
]

KERNELS = [
    Linear(),
    RBF(gamma=0.7),
    RBF(gamma=0.7, learned=True),
    Polynomial(degree=3, offset=0.5),
    Matern(),
    Matern(nu=2.5),
    Matern(nu=0.5) * RBF(learned=True),
    Normalized(Linear()),
    Normalized(RBF(learned=True)),
    Normalized(Polynomial()),
    Linear() + RBF(learned=True),
    Normalized(Linear()) * RBF(),
    (Linear() + Normalized(Linear())) * (RBF(learned=True) + Polynomial()),
    Linear() + Normalized(Linear()),
    WeightedSum((Normalized(Linear()), Linear()), (1, 2), (0.3, 0.7)),
    WeightedSum((RBF(learned=True), Linear()), (1, 2), (0.3, 0.7)),
]

GRAPH_KERNELS = [
    RegularizedLaplacian(0.5),
    RegularizedLaplacian(0.99),
    RegularizedLaplacian(-0.9),
    RegularizedLaplacian(0.0),
    GraphDiffusion(8.0),
    GraphDiffusion(0.3),
    GraphMatern(2.0, 20.0),
    GraphMatern(1.5, 3.0),
]

_X, _HOPS = FeatureCovariance(RBF(gamma=0.5)), FeatureCovariance(Linear(), hops=2)
_EDGES = GraphCovariance((RegularizedLaplacian(0.5), GraphDiffusion(8.0)))
_UNIT = GraphCovariance((GraphMatern(),), unit=True)
COVARIANCES = [
    _X,
    _HOPS,
    FeatureCovariance(Matern(2.5), hops=1),
    FeatureCovariance(Polynomial(2) + Normalized(Linear())),
    _EDGES,
    _UNIT,
    GraphCovariance((RegularizedLaplacian(0.5), GraphDiffusion(8.0)), unit=True),
    _X + _EDGES,
    _X * _UNIT,
    _X + _HOPS * _UNIT + _EDGES,
    (_X + _EDGES) * (_HOPS + _UNIT),
    CovarianceSum((_EDGES,)),
    GaussianProcess().covariance,
]

LOSSES = [  # on the classes of nodes
    Hinge(triplets=40),
    Hinge(triplets=40, margin=3.0),
    Squared(triplets=40),
    Logistic(triplets=40),
    Softmax(),
    Softmax(class_weights="balanced"),
    Joint(Hinge(triplets=40), kernel_weight=0.7),
    Joint(Squared(triplets=40), Softmax(class_weights="balanced")),
]
LINK_LOSSES = [LinkCrossEntropy()]

_DOT = Normalized(Linear())
METHODS = {  # for three classes
    "joint": Method(HopMLP((8,)), _DOT, Joint(Hinge(triplets=200))),
    "softmax": Method(HopMLP((8,)), _DOT, Softmax()),
    "kernel": Method(HopMLP((8,), 5), _DOT, Hinge(triplets=200)),
    "rbf": Method(HopMLP((8,), 5), Normalized(RBF(learned=True)), Hinge(triplets=200)),
    "squared": Method(HopMLP((8,)), _DOT, Joint(Squared(triplets=200))),
    "logistic": Method(HopMLP((), 4, hop_weights=0.5), Linear(), Logistic(triplets=200)),
    "sum": Method(GCN((4,), 3), Normalized(RBF()) + Linear(), Hinge(triplets=200)),
    "attention": Method(GAT((8,), heads=2), _DOT, Softmax(class_weights="balanced")),
    "module": Method(JKConcat((8, 8), inner_dropout=0.2), _DOT, Softmax()),
    "norm": Method(Wrapped.of(Normed), _DOT, Softmax()),
    "free": Method(NodeEmbedding(), _DOT, Joint(Hinge(triplets=200))),
    "smoother": Method(Smoother(), _DOT, Hinge(triplets=200)),
    "components": Method(DiffusedComponents(4), _DOT, Hinge(triplets=200)),
    "side by side": Method(ConcatMap(HopMLP((8,), 5)), _DOT, Hinge(triplets=200)),
    "instant": Instant(),
    "edges": Instant(GraphKernelMap()),
    "linear": LogisticRegression(),
    "rows of A": LogisticRegression(OnColumns(MLP((), normalize_rows=False), columns="all")),
    "stages": Method(Standardized(Stages((8, 8))), _DOT, Softmax()),
    "structure": Method(OnColumns(Stages((8,))), _DOT, Softmax()),
    "neighbours": Method(OnColumns(MLP((8,)), columns="neighbours"), _DOT, Softmax()),
    "labels": LabelPropagation(shares=(0.3, 0.8)),
    "correct": CorrectAndSmooth(Method(MLP((8,)), _DOT, Softmax()), (0.0, 0.8), (0.5, 0.8)),
}

LINK_METHODS = {
    **{name: LINK_VARIANTS[name].method for name in ("kernel", "gae", "vgae")},
    "rbf": LinkMethod(HopMLP((8,), 4), RBF(learned=True), scaled=True),
    "free": LinkMethod(NodeEmbedding(6), Linear()),
    "smoothed": LINK_VARIANTS["smoothed"].method,
    "masked": LinkMethod(HopMLP((8,), 4), Linear(), scaled=True, edge_folds=2),
}


def over(what, parts):
    """Run a test for each part of a list, or for each of a dict by its name."""
    if isinstance(parts, dict):
        return pytest.mark.parametrize(what, parts.values(), ids=parts)
    return pytest.mark.parametrize(what, parts, ids=str)
