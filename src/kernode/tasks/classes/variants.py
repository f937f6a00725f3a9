"""The paper's methods by name, as data: every setting, each one that the paper does not state marked.

``map``, ``kernel`` and ``loss`` are Table 2's columns; widths, epochs, α, triplets and the learning rate
stand in the paper's supplement; the rest (marked where the field is defined, in
:class:`~kernode.training.settings.Training`, :class:`~kernode.maps.HopMLP` and :mod:`kernode.losses`) is its
released code's. What each is, in words, stands in descriptions.py.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from kernode.graph import Graph
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge, Joint, Softmax
from kernode.maps import (
    GAT,
    GCN,
    GCNII,
    MLP,
    ClassicGNN,
    ConcatMap,
    Diffusion,
    FeatureMap,
    HopMLP,
    HopNet,
    OnColumns,
    Presmoothed,
    Smoother,
    Stages,
    Standardized,
)
from kernode.maps.graph_kernel import GraphKernelMap
from kernode.models.variants import Catalogue, Choice, Found, Tuned, Variant, known_name
from kernode.tasks.classes.kernel_ridge import Instant
from kernode.tasks.classes.logistic_regression import LogisticRegression
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.propagation import CorrectAndSmooth, LabelPropagation
from kernode.training.settings import Training

AUTO, BEST, FAST = "auto", "best", "fast"
# What "fast" chooses from: one member is trained to its end.
CANDIDATES = (
    "diffusion",
    "hops",
    "diffusion-decayed",
    "hops-standardized",
    "diffusion-scaled",
    "diffusion-wide",
)
# What "auto" sums, with weights by validation: members that differ in what they look at. A new one is an
# entry here and in VARIANTS. Members and settings were chosen by validation nodes of the development graphs
# (benchmarks/graph_lists.py). "edges", a graph kernel alone, was tried: on none of them did it get a weight.
MEMBERS = (
    "diffusion",  # GPRGNN with 0.1 L_K: ten plain hops, learned weights; alone where nothing validates
    "instant",  # Eq. 5's smoother as a kernel, untrained: the first answer
    "linear",  # logistic regression on x: strong text needs no network
    "neighbours",  # the same on x and the rows of A, each neighbour a word (LINKX)
    "features",  # an MLP on x: where edges say little
    "diffusion-decayed",  # APPNP: few labels
    "hops",  # Eq. 7 with L_K, two exact hops, raw features
    "hops-standardized",  # the same on standardised columns
    "k3-tuned",  # K3, rows of X scaled to sum 1
    "structure",  # degree, PageRank, eigenvectors of Ā: where features say little
    "stages",  # Eq. 7's one-hop shell, stacked: heterophilous graphs
    "stages-wide",  # four stages, 256 wide: dense graphs
    "stages-deep",  # twelve stages trained long: answers that depend on distant nodes
)
COSTLY = ("stages-wide", "stages-deep")  # "auto" trains them on a GPU, "best" everywhere
WORDS = "words"  # any graph with a sparse X that is not a built-in data set
# Settings that searches found by data set. No test node of FastGCN's split had a part in any of it. On other
# splits they are not used.

# What "fast" is on FastGCN's split: a variant, and what is changed in it. Random settings of the family (216
# on Citeseer, 368 on Cora), each on five random divisions of the training and validation nodes into some that
# train, some that choose the epoch and some that judge. On Pubmed its candidates and K3 as found below, on
# five divisions: "diffusion" and K3 were level, and K3 takes less time.
FOUND_AUTO: Found = {
    "cora": ("diffusion-decayed", {"input_dropout": 0.7, "averaging": 0.95}),  # 88.12 % of those that judged
    "citeseer": ("hops-scaled", {}),  # 76.32 %
    "pubmed": ("k3-tuned", {}),  # 90.68 %, with "diffusion" 90.61 %
}

# Cross-validation in 4 folds over training and validation nodes (`kernode tune cora --variant k3 --trials 192
# --batch 64 --folds 4`; Citeseer likewise, Pubmed 96 trials).
FOUND_K3: Tuned = {
    "cora": {  # validation accuracy 90.11 %
        "hidden": (64,), "hops": 2, "powers": "last", "hop_weights": 1.0, "normalize_rows": False,
        "learning_rate": 0.01544, "weight_decay": 0.009041, "dropout": 0.6326, "input_dropout": 0.628,
        "kernel_weight": 1.615, "margin": 0.09272,
    },
    "citeseer": {  # 77.64 %
        "hidden": (256,), "hops": 3, "powers": "each", "hop_weights": 1.0, "normalize_rows": True,
        "learning_rate": 0.01819, "weight_decay": 0.0006815, "dropout": 0.06404, "input_dropout": 0.6925,
        "kernel_weight": 0.6648, "margin": 0.6803,
    },
    "pubmed": {  # 90.70 %
        "hidden": (256,), "hops": 3, "powers": "each", "hop_weights": 1.0, "normalize_rows": True,
        "learning_rate": 0.02688, "weight_decay": 2.093e-05, "dropout": 0.4502, "input_dropout": 0.1832,
        "kernel_weight": 2.746, "margin": 0.912,
    },
}  # fmt: skip

# What "similarity" is there, by random divisions of the training and validation nodes into some that train,
# some that choose the epoch and some that judge: on Cora four (82.56 % mAP of those that judged), on Citeseer
# six (64.88 %, with the margin, decay and epochs of an earlier search, which were rounded afterwards).
FOUND_SIMILARITY: Found = {
    "cora": ("similarity-diffusion", {}),
    "citeseer": ("similarity-hops", {}),
}

# What validates is accuracy, or mAP where the candidates' training says so.
CHOICES = {
    # In a sum a patience of 100 lost nothing on the development graphs' validation nodes, next to 200.
    AUTO: Choice(MEMBERS, "k3-tuned", sums=True, patience=100),
    BEST: Choice(MEMBERS, "k3-tuned", sums=True, patience=100),
    FAST: Choice(CANDIDATES, "k3-tuned", FOUND_AUTO),
    "similarity": Choice(
        ("similarity-diffusion", "similarity-hops", "similarity-standardized"),
        "similarity-diffusion",
        FOUND_SIMILARITY,
    ),
}

_DOT = Normalized(Linear())
# L_K alone: a wide map, 10 epochs on Cora and Citeseer, 100 on Pubmed; 100 on graphs the paper does not have.
_WIDE = HopMLP(hidden=(512,), outputs=128)
_SHORT = {"cora": {"epochs": 10}, "citeseer": {"epochs": 10}}

# The paper's own.
_PAPER = {
    "k3": Variant(Method(HopMLP(), _DOT, Joint()), Training()),
    "k1": Variant(Method(_WIDE, _DOT, Hinge()), Training(epochs=100), _SHORT),
    "k2": Variant(
        Method(_WIDE, Normalized(RBF(gamma=1.0)), Hinge()),  # γ: not stated
        Training(epochs=100),
        _SHORT,
    ),
    "n1": Variant(Method(HopMLP(), _DOT, Softmax()), Training()),
    # The paper trains these two for 10 epochs on Cora and Citeseer, which from the published start of GCN and
    # GAT is too short. Epochs, rates, dropout and raw rows were chosen on Cora's and Citeseer's validation
    # nodes, in two rounds: docs/systems.md says what the first gave.
    "k1-gcn": Variant(
        Method(GCN(hidden=(512,), outputs=128, normalize_rows=False), _DOT, Hinge()),
        Training(epochs=100, dropout=0.8),
    ),
    "k2-gat": Variant(
        Method(GAT(hidden=(64,), outputs=8, attention_dropout=0.4), _DOT, Hinge()),
        Training(epochs=200, learning_rate=0.005),
    ),
}

# The systems it is compared with, softmax classifier. Settings that are not the published ones were
# chosen by mean validation accuracy over Cora, Citeseer and Pubmed (FastGCN split, 4 runs each).
_LONG = Training(epochs=1000, learning_rate=0.001, weight_decay=5e-5, patience=200)  # as GNNs are tuned today
_BASELINES = {
    "presmoothed": Variant(Method(Presmoothed(), _DOT, Joint()), Training(learning_rate=0.05)),
    "gcn": Variant(Method(GCN(), _DOT, Softmax()), Training(weight_decay=1e-4)),
    "gat": Variant(Method(GAT(attention_dropout=0.4), _DOT, Softmax()), Training(epochs=100)),
    "sgc": Variant(
        Method(Presmoothed(hidden=(), powers="plain"), _DOT, Softmax()),
        Training(learning_rate=0.2, weight_decay=1e-5),
    ),
    "appnp": Variant(Method(Diffusion(hop_weights="pagerank", biases=False), _DOT, Softmax()), Training()),
    "gcn-tuned": Variant(Method(ClassicGNN("gcn", (256, 256)), _DOT, Softmax()), _LONG),
    "sage": Variant(Method(ClassicGNN("sage", (256, 256)), _DOT, Softmax()), _LONG),
    "gat-tuned": Variant(Method(ClassicGNN("gat", (64, 64)), _DOT, Softmax()), _LONG),
    "gcnii": Variant(
        Method(GCNII(), _DOT, Softmax()), Training(epochs=1000, weight_decay=1e-4, patience=200)
    ),
    "mlp": Variant(Method(MLP(), _DOT, Softmax()), Training(epochs=500, patience=100)),
    "label-propagation": Variant(LabelPropagation(), Training(epochs=0)),
    "correct-and-smooth": Variant(CorrectAndSmooth(), Training(epochs=500, patience=100)),
    "smoother": Variant(Method(Smoother(hops=2), _DOT, Hinge()), Training(epochs=0)),
}


def _on_words(rate: float) -> Tuned:
    """Dropout on X where its columns are words, of which a node has many; no other columns can be spared."""
    return {key: {"input_dropout": rate} for key in (WORDS, *FOUND_K3)}


def _member(feature_map: FeatureMap, loss: Joint | Softmax, words: float, **training: Any) -> Variant:
    """A candidate of "fast" or a member of "auto", trained while validation rises.

    On the development graphs' curves a patience of 100 lost up to 1.1 points of validation (Photo), 200 none.
    """
    settings = Training(**{"epochs": 1000, "patience": 200, **training})
    return Variant(Method(feature_map, _DOT, loss), settings, _on_words(words))


def _similar(feature_map: FeatureMap, margin: float, words: float, **training: Any) -> Variant:
    """One that is trained and chosen for finding similar nodes."""
    settings = Training(epochs=300, patience=60, select_by="map", **training)
    return Variant(Method(feature_map, _DOT, Hinge(margin=margin)), settings, _on_words(words))


_RAW: Any = {"normalize_rows": False}
_PAGERANK: Any = {"hop_weights": "pagerank"}
# Of 2, 4 and 8 stages, 64 and 128 wide, rates 0.003 to 0.01 and dropout 0.2 and 0.5, by the validation loss
# on squirrel_filtered, tolokers and Cora.
_STACKED: Any = {"learning_rate": 0.01, "weight_decay": 1e-4, "dropout": 0.2, "patience": 100}
_NEAR: Any = {"learning_rate": 0.01, "weight_decay": 0.0, "dropout": 0.8, "averaging": 0.95}

# The family that "fast" chooses from: Eq. 7 with two exact hops, and with ten plain ones from a
# personalised-PageRank start. Fixed on training and validation nodes alone, of seven graphs and with 5 and 20
# labels per class of some: docs/comparison.md says what was looked at. Parameters are averaged over epochs
# where two hops are summed; over ten it gained nothing, and with 5 labels per class cost up to two points.
_FAMILY = {
    "diffusion": _member(
        Diffusion(hidden=(128,), **_RAW), Joint(kernel_weight=0.1), 0.3,
        learning_rate=0.03, weight_decay=1e-4, dropout=0.8,
    ),
    "hops": _member(
        HopNet(hidden=(256,), **_RAW, self_loop=True), Joint(kernel_weight=1.0), 0.3, **_NEAR,
    ),
    "diffusion-decayed": _member(
        Diffusion(hidden=(64,), **_RAW, **_PAGERANK), Softmax(), 0.5,
        learning_rate=0.01, weight_decay=5e-3, dropout=0.5,
    ),
    "hops-standardized": _member(
        Standardized(HopNet(hidden=(256,), **_RAW)), Joint(kernel_weight=1.0), 0.3, **_NEAR,
    ),
    "diffusion-scaled": _member(
        Diffusion(hidden=(64,), **_PAGERANK), Softmax(), 0.5,
        learning_rate=0.01, weight_decay=5e-4, dropout=0.5,
    ),
    # Begins faster than the others of ten hops where rows hold much, as a shop's products do.
    "diffusion-wide": _member(
        Diffusion(hidden=(256,), **_RAW, **_PAGERANK, teleport=0.2), Softmax(), 0.0,
        learning_rate=0.005, weight_decay=5e-5, dropout=0.5,
    ),
    "stages": _member(
        Standardized(Stages((64,) * 8)), Softmax(), 0.5, **_STACKED,
    ),
    "structure": _member(
        OnColumns(Stages((64,) * 8)), Softmax(), 0.0, **_STACKED,
    ),
    "features": _member(
        Standardized(MLP((256,), **_RAW)), Softmax(), 0.5,
        learning_rate=0.003, weight_decay=1e-4, dropout=0.5,
    ),
    "stages-wide": _member(
        Standardized(Stages((256,) * 4)), Softmax(), 0.5,
        learning_rate=0.003, weight_decay=1e-4, dropout=0.5, epochs=600, patience=150,
    ),
    # Without early stopping: on graphs where distant nodes decide, it rises for more than 1,000 epochs.
    "stages-deep": _member(
        Stages((64,) * 12), Softmax(), 0.5, **_STACKED | {"epochs": 2000, "patience": None},
    ),
    # No longer tried: of slow starters the choice keeps none. It is what a search found for Citeseer.
    "hops-scaled": _member(
        HopNet(hidden=(128,), hop_weights=1.0), Joint(kernel_weight=0.1), 0.6,
        learning_rate=0.03, weight_decay=1e-4, dropout=0.8, averaging=0.95,
    ),
}  # fmt: skip

# Not in the paper. "k3-tuned": on the citation graphs with what `kernode tune` found,
# elsewhere K3 with the width, decay and dropout on X that validation picked most often on the random splits
# of seven graphs (docs/comparison.md).
_OWN = {
    "k3-tuned": Variant(
        Method(HopMLP(hidden=(64,)), _DOT, Joint()),
        Training(weight_decay=1e-5),
        _on_words(0.5),
        FOUND_K3,
    ),
}

# For finding similar nodes: L_K alone, and the epoch whose ranking of the validation nodes is best (mAP).
# Fixed on training and validation nodes of Cora and Citeseer (docs/comparison.md).
_NEAR_MAP = Diffusion(hidden=(256,), outputs=32, **_RAW, **_PAGERANK)
_SIMILAR = {
    "similarity-diffusion": _similar(_NEAR_MAP, 0.5, 0.5, weight_decay=5e-4, dropout=0.8),
    "similarity-hops": _similar(
        HopMLP(hidden=(64,), outputs=128, hop_weights=1.0), 0.75, 0.8,
        learning_rate=0.003, weight_decay=0.01, dropout=0.55,
    ),
    "similarity-standardized": _similar(
        Standardized(HopNet(hidden=(256,), outputs=32, **_RAW)), 0.5, 0.3, **_NEAR,
    ),
    # Side by side with features that no label has touched: nodes of unknown classes stay apart.
    "similarity-open": _similar(ConcatMap(_NEAR_MAP, share=0.95), 0.5, 0.5, weight_decay=5e-4, dropout=0.8),
}  # fmt: skip

# Eq. 5's smoother as a kernel, and a ridge regression on it: an answer in seconds.
_UNTRAINED = Training(epochs=0, selection="last")
_CLOSED = {
    "instant": Variant(Instant(), _UNTRAINED),
    "edges": Variant(Instant(GraphKernelMap()), _UNTRAINED),
    "linear": Variant(LogisticRegression(), _UNTRAINED),
    "neighbours": Variant(LogisticRegression(OnColumns(MLP((), **_RAW), columns="all")), _UNTRAINED),
}

VARIANTS: dict[str, Variant] = _CLOSED | _PAPER | _BASELINES | _FAMILY | _OWN | _SIMILAR

_CATALOGUE = Catalogue(VARIANTS, CHOICES)
configure, candidates = _CATALOGUE.configure, _CATALOGUE.candidates


def is_sum(name: Any) -> bool:
    """Whether a name stands for a sum of kernels."""
    choice = CHOICES.get(str(name).lower())
    return choice is not None and choice.sums


def settings_key(graph: Graph) -> str:
    """Return the key of a variant's settings for a graph: its name, or whether its features are words."""
    return known_name(graph) or (WORDS if sparse.issparse(graph.features) else "")
