"""Today's peers at their best: for each a list of whole settings, of which validation picks one.

The lists hold what was published for graphs of each kind (Luo, Shi and Wu 2024 for GCN, GraphSAGE and GAT,
whose settings are named after the graph that they were tuned for; the others as their papers have them), and
around it raw and scaled rows, learning rates, widths and decays. No rival has fewer than ``CANDIDATES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kernode.maps import GAT, GCN, GCNII, MLP, ClassicGNN, Diffusion, FeatureMap, Presmoothed

CANDIDATES = 6  # of every rival: as many as "auto" has

Settings = Mapping[str, Any]


def _settings(
    feature_map: FeatureMap, learning_rate: float, weight_decay: float, dropout: float = 0.5,
    input_dropout: float = 0.0,
) -> Settings:  # fmt: skip
    """A candidate; training goes on while validation rises, as long as that of "auto"."""
    return {
        "map": feature_map, "learning_rate": learning_rate, "weight_decay": weight_decay, "dropout": dropout,
        "input_dropout": input_dropout, "epochs": 1000, "patience": 200,
    }  # fmt: skip


def _classic(layer: Literal["gcn", "sage", "gat"], width: int, depth: int, residual: bool) -> FeatureMap:
    """As Luo, Shi and Wu have it: raw rows with LayerNorm."""
    return ClassicGNN(layer, (width,) * depth, norm=True, residual=residual, normalize_rows=False)


def _sage(width: int, scaled: bool) -> FeatureMap:
    """GraphSAGE as published: two layers, nothing between but relu."""
    return ClassicGNN("sage", (width,), norm=False, residual=False, head=False, normalize_rows=scaled)


# Settings that share a map train as one stack: what a rival may try costs no more than it must.
GCN_SETTINGS = (
    _settings(_classic("gcn", 512, 3, residual=False), 0.001, 5e-5),  # Luo et al., Computers
    _settings(_classic("gcn", 512, 3, residual=False), 0.005, 5e-4, 0.7),
    _settings(_classic("gcn", 512, 2, residual=True), 0.001, 5e-4, 0.3),  # Luo et al., CS
    _settings(GCN((64,)), 0.01, 5e-4, 0.5, 0.5),  # Kipf and Welling, wider
    _settings(GCN((64,)), 0.05, 5e-5),
    _settings(GCN((256,), normalize_rows=False), 0.005, 5e-4, 0.5, 0.5),
)
SAGE_SETTINGS = (
    _settings(_classic("sage", 512, 2, residual=True), 0.001, 5e-4),  # Luo et al., CS
    _settings(_classic("sage", 512, 2, residual=True), 0.005, 5e-5),
    _settings(_classic("sage", 64, 6, residual=True), 0.001, 5e-5, 0.2),  # Luo et al., Photo
    _settings(_sage(64, scaled=True), 0.01, 5e-4, 0.5, 0.5),  # Hamilton et al.
    _settings(_sage(64, scaled=True), 0.05, 5e-5),
    _settings(_sage(256, scaled=False), 0.005, 5e-5, 0.5, 0.5),
)
GAT_SETTINGS = (
    _settings(_classic("gat", 64, 3, residual=True), 0.001, 5e-5),  # Luo et al., Photo
    _settings(_classic("gat", 64, 3, residual=True), 0.005, 5e-4),
    _settings(_classic("gat", 256, 1, residual=True), 0.001, 5e-4, 0.3),  # Luo et al., CS
    _settings(GAT((64,), attention_dropout=0.6), 0.005, 5e-4, 0.0),  # Veličković et al.
    _settings(GAT((64,), attention_dropout=0.6), 0.01, 1e-3, 0.0),  # the same, Pubmed
    _settings(GAT((64,), attention_dropout=0.4, normalize_rows=False), 0.005, 5e-4, 0.0),
)


def _gpr(width: int, teleport: float, scaled: bool) -> FeatureMap:
    """Chien et al.: ten plain hops whose weights are learned from a personalised-PageRank start."""
    return Diffusion((width,), teleport=teleport, normalize_rows=scaled)


def _appnp(width: int = 64, teleport: float = 0.1, scaled: bool = True) -> FeatureMap:
    """Gasteiger et al.: the same with PageRank's weights, and no biases."""
    return Diffusion((width,), hop_weights="pagerank", teleport=teleport, biases=False, normalize_rows=scaled)


GPRGNN_SETTINGS = (
    _settings(_gpr(64, 0.1, scaled=True), 0.01, 5e-4, 0.5, 0.5),  # as published
    _settings(_gpr(64, 0.1, scaled=True), 0.05, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.1, scaled=True), 0.05, 0.0),
    _settings(_gpr(64, 0.1, scaled=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(_gpr(64, 0.1, scaled=False), 0.01, 5e-5),
    _settings(_gpr(64, 0.5, scaled=True), 0.01, 5e-4, 0.5, 0.5),
)
GCNII_SETTINGS = (
    _settings(GCNII((64,), depth=16, alpha=0.2, theta=0.5), 0.01, 1e-4, 0.5, 0.5),  # many labels: Cora
    _settings(GCNII((64,), depth=16, alpha=0.2, theta=0.5), 0.01, 5e-4, 0.6, 0.6),
    _settings(GCNII((64,), depth=16, alpha=0.1, theta=0.5, normalize_rows=False), 0.01, 5e-6, 0.5, 0.5),
    _settings(GCNII((64,), depth=16, alpha=0.1, theta=0.5, normalize_rows=False), 0.005, 5e-4),
    _settings(GCNII((256,), depth=4, alpha=0.2, theta=1.5, normalize_rows=False), 0.001, 5e-5),
    _settings(GCNII((256,), depth=4, alpha=0.2, theta=1.5, normalize_rows=False), 0.005, 5e-4),
)
APPNP_SETTINGS = (
    _settings(_appnp(), 0.01, 5e-3, 0.5, 0.5),  # as published, its decay on the first layer alone
    _settings(_appnp(), 0.01, 5e-4, 0.5, 0.5),
    _settings(_appnp(), 0.05, 5e-5),
    _settings(_appnp(scaled=False), 0.01, 5e-3, 0.5, 0.5),
    _settings(_appnp(scaled=False), 0.01, 5e-4, 0.5, 0.5),
    _settings(_appnp(256, 0.2, scaled=False), 0.005, 5e-5),
)
SGC_SETTINGS = (
    *(_settings(Presmoothed((), powers="plain"), 0.2, decay, 0.0) for decay in (1e-6, 1e-5, 5e-4)),
    _settings(Presmoothed((), hops=4, powers="plain"), 0.2, 1e-5, 0.0),  # rate as published
    *(
        _settings(Presmoothed((), powers="plain", normalize_rows=False), 0.01, decay, 0.0)
        for decay in (1e-5, 5e-4)
    ),
)
MLP_SETTINGS = (
    _settings(MLP((64,), normalize_rows=True), 0.01, 5e-4),
    _settings(MLP((64,), normalize_rows=True), 0.01, 5e-3, 0.5, 0.5),
    _settings(MLP((256,)), 0.01, 5e-4, 0.5, 0.5),
    _settings(MLP((256,)), 0.005, 5e-3, 0.8, 0.8),
    _settings(MLP((512,), norm=True), 0.005, 5e-5, 0.5, 0.5),
    _settings(MLP((512,), norm=True), 0.001, 5e-4, 0.5, 0.5),
)
CORRECT_SETTINGS = MLP_SETTINGS  # how far errors and labels spread, validation chooses besides, on each split
LABEL_SETTINGS = tuple(
    {"shares": (share,), "clamped": (clamped,)} for share in (0.5, 0.9, 0.99) for clamped in (False, True)
)
