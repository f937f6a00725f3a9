"""Fit without validation nodes: parts of the training nodes validate in turn, then all of them train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernode.compute.replicas import seeds_from
from kernode.errors import warn
from kernode.graph import Graph
from kernode.models.fit import AGAIN, Candidates, fit_candidates
from kernode.tasks.classes.labels import in_folds
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.sum import KernelSum, fit_members_again, fit_sum
from kernode.tasks.classes.task import ALL_LABELLED, LabelledNodes, NodeTask
from kernode.training.run import Run
from kernode.training.settings import advise_more_epochs


def fit_in_folds(task: NodeTask, candidates: Candidates, *, sums: bool = False) -> NodeModelOnGraph:
    """Choose by folds of the training nodes, then train the choice on all of them.

    Where the nodes are too few to choose by, train the first candidate for all its epochs.
    """
    first = next(iter(candidates.values()))[1]
    if all(training.selection != "best" for _, training in candidates.values()):
        return fit_candidates(task, candidates)  # nothing is to be chosen
    if np.bincount(task.nodes.train_labels[0]).max() < 2:  # no class could spare a node
        name, (method, training) = next(iter(candidates.items()))
        training = training.to_the_last() if training.selection == "best" else training
        warn(
            f"{task.nodes.train.shape[1]} training nodes are too few to hold some out: nothing was chosen, "
            f"and {name} trained for all of its {training.epochs} epochs."
        )
        return fit_candidates(task, {name: (method, training)})
    seeds = task.run.seeds
    own = any(method.varies_by_replica(training) for method, training in candidates.values())
    parts = in_folds(task.nodes, first.folds, seeds[0], len(seeds) if own else None)
    stack = task.run.with_seeds(seeds_from(seeds[0], len(parts.train)))
    fit = fit_sum if sums else fit_candidates
    best = fit(replace(task, nodes=parts, run=stack), candidates)
    advise_more_epochs(best.model, best.model.training.select_by)
    return fit_again(task, best.model)


def fit_again(task: NodeTask, chosen: NodeModel) -> NodeModelOnGraph:
    """Train a chosen method anew on more nodes, for as many epochs as its replicas kept on average.

    For a choice made with nodes held out, which then train, too. Its calibration was fitted on them before.
    """
    if isinstance(chosen.method, KernelSum):
        return fit_members_again(task, chosen)
    method = chosen.method.chosen(chosen, task.graph)
    epochs = max(1, round(float(np.mean(chosen.kept_epochs)))) if chosen.training.epochs else 0
    training = replace(chosen.training.to_the_last(), epochs=epochs)
    again = task.run.part(AGAIN).called(f"{chosen.variant} on all labels".strip())
    on = fit_candidates(task.with_run(again), {chosen.variant: (method, training)}, split=chosen.split)
    held_out = chosen.calibration
    calibration = None if held_out is None else held_out.for_others(task.run.replicas)
    return on.with_metadata(calibration=calibration, **chosen.choice)


def fit_all_labels(graph: Graph, model: NodeModel, run: Run) -> NodeModelOnGraph:
    """Train what was chosen again on every node that has a class: to be used, not scored."""
    known = NodeModelOnGraph(model, graph, run.place).classes.known
    labelled = np.flatnonzero((known >= 0) & (known < len(model.classes)))
    nodes = LabelledNodes.without_validation(labelled, known[labelled])
    on = fit_again(NodeTask(graph, nodes, model.classes, run.with_seeds(model.seeds)), model)
    return on.with_metadata(split=ALL_LABELLED)  # nothing is held out, as a split by its name would say
