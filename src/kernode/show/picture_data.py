"""What every picture is made of, as plain arrays: drawn by matplotlib in files, by plotly in the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.tasks.classes.evaluation import calibration_report
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.show.class_colours import most_frequent
from kernode.show.evidence import Evidence
from kernode.show.layout import Plane, layout
from kernode.show.training_history import hop_weight_history

_GRAM_NODES = 2000  # of more, evenly taken: a picture has fewer pixels than that
_FEWEST = 2  # nodes of a Gram matrix


@dataclass(frozen=True)
class Embedding:
    """Where nodes lie in a plane, the class that colours each, and the part that it was in: m each."""

    nodes: np.ndarray
    points: np.ndarray  # m × 2
    classes: np.ndarray  # known, or predicted where it is not known
    is_known: np.ndarray
    part: np.ndarray
    plane: Plane
    of: str  # whose plane it is, in words


def embedding_data(evidence: Evidence, plane: Plane = "tsne", most: int | None = None) -> Embedding:
    """Of every node, or of so many of them, evenly taken."""
    shown, n = evidence.shown_run, evidence.graph.n_nodes
    points = layout(shown, plane)
    nodes = np.arange(n) if most is None or n <= most else np.linspace(0, n - 1, most).round().astype(int)
    is_known = evidence.known[nodes] >= 0
    classes = np.where(is_known, evidence.known[nodes], shown.chances(nodes).argmax(axis=1))
    part = evidence.parts.of_nodes(n)[nodes]
    return Embedding(nodes, points[nodes], classes, is_known, part, plane, runs_of(evidence, shown))


def runs_of(evidence: Evidence, shown: NodeModelOnGraph) -> str:
    """Which runs a picture is of."""
    r = len(evidence.model.seeds)
    if r == 1:
        return "one run"
    return f"the first of {r} runs" if len(shown.model.seeds) == 1 else f"{r} runs together"


@dataclass(frozen=True)
class Gram:
    """K̄ among some nodes in the order of their classes: a square of block means, and means of all pairs."""

    matrix: np.ndarray
    names: tuple[str, ...]
    counts: np.ndarray  # nodes of each class
    within: float | None  # None: no two nodes are of one class
    between: float | None
    nodes: int
    of: str


def gram_data(evidence: Evidence, pixels: int = 250) -> Gram:
    """Of test nodes; where there are none, of other nodes whose class is known."""
    shown = evidence.shown_run
    if not shown.model.method.has_kernel:
        raise InputError(f"{shown.model.method.title} has no kernel that could be drawn.")
    nodes, which = _of_known_class(evidence)
    labels = evidence.known[nodes]
    order = labels.argsort(kind="stable")
    if len(order) > _GRAM_NODES:
        order = order[np.linspace(0, len(order) - 1, _GRAM_NODES).round().astype(int)]
        which = f"{_GRAM_NODES:,} of the {len(nodes):,} {which}"
    else:
        which = f"{len(nodes):,} {which}"
    nodes, labels = nodes[order], labels[order]
    full = np.concatenate(list(shown.kernel.directions.blocks(_positions(nodes)))).astype(np.float64)
    alike, others = labels[:, None] == labels, ~np.eye(len(nodes), dtype=bool)
    return Gram(
        block_means(full, pixels),
        evidence.names,
        np.bincount(labels, minlength=len(evidence.names)),
        _mean(full[alike & others]),
        _mean(full[~alike]),
        len(nodes),
        f"{which}, {runs_of(evidence, shown)}",
    )


def _of_known_class(evidence: Evidence) -> tuple[np.ndarray, str]:
    """Nodes that are compared, and what they are: none that taught, if there are others."""
    if evidence.parts.test is not None:
        return evidence.parts.test[0], "test nodes"
    known = evidence.known >= 0
    unseen = np.flatnonzero(known & ~evidence.parts.taught(len(known)))
    if len(unseen) >= _FEWEST and evidence.on.has_training_nodes:
        return unseen, "nodes that did not train"
    if known.sum() < _FEWEST:
        raise InputError("the graph gives fewer than two nodes a class, so there is no order to draw K̄ in.")
    return np.flatnonzero(known), "nodes of known class, training nodes among them"


def _positions(nodes: np.ndarray) -> np.ndarray:
    from kernode.graph import positions

    return positions(nodes)


def block_means(matrix: np.ndarray, pixels: int) -> np.ndarray:
    """The mean of each block of a square matrix, with blocks of nearly one size: pixels × pixels at most."""
    m = len(matrix)
    edges = np.linspace(0, m, min(pixels, m) + 1).round().astype(int)
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    return sums / np.outer(np.diff(edges), np.diff(edges))


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def hop_weight_data(evidence: Evidence) -> dict[str, Any]:
    """ω_h over epochs (E × hops), with the hops that have a term."""
    values, final = hop_weight_history(evidence.model), evidence.model.hop_weights()
    assert final is not None  # what has a history has weights
    hops = np.flatnonzero(~np.isnan(final[0]))
    taken = {name: np.array(values[name])[:, hops].tolist() for name in ("mean", "std")}
    return values | taken | {"hops": hops.tolist()}


@dataclass(frozen=True)
class Confusion:
    """Who is taken for whom: counts with the true class in the row, the last class all rarer ones if any."""

    names: tuple[str, ...]
    counts: np.ndarray
    others: int  # classes that are one row
    accuracy: float
    of: str

    @property
    def shares(self) -> np.ndarray:
        """Of each true class, in percent; 0 where no node is of it."""
        return 100 * self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)


def confusion_data(evidence: Evidence, most: int = 40) -> Confusion:
    """Of the test nodes; beyond ``most`` classes the rarest are one row."""
    names, counts = evidence.confusion
    answers = evidence.answers
    others = 0
    if len(names) > most:
        kept = most_frequent(counts.sum(axis=1) + counts.sum(axis=0), most - 1)
        others = len(names) - len(kept)
        into = np.full(len(names), len(kept))
        into[kept] = np.arange(len(kept))
        merged = np.zeros((len(kept) + 1, len(kept) + 1), counts.dtype)
        np.add.at(merged, (into[:, None], into[None]), counts)
        names, counts = (*(names[i] for i in kept), f"{others} rarer classes"), merged
    return Confusion(names, counts, others, answers.accuracy, answers.of)


def reliability_data(evidence: Evidence) -> dict[str, Any]:
    """What was claimed and what came true, bin by bin, and the error beside what chance explains of it."""
    tested, truth = evidence.tested, evidence.truth
    assert truth is not None
    by_run = evidence.on.probabilities(tested)
    report = calibration_report(evidence.model.calibration, by_run, tested, truth)
    figures = report["ensemble"] or report
    names = ("error_mean", "by_chance", "by_chance_at_most", "bins")
    calibrated = {"calibrated_on": report["calibrated_on"], "of": evidence.answers.of}
    return {name: figures[name] for name in names} | calibrated


@dataclass(frozen=True)
class Coverage:
    """Accuracy of the surest answers: how many are answered, and how many of them are right, in percent."""

    answered: np.ndarray
    accuracy: np.ndarray
    threshold: np.ndarray  # the least confidence of an answer
    of: str


def coverage_data(evidence: Evidence) -> Coverage:
    """From the surest test nodes to all of them; those with one confidence come together."""
    answers = evidence.answers
    order = np.argsort(-answers.confidence, kind="stable")
    sure, right = answers.confidence[order], np.cumsum(answers.right[order])
    last = np.flatnonzero(np.append(sure[1:] != sure[:-1], True))  # the last of each confidence
    count = last + 1
    return Coverage(100 * count / len(sure), 100 * right[last] / count, sure[last], answers.of)
