"""Input of nodes, classes and weights, and fits on folds of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernode.compute.replicas import seeds_from
from kernode.errors import InputError, bad_setting, warn
from kernode.graph import Graph
from kernode.graph.lookup import as_classes, as_nodes, positions_and_classes, warn_of_similar_labels
from kernode.io import Split, split_nodes
from kernode.io.node_split import is_split_file
from kernode.models.fit import Candidates, fit_candidates, varies_by_replica
from kernode.models.variants import known_name
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.sum import KernelSum, fit_members_again, fit_without_selection
from kernode.tasks.classes.task import ALL_LABELLED, LabelledNodes, NodeTask
from kernode.training.run import Run
from kernode.training.settings import advise_more_epochs

_MANY_OTHERS = 0.1  # share of nodes whose class is another than the graph's
_NAMED = 5  # classes that a warning names
_FEWEST = 20  # labelled nodes that are split where no split is given


def nodes_and_classes(graph: Graph, nodes: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of nodes, and a class for each: m, m."""
    nodes, y = positions_and_classes(graph, as_nodes(nodes), as_classes(y))
    if y.shape != nodes.shape:
        raise InputError(
            f"nodes and classes must be two lists of one length. Got {nodes.shape} and {y.shape}.", "shape"
        )
    if not len(nodes):
        raise InputError("there are no labelled nodes. Give at least one per class.", "too-few")
    return nodes, y


def labelled(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, validation: Any
) -> tuple[np.ndarray, LabelledNodes]:
    """Return the classes, and training and validation nodes with class numbers."""
    require_classes(nodes, y, graph, "training")
    _require_one_class_each(nodes, y, graph)
    classes = np.unique(y)
    names = [name for name in classes.tolist() if isinstance(name, str)]
    warn_of_similar_labels("y", names)
    for name in names:
        if name.strip().lower() in ("unknown", "n/a", "nan"):
            warn(f"y holds {name!r}, which is a class here. Leave those nodes out if it means not known.")
    _compare(nodes, y, graph)
    chosen, labels = _validating(validation, nodes, y, graph)
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    numbers = np.where(classes[at] == labels, at, -1)  # −1: a class that no training node has
    return classes, LabelledNodes(nodes[None], np.searchsorted(classes, y)[None], chosen[None], numbers[None])


def require_classes(
    nodes: np.ndarray, y: np.ndarray, graph: Graph, role: str, known: np.ndarray | None = None
) -> None:
    """Raise where a class is missing: empty, or −1.

    −1 is a class where it is among the ``known`` ones. So it is where −1 and 1 are the only classes, of nodes
    that have a class in the graph, or in a graph without classes.
    """
    if y.dtype.kind not in "iu":
        without = np.array([_is_none(one) for one in y.tolist()], bool)
    elif known is not None and -1 in known:
        without = y < -1
    else:
        without = y < 0
        if set(np.unique(y).tolist()) == {-1, 1}:
            without &= (graph.labels >= 0).any() & (graph.labels[nodes] < 0)
    if without.any():
        more = f" (and {without.sum() - 1:,} others)" if without.sum() > 1 else ""
        node = graph.lookup.name(nodes[without][0])
        way = "" if y.dtype.kind not in "iu" else ", or give classes as text if −1 is one"
        raise InputError(f"node {node}{more} has no label: keep it out of the {role} nodes{way}.", "missing")


def _is_none(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)  # NaN
    except TypeError:  # pandas' NA
        return True


def _require_one_class_each(nodes: np.ndarray, y: np.ndarray, graph: Graph) -> None:
    classes: dict[int, Any] = {}
    for node, one in zip(nodes.tolist(), y.tolist(), strict=True):
        if (other := classes.setdefault(node, one)) != one:
            raise InputError(
                f"node {graph.lookup.name(node)} is given two classes, {other!r} and {one!r}. Keep one.",
                "conflict",
            )


def _compare(nodes: np.ndarray, y: np.ndarray, graph: Graph) -> None:
    """Warn where the classes are the graph's, but not of these nodes: rows out of order, mostly."""
    known = graph.labels[nodes] >= 0
    nodes, y, own = nodes[known], y[known], own_classes(graph, nodes[known], y)
    if not len(nodes) or set(own.tolist()) != set(y.tolist()):
        return
    other = np.flatnonzero(own != y)
    if len(other) > _MANY_OTHERS * len(own):
        at = other[0]
        warn(
            f"y is not what the graph has for {len(other):,} of {len(own):,} nodes: "
            f"{graph.lookup.name(nodes[at])} is {y.tolist()[at]!r} here and {own.tolist()[at]!r} there. "
            "Check that nodes and y are in one order, or else y is another target."
        )


def _validating(
    validation: Any, nodes: np.ndarray, y: np.ndarray, graph: Graph
) -> tuple[np.ndarray, np.ndarray]:
    """Validation nodes and their classes, as given in a pair or the graph's own; none of them trains."""
    if validation is None:
        return np.empty(0, np.int64), y[:0]
    if isinstance(validation, tuple) and len(validation) == 2 and np.ndim(validation[0]) == 1:
        chosen, labels = nodes_and_classes(graph, *validation)
    else:
        chosen = graph.find(as_nodes(validation))
        labels = own_classes(graph, chosen, y)
        require_classes(chosen, graph.labels[chosen], graph, "validation")
        known = nodes[graph.labels[nodes] >= 0]
        if (own_classes(graph, known, y) != y[graph.labels[nodes] >= 0]).any():
            raise InputError(
                "the classes in y are not the graph's own: give validation nodes with their classes.",
                "missing", setting="validation",
            )  # fmt: skip
        labels = labels.astype(y.dtype)
    both = np.intersect1d(chosen, nodes)
    if len(both):
        raise InputError(
            f"node {graph.lookup.name(both[0])} trains and validates ({len(both):,} such nodes). "
            "Keep each in one list.",
            "conflict", setting="validation",
        )  # fmt: skip
    return chosen, labels


def own_classes(graph: Graph, nodes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The graph's own classes of nodes that have one, by number where y holds numbers, else by name."""
    return np.array(graph.classes_of(nodes, named=y.dtype.kind not in "iu"), dtype=object)


def as_weights(sample_weight: Any, nodes: np.ndarray, count: int) -> np.ndarray | None:
    """One finite number ≥ 0 for each node of X, in float64; None where there are none.

    With a mask of all nodes they may be of all nodes, too. A single number is for all.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(count, weights)
    if nodes.dtype == bool and weights.shape == nodes.shape:
        weights = weights[nodes]
    if weights.shape != (count,):
        raise InputError(
            f"sample_weight must hold one number per node of X ({count}). Got {weights.shape}.",
            "shape", setting="sample_weight",
        )  # fmt: skip
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise bad_setting("sample_weight", "finite numbers ≥ 0", sample_weight)
    if not weights.any():
        raise InputError("every sample_weight is zero: no node is left.", "setting", setting="sample_weight")
    return weights


def by_node(weights: np.ndarray | None, nodes: np.ndarray, n: int) -> np.ndarray | None:
    """The weight of each of a graph's n nodes, 1 on average over the nodes given; None where all are equal.

    A node that is listed twice has the mean of its weights each time.
    """
    if weights is None or (weights == weights[:1]).all():
        return None
    listed = np.bincount(nodes, minlength=n)
    total = np.bincount(nodes, weights / weights.mean(), minlength=n)
    return total / np.maximum(listed, 1)


def in_folds(known: LabelledNodes, folds: int, seed: int, replicas: int | None = None) -> LabelledNodes:
    """Hold out a fold of the training nodes for each replica, to validate.

    There are as many replicas as folds, or ``replicas``, which then take the folds in turn. Folds are
    stratified, and none holds the last node of a class.
    """
    y = known.train_labels[0]
    random = np.random.Generator(np.random.PCG64(seed))
    order = random.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # class by class, each in random order
    order = order[np.bincount(y)[y[order]] > 1]
    count = min(folds, len(order))
    size = len(order) // count
    held_out = np.stack([order[fold::count][:size] for fold in range(count)])
    held_out = held_out[np.arange(count if replicas is None else replicas) % count]
    training = np.stack([np.setdiff1d(np.arange(len(y)), fold) for fold in held_out])
    nodes = known.train[0]
    return LabelledNodes(nodes[training], y[training], nodes[held_out], y[held_out])


def warn_of_single_nodes(task: NodeTask) -> None:
    """Warn of classes with a single training node in some replica, all in one sentence."""
    rows = (np.bincount(row, minlength=len(task.classes)) for row in task.nodes.train_labels)
    single = [str(task.classes[i]) for i in np.flatnonzero((np.stack(list(rows)) == 1).any(axis=0))]
    if not single:
        return
    runs = " in some replica" if len(task.nodes.train) > 1 else ""
    named = ", ".join(single[:_NAMED]) + (", …" if len(single) > _NAMED else "")
    have = f"{len(single)} of {len(task.classes)} classes {'has' if len(single) == 1 else 'have'}"
    warn(f"{have} a single training node{runs} ({named}): little to learn from.")


def split_labels(graph: Graph, split: Any, seeds: tuple[int, ...]) -> tuple[list[Split], str]:
    """Splits of a graph's labelled nodes, one for each seed, and their name.

    ``split``: as :func:`kernode.load` takes it, a :class:`~kernode.Split`, or one for each seed. Without one,
    nodes with a class that are too few to hold some out all train.
    """
    if isinstance(split, Split):
        return [split] * len(seeds), "own"
    if isinstance(split, list | tuple):
        if len(split) != len(seeds) or not all(isinstance(one, Split) for one in split):
            raise InputError(
                f"split must hold one Split for each of {len(seeds)} replicas. Got {len(split)}.",
                "shape", setting="split",
            )  # fmt: skip
        return list(split), "own"
    labelled = np.flatnonzero(graph.labels >= 0)
    classes = len(np.unique(graph.labels[labelled]))
    if split is None and 0 < len(labelled) < max(_FEWEST, 3 * classes):
        warn(
            f"{len(labelled)} nodes with a class are too few to keep some for a test: all of them train, and "
            "there is no accuracy. A split of 0.6/0.2/0.2 would test on a few."
        )
        return [Split(labelled, [], [])] * len(seeds), ALL_LABELLED
    splits = split_nodes(graph, split, list(seeds))
    if split is None:
        return splits, "fastgcn" if known_name(graph) else "jk"
    return splits, Path(split).name if is_split_file(split) else split


def require_no_numbers(graph: Graph) -> None:
    """Raise where nodes have numbers and no classes: the one place that says what needs regression."""
    if not graph.holds_numbers:
        return
    what = f"{graph.target_name!r} holds" if graph.target_name else "targets are"
    sentence = f"{what} numbers, and this predicts classes. Name a column of classes"
    raise InputError(
        f"{sentence}, or take it as classes: task='classes'.", "unsupported", setting=("label", "task")
    )


def require_several_classes(graph: Graph, methods: Candidates) -> None:
    """Raise where all labels are of one class, and a kernel loss has nothing to compare."""
    known = np.unique(graph.labels[graph.labels >= 0])
    losses = [getattr(method, "loss", None) for method, _ in methods.values()]
    if len(known) == 1 and any(loss is not None and loss.objective != "softmax" for loss in losses):
        only = graph.class_names[known[0]]
        raise InputError(
            f"every node with a class is of {only!r}, and a kernel loss compares classes. Label another, "
            "or use the softmax loss.",
            "too-few", setting="loss",
        )  # fmt: skip


def fit_in_folds(
    task: NodeTask, candidates: Candidates, fit: Callable[..., NodeModelOnGraph] = fit_candidates
) -> NodeModelOnGraph:
    """Choose by folds of the training nodes, then train the choice on all of them.

    ``fit``: :func:`fit_candidates`, or :func:`fit_sum`.

    Where the nodes are too few to choose by, train the first candidate for all its epochs.
    """
    first = next(iter(candidates.values()))[1]
    if all(training.selection != "best" for _, training in candidates.values()):
        return fit_candidates(task, candidates)  # nothing is to be chosen
    if np.bincount(task.nodes.train_labels[0]).max() < 2:  # no class could spare a node
        trained = ((name, pair) for name, pair in candidates.items() if not pair[0].closed_form)
        name, (method, training) = next(trained)
        training = training.without_selection() if training.selection == "best" else training
        warn(
            f"{task.nodes.train.shape[1]} training nodes are too few to hold some out: nothing was chosen, "
            f"and {name} trained for all of its {training.epochs} epochs."
        )
        return fit_candidates(task, {name: (method, training)})
    seeds = task.run.seeds
    own = any(varies_by_replica(*one) for one in candidates.values())
    folds = in_folds(task.nodes, first.folds, seeds[0], len(seeds) if own else None)
    stack = task.run.with_seeds(seeds_from(seeds[0], len(folds.train))).within(0.5)
    best = fit(replace(task, nodes=folds, run=stack), candidates)
    advise_more_epochs(best.model, best.model.training.select_by)
    return fit_again(task, best.model)


def fit_again(task: NodeTask, chosen: NodeModel) -> NodeModelOnGraph:
    """Train a chosen method anew on more nodes, for as many epochs as its replicas kept on average.

    For a choice made with nodes held out, which then train, too. Its calibration was fitted on them before.
    """
    if isinstance(chosen.method, KernelSum):
        on = fit_members_again(task, chosen)
    else:
        method, epochs = chosen.method.chosen(chosen, task.graph), float(np.mean(chosen.kept_epochs))
        on = fit_without_selection(task, chosen.variant, method, chosen.training, epochs)
    held_out = chosen.calibration
    calibration = None if held_out is None else held_out.for_others(task.run.replicas)
    return on.with_metadata(
        calibration=calibration, threshold=chosen.threshold, split=chosen.split, **chosen.choice
    )


def fit_all_labels(graph: Graph, model: NodeModel, run: Run) -> NodeModelOnGraph:
    """Train the chosen method again on every labelled node, so that no test is left."""
    known = NodeModelOnGraph(model, graph, run.options).classes.known
    labelled = np.flatnonzero((known >= 0) & (known < len(model.classes)))
    nodes = LabelledNodes.without_validation(labelled, known[labelled])
    on = fit_again(NodeTask(graph, nodes, model.classes, run.with_seeds(model.seeds)), model)
    return on.with_metadata(split=ALL_LABELLED)  # nothing is held out, as a split by its name would say
