"""What to train on: the same nodes, edges and places in every file, in float64 unless said otherwise."""

import numpy as np
from kernode.node_classification.trainer import train

from graphs import CLUSTERS
from kernode.compute.place import Place
from kernode.io import random_split
from kernode.io.edge_split import split_edges
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.links.task import LinkTask
from kernode.training.run import Run
from kernode.training.settings import Training

DOUBLE, SINGLE = Place.of(64), Place.of(32)
NO_NODES = np.empty((1, 0), np.int64)


def split_of(graph, seed=0):
    """Half of the nodes train, a quarter validates, a quarter tests."""
    return random_split(graph.labels, (0.5, 0.25, 0.25), seed)


SPLIT = split_of(CLUSTERS)
LABELS = CLUSTERS.labels[SPLIT.train]  # of the nodes that train


def labelled_nodes(graph=CLUSTERS, split_seeds=(0,), labels=None):
    """Training and validation nodes of some splits: a row for each."""
    labels = graph.labels if labels is None else labels
    splits = [split_of(graph, seed) for seed in split_seeds]
    train, validation = (
        np.stack([getattr(split, part) for split in splits]) for part in ("train", "validation")
    )
    return LabelledNodes(train, labels[train], validation, labels[validation])


def node_task(graph=CLUSTERS, seeds=(0,), nodes=None, classes=None, place=DOUBLE, **run):
    """The classes of a graph's nodes, by default from one split for all replicas; more goes to the Run."""
    classes = tuple(range(graph.n_classes)) if classes is None else classes
    nodes = labelled_nodes(graph) if nodes is None else nodes
    return NodeTask(graph, nodes, classes, Run(tuple(seeds), place, **run))


def link_task(graph=CLUSTERS, seeds=(0,), place=DOUBLE, split=None, others=None, **run):
    """The links of a graph, by the split of seed 0 or one's own; more goes to the Run."""
    split_seed = 0 if split is None else None
    split = split_edges(graph, 0) if split is None else split
    return LinkTask(graph, split, Run(tuple(seeds), place, **run), others, split_seed)


SHORT = Training(epochs=12)


def trained(method, training=SHORT, **task):
    """What a method's trainer leaves of a :func:`node_task`."""
    task = node_task(**task)
    return train(task, method.for_classes(len(task.classes)), training)


class PowerCutError(Exception):
    """What interrupts a run."""


def cut_at(last):
    """A run's ``progress`` that ends it after so many epochs."""

    def tell(epoch, values):
        if epoch == last:
            raise PowerCutError

    return lambda epochs, name: tell
