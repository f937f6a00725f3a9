"""What 0.1.0 trained and saved: every variant in float64, and a few model files with their answers.

`python tests/golden/cases.py` writes them anew: only for a change that is meant to change results.
"""

import sys
from pathlib import Path

import numpy as np

import kernode as kn

HERE = Path(__file__).parent
DATA = "synthetic:nodes=240,degree=6,classes=3,features=12,seed=1"
PARAMETERS = HERE / "parameters.npz"
ANSWERS = HERE / "answers.npz"
KEPT = 32  # numbers of each parameter, evenly spread, beside their sum

# By name: the variant and what is changed.
VARIANTS = (
    *("k3", "k1", "k2", "n1", "k1-gcn", "k2-gat", "presmoothed", "gcn", "gat", "jk", "fastgcn", "sgc"),
    *("appnp", "kled", "smoother", "k3-tuned"),
)
OWN_SETTINGS = {
    "margin": (0.1, 0.7), "kernel_weight": (0.1, 2.0), "learning_rate": (0.01, 0.02), "dropout": (0.2, 0.5),
    "input_dropout": (0.0, 0.4), "weight_decay": (0.0, 1e-3),
}  # fmt: skip
NODES = {
    **{name: (name, {}) for name in VARIANTS},
    "diffusion": ("k3", {"map": kn.maps.APPNP()}),  # a variant of that name, before "auto" had a family
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
    "free": ("k3", {"map": kn.maps.Free()}),
}
LINKS = ("kernel", "kernel-tuned", "gae", "vgae")
UNTRAINED = ("kled", "smoother")
_NARROW = {"map": kn.maps.HopMLP(hidden=(16,), outputs=8)}
FILES = {"k3": {}, "k1": _NARROW, "k2": _NARROW, "kled": {}, "gcn": {}, "tables": {}}
LINK_FILE = "links"
LINK_PAIRS = np.stack([np.arange(200), np.arange(40, 240)], axis=1)


def graph_and_split():
    return kn.load(DATA, split="0.5/0.25/0.25", seed=2)


def fit_nodes(name, **settings):
    variant, changes = NODES[name]
    graph, split = graph_and_split()
    epochs = {} if variant in UNTRAINED else {"epochs": 6}
    chosen = {"replicas": 2, "random_state": 3, "device": "cpu", **epochs, **changes, **settings}
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


def trained(name):
    """Summaries of what a case trains to in float64, by parameter."""
    if name == "folds":
        return summary(fit_folds(precision=64).model_.parameters)
    fit, name = (fit_links, name.removeprefix("links-")) if name.startswith("links-") else (fit_nodes, name)
    return summary(fit(name, precision=64).model_.parameters)


CASES = (*NODES, "folds", *(f"links-{name}" for name in LINKS))


def write():
    np.savez_compressed(
        PARAMETERS, **{f"{case}/{key}": value for case in CASES for key, value in trained(case).items()}
    )
    answers = {}
    for name, changes in FILES.items():
        model = fit_tables() if name == "tables" else fit_nodes(name, **changes)
        model.save(HERE / f"{name}.safetensors")
        answers[name] = model.predict_proba(np.arange(model.graph_.n_nodes))
    links = fit_links("kernel")
    links.save(HERE / f"{LINK_FILE}.safetensors")
    np.savez_compressed(ANSWERS, **answers, links=links.score_pairs(LINK_PAIRS))


if __name__ == "__main__":
    sys.exit(write())
