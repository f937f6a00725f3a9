"""What to train on: the same nodes, edges and places in every file, in float64 by default."""

from functools import lru_cache

import numpy as np

from graphs import CLUSTERS, number_graph
from kernode.compute.tensor_options import TensorOptions
from kernode.estimators.classifier import NodeKernelClassifier
from kernode.estimators.regressor import NodeKernelRegressor
from kernode.io.edge_split import split_edges
from kernode.io.node_split import random_split
from kernode.metrics.ranking import retrieval_by_blocks
from kernode.models.fit import fit_candidates
from kernode.models.overrides import by_part
from kernode.models.variants import Choice
from kernode.tasks.classes import sum as sum_of_kernels
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.classes.variants import CHOICES
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.task import LinkTask
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import Training

DOUBLE, SINGLE = TensorOptions.of(64), TensorOptions.of(32)
NO_NODES = np.empty((1, 0), np.int64)
SHORT = Training(epochs=12)
QUICK = Training(epochs=10, learning_rate=0.05)


def split_of(graph, seed=0):
    """Half of the nodes train, a quarter validates, a quarter tests."""
    return random_split(graph.labels, (0.5, 0.25, 0.25), seed)


SPLIT = split_of(CLUSTERS)
LABELS = CLUSTERS.labels[SPLIT.train]  # of the training nodes


def labelled_nodes(graph=CLUSTERS, split_seeds=(0,), labels=None):
    """Training and validation nodes of some splits: a row for each."""
    labels = graph.labels if labels is None else labels
    splits = [split_of(graph, seed) for seed in split_seeds]
    train, validation = (
        np.stack([getattr(split, part) for split in splits]) for part in ("train", "validation")
    )
    return LabelledNodes(train, labels[train], validation, labels[validation])


def node_task(graph=CLUSTERS, seeds=(0,), nodes=None, classes=None, options=DOUBLE, **run):
    """The classes of a graph's nodes, by default from one split for all replicas; more goes to the Run."""
    classes = tuple(range(graph.n_classes)) if classes is None else classes
    nodes = labelled_nodes(graph) if nodes is None else nodes
    return NodeTask(graph, nodes, classes, Run(tuple(seeds), options, **run))


def link_task(graph=CLUSTERS, seeds=(0,), options=DOUBLE, split=None, others=None, **run):
    """The links of a graph, by the split of seed 0 or another one; more goes to the Run."""
    split_seed = 0 if split is None else None
    split = split_edges(graph, 0) if split is None else split
    return LinkTask(graph, split, Run(tuple(seeds), options, **run), others, split_seed)


def run_loop(task, method, training=SHORT):
    """What the training loop leaves of a task."""
    loop = task.begin(task.method_for(method), training)
    loop.run()
    return loop.trained()


def trained(method, training=SHORT, **task):
    """What the training loop leaves of a :func:`node_task`."""
    return run_loop(node_task(**task), method, training)


def fit(task, method, training=SHORT, name="own"):
    """One method fitted to a task, as a model on its graph."""
    return fit_candidates(task, {name: (method, training)})


def task_of(method, seeds=(0,)):
    """A task that a method can learn: of links or of nodes."""
    return link_task(seeds=seeds) if isinstance(method, LinkMethod) else node_task(seeds=seeds)


@lru_cache
def fitted_once(method):
    """A method trained quickly on two replicas, the same for all tests of a process."""
    return fit(task_of(method, (3, 4)), method, QUICK)


def short_sum(monkeypatch):
    """Make "auto" a sum of two members with equal weights, which train quickly."""
    monkeypatch.setattr(sum_of_kernels, "greedy_counts", lambda found, *_: np.ones(len(found), int))
    monkeypatch.setitem(CHOICES, "auto", Choice(("instant", "k3-tuned"), "k3-tuned", sums=True))


class PowerCutError(Exception):
    """Ends a run."""


class CutAt(Callback):
    """End a run after so many epochs, of whatever trains or of one training by name."""

    def __init__(self, epoch, name=None):
        self.epoch, self.name = epoch, name

    def on_epoch_end(self, loop):
        if loop.epoch == self.epoch and self.name in (None, loop.name):
            raise PowerCutError


def fit_split(graph, variant="k3", seeds=(0, 1), split=None, options=DOUBLE, **changes):
    """An estimator fitted on splits of a graph's own classes, as `kernode fit` fits it."""
    parts = by_part(**changes, precision=64 if options is DOUBLE else 32)
    model = NodeKernelClassifier(variant, **parts, replicas=len(seeds), random_state=seeds[0], device="cpu")
    return model.fit(graph=graph, split=split)


def dropout_mask(dropout, x, layer):
    """0 or the scale for every element of x (n × r × d)."""
    return dropout.keep(layer, range(len(x)), x.shape[-1]) * dropout.scale.to(x.dtype)[:, None]


def retrieval(similarity, labels, k=10):
    """Return mAP and precision at k of whole similarity matrices: r × m × m → r each."""
    return retrieval_by_blocks(lambda rows: similarity[:, rows], len(similarity), labels, k)


@lru_cache
def number_model():
    """A regressor that learned the prices of half of the houses."""
    graph = number_graph(names=True)
    return NodeKernelRegressor(nodes=60).fit(graph=graph, split="0.4/0.2/0.4")
