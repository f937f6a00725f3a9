"""The methods that can be compared: the paper's with its parts exchanged, and today's peers at their best.

Validation accuracy picks one of a method's candidates, so none is favoured by a search that another did not
have, and no test node ever chooses anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from kernode.errors import InputError
from kernode.studies.compare import rivals
from kernode.tasks.classes.variants import AUTO, CHOICES, VARIANTS

BUDGET = 4  # candidates of K3 and of what it is without one of its parts; rivals have more


@dataclass(frozen=True)
class Contestant:
    """A variant with changes, and what to choose from: values of some settings, or a list of whole ones."""

    name: str
    title: str
    variant: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    listed: tuple[Mapping[str, Any], ...] = ()

    def candidates(self) -> list[dict[str, Any]]:
        """What is listed, or every combination of the choices."""
        if self.listed:
            return [dict(one) for one in self.listed]
        return [dict(zip(self.choices, values, strict=True)) for values in product(*self.choices.values())]


# The width is the same for all: 16, the paper's and GCN's, is too narrow for graphs of many classes.
_WIDE = {"hidden": (64,)}
_USUAL = {"weight_decay": (1e-5, 5e-4), "input_dropout": (0.0, 0.5)}

CONTESTANTS = {
    one.name: one
    for one in (
        Contestant("k3", "K3", "k3", _WIDE, _USUAL),
        # `kernode fit` where nothing is said, without what was searched for on a data set; its candidates are
        # those of "auto", and it chooses among them on each split alone, as it does for a user.
        Contestant("default", "the default", AUTO),
        Contestant("n1", "N1: K3 without L_K", "n1", _WIDE, _USUAL),
        Contestant("k3-c1", "K3 with ω = 1, not learned", "k3", _WIDE | {"hop_weights": 1.0}, _USUAL),
        Contestant("k3-plain", "K3 without exact-hop masks", "k3", _WIDE | {"powers": "plain"}, _USUAL),
        # What the authors' program intends, and what it computes: kernode.hops.hop_matrices.
        Contestant("k3-last", "K3, every hop from Ā²", "k3", _WIDE | {"powers": "last"}, _USUAL),
        Contestant("k3-released", "K3, diag(Ā²) and Ā²", "k3", _WIDE | {"powers": "released"}, _USUAL),
        # What searches on the citation graphs agree on: ω = 1, much dropout on X, a heavier L_K.
        Contestant(
            "k3-heavy", "K3, heavier L_K, ω = 1", "k3",
            {"hidden": (128,), "hop_weights": 1.0, "learning_rate": 0.015, "kernel_weight": 1.0,
             "margin": 0.5},
            {"weight_decay": (1e-4, 5e-3), "input_dropout": (0.3, 0.7)},
        ),
        Contestant("gcn", "GCN", "gcn", listed=rivals.GCN_SETTINGS),
        Contestant("appnp", "APPNP", "appnp", listed=rivals.APPNP_SETTINGS),
        Contestant("gat", "GAT", "gat", listed=rivals.GAT_SETTINGS),
        Contestant("sgc", "SGC", "sgc", listed=rivals.SGC_SETTINGS),
        Contestant("sage", "GraphSAGE", "sage", listed=rivals.SAGE_SETTINGS),
        Contestant("gprgnn", "GPRGNN", "n1", listed=rivals.GPRGNN_SETTINGS),
        Contestant("gcnii", "GCNII", "gcnii", listed=rivals.GCNII_SETTINGS),
        Contestant("mlp", "MLP", "mlp", listed=rivals.MLP_SETTINGS),
        Contestant(
            "label-propagation", "label propagation", "label-propagation", listed=rivals.LABEL_SETTINGS
        ),
        Contestant(
            "correct-and-smooth", "Correct & Smooth", "correct-and-smooth", listed=rivals.CORRECT_SETTINGS
        ),
    )
}  # fmt: skip


def contestant(name: str) -> Contestant:
    """A contestant by name: one of ours, or any variant as it is."""
    if name in CONTESTANTS:
        return CONTESTANTS[name]
    if name in (*CHOICES, *VARIANTS):
        return Contestant(name, name, name)
    known = dict.fromkeys((*CONTESTANTS, *CHOICES, *VARIANTS))
    raise InputError(f"{name!r} is not a variant to compare. Choose some of {', '.join(known)}.")
