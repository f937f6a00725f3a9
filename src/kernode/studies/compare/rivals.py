"""Today's peers at their best: for each a list of whole settings, of which validation picks one.

The lists hold what was published for graphs of each kind (Luo, Shi and Wu 2024 for GCN, GraphSAGE and GAT,
whose settings are named after the graph that they were tuned for; the others as their papers have them), and
around it raw and scaled rows, learning rates, widths and decays. No rival has fewer than ``CANDIDATES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kernode.maps import APPNP, GAT, GCN, GCNII, MLP, ClassicGNN, FeatureMap, HopMLP, Presmoothed

CANDIDATES = 12  # of every rival

Settings = Mapping[str, Any]


def _settings(
    feature_map: FeatureMap, learning_rate: float, weight_decay: float, dropout: float = 0.5,
    input_dropout: float = 0.0,
) -> Settings:  # fmt: skip
    """A candidate; training goes on while validation rises."""
    return {
        "map": feature_map, "learning_rate": learning_rate, "weight_decay": weight_decay, "dropout": dropout,
        "input_dropout": input_dropout, "epochs": 1000, "patience": 200,
    }  # fmt: skip


def _classic(
    layer: Literal["gcn", "sage", "gat"], width: int, depth: int, norm: bool, residual: bool,
    learning_rate: float, weight_decay: float, dropout: float,
) -> Settings:  # fmt: skip
    """As Luo, Shi and Wu have it: raw rows with LayerNorm; on the citation graphs without it, and scaled."""
    scaled = not norm
    built = ClassicGNN(layer, (width,) * depth, norm=norm, residual=residual, normalize_rows=scaled)
    return _settings(built, learning_rate, weight_decay, dropout)


def _sage(width: int, scaled: bool) -> FeatureMap:
    """GraphSAGE as published: two layers, nothing between but relu."""
    return ClassicGNN("sage", (width,), norm=False, residual=False, head=False, normalize_rows=scaled)


GCN_SETTINGS = (
    _classic("gcn", 512, 3, True, False, 0.001, 5e-5, 0.5),  # Computers
    _classic("gcn", 256, 6, True, True, 0.001, 5e-5, 0.5),  # Photo
    _classic("gcn", 512, 2, True, True, 0.001, 5e-4, 0.3),  # CS
    _classic("gcn", 64, 2, True, True, 0.001, 5e-4, 0.3),  # Physics
    _classic("gcn", 256, 3, True, False, 0.001, 0.0, 0.5),  # WikiCS
    _classic("gcn", 512, 3, False, False, 0.001, 5e-4, 0.7),  # Cora
    _classic("gcn", 512, 2, False, False, 0.001, 0.01, 0.5),  # Citeseer
    _classic("gcn", 256, 2, False, False, 0.005, 5e-4, 0.7),  # Pubmed
    _settings(GCN((64,)), 0.01, 5e-4),  # Kipf and Welling, wider
    _settings(GCN((64,)), 0.05, 5e-5),
    _settings(GCN((64,), normalize_rows=False), 0.01, 5e-4, input_dropout=0.5),
    _settings(GCN((256,), normalize_rows=False), 0.005, 5e-5),
)
SAGE_SETTINGS = (
    _classic("sage", 64, 4, True, False, 0.001, 5e-5, 0.3),  # Computers
    _classic("sage", 64, 6, True, True, 0.001, 5e-5, 0.2),  # Photo
    _classic("sage", 512, 2, True, True, 0.001, 5e-4, 0.5),  # CS
    _classic("sage", 64, 2, True, True, 0.001, 5e-4, 0.7),  # Physics, there with BatchNorm
    _classic("sage", 256, 2, True, False, 0.001, 0.0, 0.7),  # WikiCS
    _classic("sage", 256, 3, False, False, 0.001, 5e-4, 0.7),  # Cora
    _classic("sage", 512, 3, False, False, 0.001, 0.01, 0.2),  # Citeseer
    _classic("sage", 512, 4, False, False, 0.005, 5e-4, 0.7),  # Pubmed
    _settings(_sage(64, scaled=True), 0.01, 5e-4),  # Hamilton et al.
    _settings(_sage(64, scaled=True), 0.05, 5e-5),
    _settings(_sage(64, scaled=False), 0.01, 5e-4, input_dropout=0.5),
    _settings(_sage(256, scaled=False), 0.005, 5e-5),
)
GAT_SETTINGS = (
    _classic("gat", 64, 2, True, False, 0.001, 5e-5, 0.5),  # Computers
    _classic("gat", 64, 3, True, True, 0.001, 5e-5, 0.5),  # Photo
    _classic("gat", 256, 1, True, True, 0.001, 5e-4, 0.3),  # CS
    _classic("gat", 256, 2, True, True, 0.001, 5e-4, 0.7),  # Physics, there with BatchNorm
    _classic("gat", 512, 2, True, True, 0.001, 0.0, 0.7),  # WikiCS
    _classic("gat", 512, 3, False, True, 0.001, 5e-4, 0.2),  # Cora
    _classic("gat", 256, 3, False, True, 0.001, 0.01, 0.5),  # Citeseer
    _classic("gat", 512, 2, False, False, 0.01, 5e-4, 0.5),  # Pubmed
    _settings(GAT((64,), attention_dropout=0.6), 0.005, 5e-4, 0.0),  # Veličković et al.
    _settings(GAT((64,), attention_dropout=0.6), 0.01, 1e-3, 0.0),  # the same, Pubmed
    _settings(GAT((64,), attention_dropout=0.3), 0.01, 1e-5, 0.0),
    _settings(GAT((64,), attention_dropout=0.4, normalize_rows=False), 0.005, 5e-4, 0.0),
)


def _gpr(width: int, teleport: float, scaled: bool) -> FeatureMap:
    """Chien et al.: ten plain hops whose weights are learned from a personalised-PageRank start."""
    return HopMLP(
        (width,), hops=10, powers="plain", hop_weights="learned", teleport=teleport, biases=True,
        normalize_rows=scaled,
    )  # fmt: skip


GPRGNN_SETTINGS = (
    _settings(_gpr(64, 0.1, scaled=True), 0.01, 5e-4, 0.5, 0.5),  # as published
    _settings(_gpr(64, 0.1, scaled=True), 0.05, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.1, scaled=True), 0.002, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.1, scaled=True), 0.05, 0.0),
    _settings(_gpr(64, 0.5, scaled=True), 0.01, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.5, scaled=True), 0.05, 5e-5, 0.5, 0.5),
    _settings(_gpr(64, 0.9, scaled=True), 0.01, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.1, scaled=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.5, scaled=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.5, scaled=False), 0.01, 5e-5),
    _settings(_gpr(256, 0.2, scaled=False), 0.005, 5e-5),
    _settings(_gpr(256, 0.5, scaled=False), 0.001, 5e-4),
)
GCNII_SETTINGS = (
    _settings(GCNII((64,), depth=32, alpha=0.1, theta=0.5), 0.01, 5e-4, 0.6, 0.6),  # few labels: Cora
    _settings(GCNII((256,), depth=32, alpha=0.1, theta=0.6), 0.01, 5e-4, 0.7, 0.7),  # Citeseer
    _settings(GCNII((256,), depth=16, alpha=0.1, theta=0.4), 0.01, 5e-4, 0.5, 0.5),  # Pubmed
    _settings(GCNII((64,), depth=16, alpha=0.2, theta=0.5), 0.01, 1e-4, 0.5, 0.5),  # many labels: Cora
    _settings(GCNII((64,), depth=16, alpha=0.5, theta=0.5), 0.01, 5e-6, 0.5, 0.5),  # Citeseer
    _settings(GCNII((64,), depth=16, alpha=0.1, theta=0.5), 0.01, 5e-6, 0.5, 0.5),  # Pubmed
    _settings(GCNII((64,), depth=8, alpha=0.5, theta=1.0), 0.01, 5e-4),
    _settings(GCNII((64,), depth=4, alpha=0.2, theta=1.5), 0.01, 1e-4),
    _settings(GCNII((64,), depth=8, alpha=0.2, theta=1.0, normalize_rows=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(GCNII((256,), depth=4, alpha=0.2, theta=1.5, normalize_rows=False), 0.001, 5e-5),
    _settings(GCNII((256,), depth=8, alpha=0.5, theta=1.0, normalize_rows=False), 0.005, 5e-5),
    _settings(GCNII((512,), depth=2, alpha=0.5, theta=1.5, normalize_rows=False), 0.001, 5e-4),
)
APPNP_SETTINGS = (
    _settings(APPNP(), 0.01, 5e-3, 0.5, 0.5),  # as published, its decay on the first layer alone
    _settings(APPNP(), 0.01, 5e-4, 0.5, 0.5),
    _settings(APPNP(), 0.01, 5e-4),
    _settings(APPNP(), 0.01, 1e-5),
    _settings(APPNP(), 0.05, 5e-4, 0.5, 0.5),
    _settings(APPNP(), 0.05, 5e-5),
    _settings(APPNP(teleport=0.2), 0.01, 5e-4, 0.5, 0.5),
    _settings(APPNP(teleport=0.5), 0.01, 5e-5, 0.5, 0.5),
    _settings(APPNP(normalize_rows=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(APPNP(teleport=0.5, normalize_rows=False), 0.01, 5e-5),
    _settings(APPNP((256,), teleport=0.2, normalize_rows=False), 0.005, 5e-5),
    _settings(APPNP((256,), steps=3, teleport=0.3, normalize_rows=False), 0.001, 5e-4),
)
SGC_SETTINGS = (
    *(
        _settings(Presmoothed((), hops=hops, powers="plain"), 0.2, decay, 0.0)  # rate as published
        for hops in (2, 4)
        for decay in (1e-6, 1e-5, 5e-5, 5e-4)
    ),
    *(
        _settings(Presmoothed((), hops=hops, powers="plain", normalize_rows=False), 0.01, decay, 0.0)
        for hops in (1, 2)
        for decay in (1e-5, 5e-4)
    ),
)
_PERCEPTRONS = (
    _settings(MLP((64,), normalize_rows=True), 0.01, 5e-4),
    _settings(MLP((64,), normalize_rows=True), 0.01, 5e-3),
    _settings(MLP((64,), normalize_rows=True), 0.05, 1e-5, 0.5, 0.5),
    _settings(MLP((256,), normalize_rows=True), 0.01, 5e-4, 0.8, 0.5),
    _settings(MLP((64,)), 0.01, 5e-4),
    _settings(MLP((64,)), 0.01, 5e-4, 0.5, 0.5),
    _settings(MLP((256,)), 0.005, 5e-3, 0.8, 0.8),
    _settings(MLP((256, 256)), 0.001, 5e-4),
    _settings(MLP((256,), norm=True), 0.001, 5e-5),
    _settings(MLP((512, 512), norm=True), 0.001, 5e-4, 0.5, 0.5),
    _settings(MLP((512,), norm=True), 0.005, 5e-5, 0.5, 0.5),
)
MLP_SETTINGS = (*_PERCEPTRONS, _settings(MLP((256, 256, 256), norm=True), 0.001, 5e-5, 0.3))
# How far errors and labels spread, validation chooses besides, on each split.
CORRECT_SETTINGS = (*_PERCEPTRONS, _settings(MLP((), normalize_rows=True), 0.2, 1e-5, 0.0))
LABEL_SETTINGS = tuple(
    {"shares": (share,), "clamped": (clamped,)}
    for share in (0.1, 0.3, 0.5, 0.8, 0.9, 0.99)
    for clamped in (False, True)
)
