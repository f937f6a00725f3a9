"""The paper's methods by name, as data: every setting, each one that the paper does not state marked.

``map``, ``kernel`` and ``objective`` are Table 2's columns; widths, epochs, α, triplets and the learning
rate stand in the paper's supplement; the rest (marked where the field is defined, in
:class:`~kernode.settings.Training` and :class:`~kernode.maps.HopMLP`) is its released code's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from kernode.maps import APPNP, GAT, GCN, FastGCN, FeatureMap, HopMLP, JKConcat, Presmoothed, Smoother
from kernode.method import Method
from kernode.settings import Training


@dataclass(frozen=True)
class Variant:
    """A named method with its training settings."""

    name: str
    summary: str
    method: Method
    training: Training
    epochs_on: Mapping[str, int] = field(default_factory=dict)  # where the paper trains longer or shorter

    def training_on(self, dataset: str) -> Training:
        """Training settings for a data set."""
        return replace(self.training, epochs=self.epochs_on.get(dataset, self.training.epochs))


# L_K alone: a wide map, 10 epochs on Cora and Citeseer, 100 on Pubmed; 100 on graphs the paper does not have.
_WIDE = HopMLP(hidden=(512,), outputs=128)
_SHORT = {"cora": 10, "citeseer": 10}

VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant(
            "k3",
            "dot-product kernel, L_K and softmax together, softmax classifier (the paper's best)",
            Method(HopMLP(), Normalized(Linear()), "joint"),
            Training(),
        ),
        Variant(
            "k1",
            "dot-product kernel, L_K, nearest centroids",
            Method(_WIDE, Normalized(Linear()), "kernel"),
            Training(epochs=100),
            _SHORT,
        ),
        Variant(
            "k2",
            "RBF kernel, L_K, nearest centroids",
            Method(_WIDE, Normalized(RBF(gamma=1.0)), "kernel"),  # γ: not stated
            Training(epochs=100),
            _SHORT,
        ),
        Variant(
            "n1",
            "no kernel loss: the same map with softmax alone",
            Method(HopMLP(), Normalized(Linear()), "softmax"),
            Training(),
        ),
        Variant(
            "k1-gcn",
            "K1*: a GCN in the map's place, L_K, nearest centroids",
            Method(GCN(hidden=(512,), outputs=128), Normalized(Linear()), "kernel"),
            Training(epochs=100),
            _SHORT,
        ),
        Variant(
            "k2-gat",
            "K2*: a GAT in the map's place, L_K, nearest centroids",
            Method(GAT(hidden=(64,), outputs=8), Normalized(Linear()), "kernel"),
            Training(epochs=100),
            _SHORT,
        ),
        Variant(
            "presmoothed",
            "K3 with the hops on the features: no graph while training (like SIGN)",
            Method(Presmoothed(), Normalized(Linear()), "joint"),
            Training(),
        ),
        Variant(
            "gcn",
            "baseline: graph convolutions (Kipf & Welling 2017), softmax",
            Method(GCN(), Normalized(Linear()), "softmax"),
            Training(),
        ),
        Variant(
            "gat",
            "baseline: graph attention (Veličković et al. 2018), softmax",
            Method(GAT(), Normalized(Linear()), "softmax"),
            Training(epochs=100),
        ),
        Variant(
            "jk",
            "baseline: jumping knowledge, concatenated (Xu et al. 2018), softmax",
            Method(JKConcat(), Normalized(Linear()), "softmax"),
            Training(),
        ),
        Variant(
            "fastgcn",
            "baseline: convolutions over sampled neighbours (Chen et al. 2018), softmax",
            Method(FastGCN(), Normalized(Linear()), "softmax"),
            Training(),
        ),
        Variant(
            "sgc",
            "baseline: logistic regression on Ā²X (Wu et al. 2019)",
            Method(Presmoothed(hidden=(), powers="plain"), Normalized(Linear()), "softmax"),
            Training(learning_rate=0.2, weight_decay=1e-5),
        ),
        Variant(
            "appnp",
            "baseline: predict, then propagate (Gasteiger et al. 2019), softmax",
            Method(APPNP(), Normalized(Linear()), "softmax"),
            Training(),
        ),
        Variant(
            "smoother",
            "nothing learned: words averaged over 2 hops (Eq. 5), nearest centroids",
            Method(Smoother(hops=2), Normalized(Linear()), "kernel"),
            Training(epochs=0),
        ),
    )
}


def configure(name: str, dataset: str = "", **changes: Any) -> tuple[Method, Training]:
    """A variant's method and training settings, with changes; None leaves a setting as it is.

    Changes are fields of the variant's map, of :class:`Method` or of :class:`Training`, and ``layers``,
    which repeats the hidden width.

    >>> method, training = configure("k3", "cora", hops=3, layers=3, epochs=50)
    >>> method.map.hops, method.map.hidden, training.epochs
    (3, (16, 16), 50)
    """
    if name not in VARIANTS:
        raise InputError(f"{name!r} is not a variant. Choose one of {', '.join(VARIANTS)}.")
    variant = VARIANTS[name]
    changes = {key: value for key, value in changes.items() if value is not None}
    method = replace(variant.method, **_own(changes, Method))
    if "layers" in changes or "hidden" in changes:
        changes["hidden"] = _hidden(method.map, changes.pop("hidden", None), changes.pop("layers", None))
    method = replace(method, map=replace(method.map, **_own(changes, type(method.map))))
    training = replace(variant.training_on(dataset), **_own(changes, Training))
    if changes:
        raise InputError(f"{type(method.map).__name__} has no setting {next(iter(changes))!r}: leave it out.")
    return method, training


def _own(changes: dict[str, Any], owner: Any) -> dict[str, Any]:
    """Take out of the changes those that a dataclass has as fields."""
    return {field.name: changes.pop(field.name) for field in fields(owner) if field.name in changes}


def _hidden(feature_map: FeatureMap, hidden: Any, layers: int | None) -> tuple[int, ...]:
    if layers is not None and layers < 1:
        raise InputError(f"layers must be an integer ≥ 1. Got {layers}.")
    usual = getattr(feature_map, "hidden", ())
    widths = tuple(np.atleast_1d(usual if hidden is None else hidden).tolist())
    if layers is None or len(widths) == layers - 1:
        return widths
    if len(widths) > 1:
        raise InputError(f"{layers} layers have {layers - 1} hidden widths. Got hidden={widths}.")
    return widths[:1] * (layers - 1)
