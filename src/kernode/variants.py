"""The paper's methods by name, as data: every setting, each one that the paper does not state marked.

``map``, ``kernel`` and ``objective`` are Table 2's columns; widths, epochs, α, triplets and the learning
rate stand in the paper's supplement; the rest (marked where the field is defined, in
:class:`~kernode.training.Training` and :class:`~kernode.maps.HopMLP`) is its released code's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from kernode.maps import HopMLP, Smoother
from kernode.method import Method
from kernode.training import Training


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
            "smoother",
            "nothing learned: words averaged over 2 hops (Eq. 5), nearest centroids",
            Method(Smoother(hops=2), Normalized(Linear()), "kernel"),
            Training(epochs=0),
        ),
    )
}


def variant_named(name: str) -> Variant:
    """Look a variant up.

    >>> variant_named("k1").training_on("cora").epochs
    10
    """
    if name not in VARIANTS:
        raise InputError(f"{name!r} is not a variant. Choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]
