"""What is trained in float64 and compared with what a release trained, by the release that first had it."""

from pathlib import Path

import numpy as np

import kernode as kn
from kernode.maps import (
    ConcatMap,
    DiffusedComponents,
    Diffusion,
    HopMLP,
    HopNet,
    HopStages,
    NodeEmbedding,
    Standardized,
)

HERE = Path(__file__).parent
DATA = "synthetic:nodes=240,degree=6,classes=3,features=12,seed=1"
KEPT = 32  # numbers of each parameter, evenly spread, and their sum

# By name: the variant and what is changed.
_VARIANTS_0_1_0 = (
    *("k3", "k1", "k2", "n1", "k1-gcn", "k2-gat", "presmoothed", "gcn", "gat", "sgc"),
    *("appnp", "smoother", "k3-tuned"),
)
OWN_SETTINGS = {
    "margin": (0.1, 0.7), "kernel_weight": (0.1, 2.0), "learning_rate": (0.01, 0.02), "dropout": (0.2, 0.5),
    "input_dropout": (0.0, 0.4), "weight_decay": (0.0, 1e-3),
}  # fmt: skip
_NODES_0_1_0 = {
    **{name: (name, {}) for name in _VARIANTS_0_1_0},
    "diffusion": (
        "k3",
        {"map": Diffusion(hop_weights="pagerank", biases=False)},
    ),  # a variant of that name, before "auto" had a family
    "similarity": ("k1", {"margin": 0.5, "select_by": "map"}),  # what it was before it was a choice
    "k3-squared": ("k3", {"kernel_loss": "squared"}),
    "k1-logistic": ("k1", {"kernel_loss": "logistic", "hidden": 16}),
    "k3-balanced": ("k3", {"class_weights": "balanced"}),
    "k3-last-operator": ("k3", {"powers": "last", "hops": 3}),
    "k3-plain-operator": ("k3", {"powers": "plain", "hop_weights": 0.5}),
    "k3-per-replica": ("k3", OWN_SETTINGS),
    "k3-by-map": ("k3", {"select_by": "map"}),
    "k3-last-epoch": ("k3", {"selection": "last"}),
    "k2-learned-width": ("k2", {"kernel": kn.kernels.RBF(gamma=0.5, learned=True), "hidden": 16}),
    "free": ("k3", {"map": NodeEmbedding()}),
}
_NARROW = Diffusion((16,), 8, hops=4, hop_weights="pagerank")
_NODES_0_2_0 = {
    **{
        name: (name, {"hidden": 16})
        for name in (
            *("diffusion", "diffusion-decayed", "diffusion-scaled", "diffusion-wide", "hops", "hops-scaled"),
            *("hops-standardized", "similarity-diffusion", "similarity-hops", "similarity-standardized"),
            *("gcn-tuned", "sage", "gat-tuned", "gcnii", "mlp"),
        )
    },
    "correct-and-smooth": ("correct-and-smooth", {}),
    "label-propagation": ("label-propagation", {}),
    "similarity-open": ("similarity-open", {"map": ConcatMap(_NARROW, DiffusedComponents(6), share=0.5)}),
    "components": ("smoother", {"map": DiffusedComponents(6)}),
    "stages": ("k3", {"map": HopStages((16, 16), hops=2)}),
    "family": ("k3", {"map": Standardized(HopNet((16, 16), residual=True, self_loop=True))}),
    "released": ("k3", {"powers": "released", "hops": 3}),
    "averaging": ("k3", {"averaging": 0.9}),
}
NODES = {"0.1.0": _NODES_0_1_0, "0.2.0": _NODES_0_2_0}
LINKS = {"0.1.0": ("kernel", "kernel-tuned", "gae", "vgae"), "0.2.0": ("auto",)}
UNTRAINED = ("kled", "smoother", "label-propagation")


def graph_and_split():
    return kn.load(DATA, split="0.5/0.25/0.25", seed=2)


def fit_nodes(variant, **settings):
    graph, split = graph_and_split()
    epochs = {} if variant in UNTRAINED else {"epochs": 6}
    chosen = {"replicas": 2, "random_state": 3, "device": "cpu", **epochs, **settings}
    model = kn.NodeKernelClassifier(variant, **chosen)
    return model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)


def fit_folds(**settings):
    """Without validation nodes folds choose the epoch, then all nodes teach: what was the default."""
    graph, split = graph_and_split()
    chosen = {"epochs": 6, "replicas": 2, "random_state": 3, "device": "cpu", **settings}
    model = kn.NodeKernelClassifier("k3-tuned", **chosen)
    return model.fit(split.train, graph.labels[split.train], graph=graph)


def fit_links(name, **settings):
    graph, _ = graph_and_split()
    return kn.LinkPredictor(name, epochs=6, replicas=2, random_state=3, device="cpu", **settings).fit(graph)


def fit_embedding(**settings):
    graph, _ = graph_and_split()
    chosen = {"epochs": 6, "replicas": 2, "random_state": 3, "device": "cpu", **settings}
    return kn.LinkKernelTransformer(map=HopMLP((16,), 8), **chosen).fit(graph)


def own_tables():
    """A small graph from tables, messy enough to need repairs."""
    edges = {"source": [f"p{i}" for i in range(30)], "target": [f"p{(7 * i + 1) % 30}" for i in range(30)]}
    nodes = {
        "id": [f"p{i}" for i in range(30)] + ["p3"],
        "year": [None if i == 4 else 1990 + i for i in range(31)],
        "venue": [("a", "b", "c")[i % 3] for i in range(31)],
        "title": [f"word{i % 5} word{i % 3} common" for i in range(31)],
        # The row that repeats p3 tells no class: another than before is refused since 0.2.
        "topic": [("x", "y")[i % 2] if i % 4 and i < 30 else None for i in range(31)],
    }
    return edges, nodes


def fit_tables():
    graph = kn.read_table(*own_tables(), label="topic")
    known = np.flatnonzero(graph.labels >= 0)
    names = np.array(graph.class_names)[graph.labels[known]]
    return kn.NodeKernelClassifier("k3", epochs=6, device="cpu", selection="last").fit(
        known, names, graph=graph
    )


def summary(parameters):
    """A few numbers of each parameter and their sum, by name."""
    found = {}
    for name, value in parameters.items():
        flat = np.asarray(value, dtype=np.float64).ravel()
        at = np.unique(np.linspace(0, len(flat) - 1, min(KEPT, len(flat))).astype(int))
        found[name] = np.append(flat[at], flat.sum())
    return found


def trained(release, name):
    """Summaries of what a case trains to in float64, by parameter."""
    if name == "folds":
        return summary(fit_folds(precision=64).model_.parameters)
    if name == "embedding":
        return summary(fit_embedding(precision=64).model_.parameters)
    if name.startswith("links-"):
        variant = {"auto": "fast"}.get(link := name.removeprefix("links-"), link)  # what it was then
        return summary(fit_links(variant, precision=64).model_.parameters)
    variant, changes = NODES[release][name]
    return summary(fit_nodes(variant, precision=64, **changes).model_.parameters)


_OTHERS = {"0.1.0": ("folds",), "0.2.0": ("embedding",)}
CASES = [
    (release, name)
    for release in NODES
    for name in (*NODES[release], *_OTHERS[release], *(f"links-{link}" for link in LINKS[release]))
]
