"""What whoever fitted a node classifier should hear beside its figures: once a fit, whatever it trained."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from kernode.errors import warn
from kernode.node_classification.model import Model
from kernode.node_classification.task import NodeTask
from kernode.training.advice import advise_more_epochs

_NAMED = 5  # classes, before the rest is left to the reader's imagination


def warn_of_single_nodes(task: NodeTask) -> None:
    """Warn of classes with a single training node, all in one sentence, by name."""
    single = [_name(task, one) for one in task.single_node_classes()]
    if not single:
        return
    runs = " in some run" if len(task.nodes.train) > 1 else ""
    named = ", ".join(single[:_NAMED]) + (", …" if len(single) > _NAMED else "")
    if len(single) == 1:
        warn(f"class {named} has a single training node{runs}: little to learn from.")
    else:
        of = f"{len(single)} of {len(task.classes)} classes"
        warn(f"{of} have a single training node{runs} ({named}): little to learn from.")


def advise_longer_training(chosen: Model) -> None:
    """Warn where the method that was kept had not finished learning."""
    if chosen.method.learns_by_gradient:
        score = f"validation_{chosen.training.select_by}"
        advise_more_epochs(chosen.kept_epochs, chosen.training, chosen.history, score)


def _name(task: NodeTask, one: Any) -> str:
    """A class as people call it: a number that is the graph's own has a name there."""
    graph, nodes = task.graph, task.nodes
    if not isinstance(one, Integral) or not 0 <= int(one) < graph.n_classes:
        return str(one)
    own = np.array(task.classes)[nodes.train_labels] == graph.labels[nodes.train]
    return graph.class_names[int(one)] if own.all() else str(one)
