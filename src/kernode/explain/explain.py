"""Explain a model's answers: scores of a node by neighbours, hops and features, K by pairs of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.tensor_options import cpu_threads
from kernode.errors import InputError
from kernode.explain.explanation import (
    TRAINING_NODE,
    Features,
    Hop,
    NodeExplanation,
    PairExplanation,
    PairPart,
    Part,
    Shown,
    mean_and_spread,
)
from kernode.explain.parts import LabelSummand, Row, feature_names, largest, largest_pairs
from kernode.graph import Graph, typed_names
from kernode.tasks.classes.kernel_ridge import Instant
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.sum import KernelSum, member_parameters

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

# Nodes whose features are looked at, or as many as are shown; those of a hub's others are one remainder.
_TAKEN_APART = 100
_TOP_FEATURES = 3  # of each neighbour that is shown
_HELD = "Held fixed: active units, deviations of LayerNorm{}. All sums are complete."
_OF_KERNEL = " and the length of g"
_OF_LABELS = "A training label adds its weight in the ridge regression times K."


@dataclass(frozen=True)
class Lead:
    """The lead of one class over another at a node, as a sum over the row of g that it is made of."""

    row: Row
    scores: np.ndarray  # r × c
    probabilities: np.ndarray  # c: by all replicas together
    first: int
    second: int
    towards: Tensor  # r × d: w with lead = ⟨g(v), w⟩ + b
    bias: np.ndarray  # r: b
    by_node: np.ndarray  # r × k

    @classmethod
    def of(cls, on: NodeModelOnGraph, node: int, of_class: Any = None, against: Any = None) -> Lead:
        """Compare the predicted class with the next, unless others are given."""
        require_map(on)
        classes = on.model.classes
        if len(classes) < 2:
            raise InputError("the model knows one class alone: there is nothing to compare.", "too-few")
        probabilities = on.calibrated(np.array([node]))[0]
        first, second = _class_pair(classes, probabilities, of_class, against)
        row = Row.of(on, node, by_label=True)
        weights, bias = _head(on, row.g)
        scores = (torch.einsum("rd,rdc->rc", row.g, weights) + bias).numpy()
        towards = weights[..., first] - weights[..., second]
        own_bias = (bias[:, first] - bias[:, second]).numpy()
        return cls(row, scores, probabilities, first, second, towards, own_bias, row.by_node(towards))


@cpu_threads(1)  # many small products: a second thread would mostly be waited for
def explain_node(
    on: NodeModelOnGraph, node: int, top: int = 10, of_class: Any = None, against: Any = None
) -> NodeExplanation:
    """Return what each neighbour, hop and feature adds to the lead of a class over another."""
    lead, classes = Lead.of(on, node, of_class, against), on.model.classes
    neighbours, features = _shown(on.graph, lead.row, lead.by_node, lead.towards, top)
    held = _HELD.format(_OF_KERNEL if on.model.method.classifier == "centroid" else "")
    by = None
    if any(isinstance(one, LabelSummand) for one in lead.row.summands):
        by, held = "node", f"{held} {_OF_LABELS}"
    if isinstance(on.model.method, Instant):
        by, held = TRAINING_NODE, f"{_OF_LABELS} All sums are complete."
        if (known := on.model.train.shape[1]) > (landmarks := on.parameters["map.landmarks"].shape[1]):
            held = f"{landmarks:,} landmarks stand for all {known:,} training nodes. {held}"
        neighbours = _with_weights(neighbours, lead)
    mean, spread = mean_and_spread(lead.scores)
    by_node, distances = lead.by_node.mean(axis=0), lead.row.distances
    return NodeExplanation(
        node=names_of(on.graph, [node])[0],
        classes=classes,
        probabilities=tuple(lead.probabilities.tolist()),
        scores=tuple(mean.tolist()),
        spreads=None if spread is None else tuple(spread.tolist()),
        of_class=classes[lead.first],
        against=classes[lead.second],
        class_bias=float(lead.bias.mean()),
        hops=tuple(Hop(hop, float(by_node[distances == hop].sum())) for hop in np.unique(distances).tolist()),
        neighbours=neighbours,
        features=features,
        held=held,
        by=by,
        **on.graph.listed_marks(node)[0],
        names=on.classes.names[: len(classes)],
    )


@cpu_threads(1)
def explain_pair(on: NodeModelOnGraph, node: int, other: int, top: int = 10) -> PairExplanation:
    """Return which pairs of neighbours make K(u, v), and which neighbours and features of either node."""
    require_map(on)
    rows, kernel = (Row.of(on, node), Row.of(on, other)), on.model.method.kernel
    g = [row.g for row in rows]
    embedded = [kernel.embed(one[:, None]) for one in g]
    towards = [kernel.pull_back(g[i][:, None], embedded[1 - i])[:, 0] for i in (0, 1)]  # r × d each
    by_node = [rows[i].by_node(towards[i]) for i in (0, 1)]
    # K = Σ_m s_m ⟨g_m(u), g_m(v)⟩ over the maps of a sum: s_m from s_m g_m(v), and 0 where g_m(v) is.
    scales = []
    for toward, own in zip(*(one.split(rows[0].widths, dim=1) for one in (towards[0], g[1])), strict=True):
        squared = own.square().sum(dim=1, keepdim=True)
        scale = (toward * own).sum(dim=1, keepdim=True) / squared
        scales.append(scale.masked_fill(squared == 0, 0).expand_as(own))
    scaled = rows[0].vectors * torch.cat(scales, dim=1)
    left, right, values = largest_pairs(scaled, rows[1].vectors, top)
    ends = ((rows[0], left), (rows[1], right))
    names = [names_of(on.graph, row.nodes[at]) for row, at in ends]
    hops = [row.distances[at].tolist() for row, at in ends]
    found = tuple(map(PairPart, *names, *hops, *_values(values)))
    shown = [_shown(on.graph, rows[i], by_node[i], towards[i], top) for i in (0, 1)]
    mean, spread = mean_and_spread(by_node[0].sum(axis=1))
    one, two = names_of(on.graph, [node, other])
    marks = on.graph.listed_marks([node, other])
    return PairExplanation(
        node=one,
        other=two,
        kernel=_kernel_name(on),
        similarity=float(mean),
        spread=None if spread is None else float(spread),
        pairs=found,
        rest=float(mean) - sum(one.value for one in found),
        rest_count=len(rows[0].nodes) * len(rows[1].nodes) - len(found),
        neighbours=tuple(neighbours for neighbours, _ in shown),
        features=tuple(features for _, features in shown),
        held=_HELD.format(_OF_KERNEL),
        listed=marks[0].get("listed"),
        other_listed=marks[1].get("listed"),
    )


def require_map(on: NodeModelOnGraph) -> None:
    """Raise where a method has no map to take apart."""
    method = on.model.method
    if not isinstance(method, Method | KernelSum | Instant):
        raise InputError(
            f"{method.title} has no feature map that could be explained. Use a kernel, such as k3.",
            "unsupported",
        )


def _head(on: NodeModelOnGraph, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return W (r × d × c) and b (r × c) with scores g(v) W + b, in float64; of a sum Σ_m w_m score_m."""
    method, (r, c) = on.model.method, (len(g), len(on.model.classes))
    if method.classifier == "centroid":
        held = on.class_references.cpu().double().expand(r, -1, -1)
        return method.kernel.pull_back(g[:, None], held).transpose(1, 2), torch.zeros(r, c).double()
    heads = [(1.0, *method.head(on.parameters))] if not isinstance(method, KernelSum) else [
        (one.weight, *one.method.head(member_parameters(on.parameters, at)))
        for at, one in enumerate(method.members)
    ]  # fmt: skip
    unit = torch.eye(c).expand(r, -1, -1)
    weights = [weight * (unit if own is None else own.cpu()).double() for weight, own, _ in heads]
    biases = [weight * bias.cpu().double() for weight, _, bias in heads]
    return torch.cat(weights, dim=1), torch.stack(biases).sum(dim=0)


def _kernel_name(on: NodeModelOnGraph) -> str:
    method = on.model.method
    if not isinstance(method, KernelSum):
        return repr(method.map if isinstance(method, Instant) else method.kernel)
    return " + ".join(f"{one.weight:.2f} {one.name}" for one in method.members)


def _class_pair(
    classes: Sequence[Any], probabilities: np.ndarray, of_class: Any, against: Any
) -> tuple[int, int]:
    for name in (of_class, against):
        if name is not None and name not in classes:
            raise InputError(
                f"{name!r} is not a class of this model. Its classes are {', '.join(map(str, classes))}.",
                "unknown", what="class", name=name,
            )  # fmt: skip
    order = np.argsort(-probabilities, kind="stable").tolist()
    first = order[0] if of_class is None else classes.index(of_class)
    second = next(one for one in order if one != first) if against is None else classes.index(against)
    if first == second:
        raise InputError(
            f"{of_class!r} cannot be compared with itself: give another.", "conflict", setting="against"
        )
    return first, second


def _shown(graph: Graph, row: Row, by_node: np.ndarray, towards: Tensor, top: int) -> tuple[Shown, Features]:
    """Return a sum over the nodes of a row (r × k) by its largest neighbours and features, and the rest."""
    mean = by_node.mean(axis=0)
    order = largest(mean, len(mean))
    first, apart, rest = order[:top], order[: max(_TAKEN_APART, top)], order[max(_TAKEN_APART, top) :]
    totals, words = row.by_feature(row.nodes[apart], towards, feature_names(graph), len(first))
    neighbours = map(
        Part,
        names_of(graph, row.nodes[first]),
        *_values(by_node[:, first]),
        row.distances[first].tolist(),
        graph.classes_of(row.nodes[first]),
        [tuple(Part(*one) for one in _most(of)) for of in words],
        [mark.get("listed") for mark in graph.listed_marks(row.nodes[first])],
    )
    values = np.stack(list(totals.values()), axis=1) if totals else np.zeros((len(by_node), 0))
    sizes, names = values.mean(axis=0), list(totals)
    most = largest(sizes, top)
    features = map(Part, [names[i] for i in most.tolist()], *_values(values[:, most]))
    others, left = np.delete(mean, first), np.delete(sizes, most)
    has_biases = any(one.biases for one in row.summands)  # else their part would be a rounding error
    return Shown(tuple(neighbours), float(others.sum()), len(others)), Features(
        Shown(tuple(features), float(left.sum()), len(left)),
        float(mean[apart].sum() - sizes.sum()) if has_biases else 0.0,
        float(mean[rest].sum()),
        len(rest),
    )


def _with_weights(shown: Shown, lead: Lead) -> Shown:
    """Add the weights of training labels, and K between their nodes and the one that is explained."""
    (of_labels,) = lead.row.summands
    assert isinstance(of_labels, LabelSummand)
    order = largest(lead.by_node.mean(axis=0), len(shown.parts))
    figures = torch.stack([of_labels.weights(lead.towards), of_labels.similarities]).mean(dim=2)
    pairs = zip(shown.parts, figures[:, order].T.tolist(), strict=True)
    named = (replace(one, weight=w, similarity=k, words=()) for one, (w, k) in pairs)
    return replace(shown, parts=tuple(named))


def _most(values: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda one: -abs(one[1]))[:_TOP_FEATURES]


def _values(values: np.ndarray) -> tuple[Iterable[float], Iterable[float | None]]:
    """What each of k things adds, and the spread, from r × k."""
    mean, spread = mean_and_spread(values)
    return mean.tolist(), repeat(None) if spread is None else spread.tolist()


def names_of(graph: Graph, nodes: Any) -> list[Any]:
    """Return names of nodes, integers if all names are; positions in a graph without names."""
    nodes = np.asarray(nodes, dtype=np.int64)
    return nodes.tolist() if graph.node_names is None else typed_names(graph.node_names)[nodes].tolist()
