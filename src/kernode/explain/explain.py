"""Explain a model's answers: scores of a node by neighbours, hops and features, K by pairs of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import cpu_threads
from kernode.compute.stack import part
from kernode.errors import InputError
from kernode.explain.explanation import (
    Features,
    Hop,
    NodeExplanation,
    PairExplanation,
    PairPart,
    Part,
    Shown,
    mean_and_spread,
)
from kernode.explain.parts import (
    Contributions,
    NodeOutputs,
    Pairs,
    Parts,
    Row,
    distances,
    largest,
    require_sum,
)
from kernode.explain.sum import SumRow, sum_head
from kernode.graph import Graph, typed_names
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.sum import KernelSum

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

# Nodes whose features are looked at, or as many as are shown; those of a hub's others are one remainder.
_TAKEN_APART = 100
_TOP_FEATURES = 3  # of each neighbour that is shown


@dataclass(frozen=True)
class Lead:
    """The lead of one class over another at a node, as a sum over the row of g that it is made of."""

    outputs: NodeOutputs
    row: Row
    targets: Tensor  # r × d × c: score_y = ⟨g(v), w_y⟩ + b_y
    bias: np.ndarray  # r × c
    scored: Parts
    probabilities: np.ndarray  # c: by all replicas together
    first: int
    second: int

    @classmethod
    def of(cls, on: NodeModelOnGraph, node: int, of_class: Any = None, against: Any = None) -> Lead:
        """Of the class that is predicted over the next, where nothing is said."""
        method, outputs, classes = _method(on), _outputs(on), on.model.classes
        if len(classes) < 2:
            raise InputError("the model knows one class alone: there is nothing to tell apart.", "too-few")
        row = Row.of(outputs, node)
        targets, bias = _targets(on, method, row)
        scored = Parts.of(row, targets)
        mean = torch.from_numpy(scored.whole + bias).softmax(dim=1).mean(dim=0).numpy()
        probabilities = on.model.calibrated(mean)
        first, second = _class_pair(classes, probabilities, of_class, against)
        return cls(outputs, row, targets, bias, scored, probabilities, first, second)

    @property
    def by_node(self) -> np.ndarray:
        """What each node adds: r × k."""
        values: np.ndarray = self.scored.by_node[..., self.first] - self.scored.by_node[..., self.second]
        return values

    @property
    def towards(self) -> Tensor:
        """w with lead = ⟨g(v), w⟩ + b: r × d."""
        return self.targets[:, :, self.first] - self.targets[:, :, self.second]


@cpu_threads(1)  # many small products: a second thread would mostly be waited for
def explain_node(
    on: NodeModelOnGraph, node: int, top: int = 10, of_class: Any = None, against: Any = None
) -> NodeExplanation:
    """What each neighbour, hop and feature adds to the lead of a class over another."""
    if isinstance(on.model.method, KernelSum):
        return _explain_node_of_sum(on, node, top, of_class, against)
    lead, classes = Lead.of(on, node, of_class, against), on.model.classes
    first, second = lead.first, lead.second
    neighbours, features = _shown(on, lead.row, lead.by_node, lead.towards, top, lead.scored)
    mean, spread = mean_and_spread(lead.scored.whole + lead.bias)
    return NodeExplanation(
        node=_names(on.graph, [node])[0],
        classes=classes,
        probabilities=tuple(lead.probabilities.tolist()),
        scores=tuple(mean.tolist()),
        spreads=None if spread is None else tuple(spread.tolist()),
        of_class=classes[first],
        against=classes[second],
        class_bias=float((lead.bias[:, first] - lead.bias[:, second]).mean()),
        hops=_hops(lead.row, lead.scored, first, second),
        neighbours=neighbours,
        features=features,
        held=_held(_method(on), of_kernel=_method(on).classifier == "centroid"),
        **on.graph.listed_marks(node)[0],
    )


@cpu_threads(1)
def explain_pair(on: NodeModelOnGraph, node: int, other: int, top: int = 10) -> PairExplanation:
    """Which pairs of neighbours make K(u, v), and which neighbours and features of either node."""
    if isinstance(on.model.method, KernelSum):
        return _explain_pair_of_sum(on, node, other, top)
    method, outputs = _method(on), _outputs(on)
    rows = Row.of(outputs, node), Row.of(outputs, other)
    g = tuple(row.g()[:, None] for row in rows)  # r × 1 × d each
    towards = [method.kernel.pull_back(g[i], method.kernel.embed(g[1 - i]))[:, 0] for i in (0, 1)]  # r × d
    by_node = [Parts.of(rows[i], towards[i][..., None]).by_node[..., 0] for i in (0, 1)]  # r × k each
    similarity = by_node[0].sum(axis=1)
    # s of K(u, v) = s ⟨g(u), g(v)⟩, from s g(v); 0 where g(v) is.
    squared = g[1][:, 0].square().sum(dim=1, keepdim=True)
    scale = (towards[0] * g[1][:, 0]).sum(dim=1, keepdim=True) / squared
    scale = scale.masked_fill(squared == 0, 0)  # r × 1
    pairs = Pairs.of(rows[0].vectors() * scale, rows[1].vectors(), top)
    ends = tuple(zip(rows, (pairs.left, pairs.right), strict=True))
    names = [_names(on.graph, row.nodes[at]) for row, at in ends]
    hops = [distances(outputs, row)[at].tolist() for row, at in ends]
    found = tuple(map(PairPart, *names, *hops, *_values(pairs.values)))
    shown = [_shown(on, rows[i], by_node[i], towards[i], top) for i in (0, 1)]
    mean, spread = mean_and_spread(similarity)
    one, two = _names(on.graph, [node, other])
    marks = on.graph.listed_marks([node, other])
    return PairExplanation(
        node=one,
        other=two,
        kernel=repr(method.kernel),
        similarity=float(mean),
        spread=None if spread is None else float(spread),
        pairs=found,
        rest=float(mean) - sum(one.value for one in found),
        rest_count=len(rows[0].nodes) * len(rows[1].nodes) - len(found),
        neighbours=tuple(neighbours for neighbours, _ in shown),
        features=tuple(features for _, features in shown),
        held=_held(method, of_kernel=True),
        listed=marks[0].get("listed"),
        other_listed=marks[1].get("listed"),
    )


def _explain_node_of_sum(
    on: NodeModelOnGraph, node: int, top: int, of_class: Any, against: Any
) -> NodeExplanation:
    """The same of a sum: its score of a class is Σ_m w_m score_m, of which the lead is taken apart."""
    classes = on.model.classes
    probabilities = on.calibrated(np.array([node]))[0]
    first, second = _class_pair(classes, probabilities, of_class, against)
    row, (targets, bias) = SumRow.of(on, node), sum_head(on)
    by_node = torch.bmm(row.vectors.transpose(0, 1), targets).numpy()  # r × k × c
    constant = (torch.einsum("rd,rdc->rc", row.constant, targets) + bias).numpy()  # r × c
    mean, spread = mean_and_spread(by_node.sum(axis=1) + constant)
    lead = by_node[..., first] - by_node[..., second]
    towards = targets[..., first] - targets[..., second]
    neighbours, features = _shown_of_sum(on, row, lead, towards, top, by_node)
    hops = tuple(
        Hop(hop, float(values[first] - values[second]), tuple(values.tolist()))
        for hop in np.unique(row.distances).tolist()
        for values in [by_node[:, row.distances == hop].sum(axis=1).mean(axis=0)]
    )
    return NodeExplanation(
        node=_names(on.graph, [node])[0],
        classes=classes,
        probabilities=tuple(probabilities.tolist()),
        scores=tuple(mean.tolist()),
        spreads=None if spread is None else tuple(spread.tolist()),
        of_class=classes[first],
        against=classes[second],
        class_bias=float((constant[:, first] - constant[:, second]).mean()),
        hops=hops,
        neighbours=neighbours,
        features=features,
        held="Scores are the members' weighted mean. Held fixed: active units. All sums are complete.",
        **on.graph.listed_marks(node)[0],
    )


def _explain_pair_of_sum(on: NodeModelOnGraph, node: int, other: int, top: int) -> PairExplanation:
    """The same of a sum: K is Σ_m w_m K̄_m, block by block of the members' vectors."""
    rows = SumRow.of(on, node), SumRow.of(on, other)
    kernel = on.model.method.kernel
    blocks = [row.g.split(list(kernel.widths), dim=1) for row in rows]
    scales = [
        (weight / (one.norm(dim=1, keepdim=True) * two.norm(dim=1, keepdim=True))).expand_as(one)
        for weight, one, two in zip(kernel.weights, *blocks, strict=True)
    ]
    scale = torch.cat(scales, dim=1)
    scale = scale.masked_fill(~scale.isfinite(), 0)  # r × Σd: K = Σ scale g(u) g(v)
    towards = [scale * rows[1 - i].g for i in (0, 1)]
    by_node = [(rows[i].vectors * towards[i]).sum(dim=2).T.numpy() for i in (0, 1)]  # r × k
    mean, spread = mean_and_spread((scale * rows[0].g * rows[1].g).sum(dim=1).numpy())
    # What no node adds is one more part of either node.
    left, right = (torch.cat([row.vectors, row.constant[None]]) for row in rows)
    pairs = Pairs.of(left * scale, right, top)
    ends = tuple(zip(rows, (pairs.left, pairs.right), strict=True))
    names = [[*_names(on.graph, row.nodes), "biases"] for row in rows]
    hops = [[*row.distances.tolist(), 0] for row in rows]
    found = tuple(
        map(
            PairPart,
            *([names[i][at] for at in end] for i, (_, end) in enumerate(ends)),
            *([hops[i][at] for at in end] for i, (_, end) in enumerate(ends)),
            *_values(pairs.values),
        )
    )
    shown = [_shown_of_sum(on, rows[i], by_node[i], towards[i], top) for i in (0, 1)]
    one, two = _names(on.graph, [node, other])
    marks = on.graph.listed_marks([node, other])
    return PairExplanation(
        node=one,
        other=two,
        kernel=" + ".join(f"{one.weight:.2f} {one.name}" for one in on.model.method.members),
        similarity=float(mean),
        spread=None if spread is None else float(spread),
        pairs=found,
        rest=float(mean) - sum(one.value for one in found),
        rest_count=len(left) * len(right) - len(found),
        neighbours=tuple(neighbours for neighbours, _ in shown),
        features=tuple(features for _, features in shown),
        held="Held fixed: the lengths of g and active units. All sums are complete.",
        listed=marks[0].get("listed"),
        other_listed=marks[1].get("listed"),
    )


def _shown_of_sum(
    on: NodeModelOnGraph,
    row: SumRow,
    by_node: np.ndarray,
    towards: Tensor,
    top: int,
    scores: np.ndarray | None = None,
) -> tuple[Shown, Features]:
    """A sum over the nodes of a row (r × k) by its largest neighbours and features, and what is left."""
    graph, mean = on.graph, by_node.mean(axis=0)
    order = largest(mean, len(mean))
    first, apart = order[:top], order[: max(_TAKEN_APART, top)]
    totals, words = row.features(row.nodes[apart], towards, feature_names(graph))
    neighbours = map(
        Part,
        _names(graph, row.nodes[first]),
        *_values(by_node[:, first]),
        row.distances[first].tolist(),
        graph.classes_of(row.nodes[first]),
        repeat(None) if scores is None else map(tuple, scores[:, first].mean(axis=0).tolist()),
        [tuple(Part(*one) for one in _most(of, _TOP_FEATURES)) for of in words],
        [mark.get("listed") for mark in graph.listed_marks(row.nodes[first])],
    )
    names = [
        name for name, _ in _most({name: float(one.mean()) for name, one in totals.items()}, len(totals))
    ]
    values = np.stack([totals[name] for name in names], axis=1) if names else np.zeros((len(by_node), 0))
    features = map(Part, names[:top], *_values(values[:, :top]))
    others, left = np.delete(mean, first), values[:, top:].mean(axis=0)
    # What no node adds: of a class it is among what every node has, of K one more of the others.
    constant = 0.0 if scores is not None else float((row.constant * towards).sum(dim=1).mean())
    biases = float(by_node[:, apart].sum(axis=1).mean() - values.sum(axis=1).mean())
    rest = order[len(apart) :]
    return Shown(tuple(neighbours), float(others.sum()) + constant, len(others)), Features(
        Shown(tuple(features), float(left.sum()), len(left)),
        biases + constant,
        float(mean[rest].sum()),
        len(rest),
    )


def _most(values: dict[str, float], count: int) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda one: -abs(one[1]))[:count]


def _method(on: NodeModelOnGraph) -> Method:
    method = on.model.method
    if not isinstance(method, Method):
        raise InputError(
            f"{method.title} has no feature map that could be explained. Use a kernel, such as k3.",
            "unsupported",
        )
    return method


def _outputs(on: NodeModelOnGraph) -> NodeOutputs:
    """z of the nodes, kept: explanations of many nodes share it."""
    if "node_outputs" not in on.cache:
        feature_map = require_sum(_method(on).map)
        own = part(on.parameters, "map.")
        on.cache["node_outputs"] = NodeOutputs(feature_map, own, on.graph, on.place, len(on.model.seeds))
    cached: NodeOutputs = on.cache["node_outputs"]
    return cached


def _targets(on: NodeModelOnGraph, method: Method, row: Row) -> tuple[Tensor, np.ndarray]:
    """w_y with score_y = ⟨g(v), w_y⟩ + b_y: r × d × c, and b: r × c."""
    r, c = len(on.model.seeds), len(on.model.classes)
    if method.classifier == "softmax":
        unit = torch.eye(c, dtype=torch.float64).expand(r, -1, -1)
        return unit, on.parameters["class_bias"].cpu().double().numpy()
    if not method.kernel.dot_product:
        method.kernel.pull_back(torch.zeros(1), torch.zeros(1))  # says why not
    held = on.class_references.cpu().double().expand(r, -1, -1)
    towards = method.kernel.pull_back(row.g()[:, None], held)
    return towards.transpose(1, 2), np.zeros((r, c))


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


def _hops(row: Row, scored: Parts, first: int, second: int) -> tuple[Hop, ...]:
    by_hop, hops = scored.by_hop.mean(axis=0), np.array(row.shares.hops)  # t × c, t
    found = []
    for hop in np.unique(hops[row.shares.values.any(axis=1)]).tolist():
        values = by_hop[hops == hop].sum(axis=0, initial=0.0)
        found.append(Hop(hop, float(values[first] - values[second]), tuple(values.tolist())))
    return tuple(found)


def _shown(
    on: NodeModelOnGraph,
    row: Row,
    by_node: np.ndarray,
    towards: Tensor,
    top: int,
    scored: Parts | None = None,
) -> tuple[Shown, Features]:
    """A sum over the nodes of a row (r × k) by its largest neighbours and features, and what is left."""
    graph, outputs, names = on.graph, _outputs(on), feature_names(on.graph)
    order, apart = largest(by_node.mean(axis=0), len(row.nodes)), max(_TAKEN_APART, top)
    words, first = Contributions.of(outputs, row, order[:apart], towards), order[:top]
    neighbours = map(
        Part,
        _names(graph, row.nodes[first]),
        *_values(by_node[:, first]),
        distances(outputs, row)[first].tolist(),
        graph.classes_of(row.nodes[first]),
        repeat(None) if scored is None else map(tuple, scored.by_node[:, first].mean(axis=0).tolist()),
        _top_features(names, words.of_nodes(len(first)).mean(axis=1)),
        [mark.get("listed") for mark in graph.listed_marks(row.nodes[first])],
    )
    mean = words.by_feature.mean(axis=0)
    most = largest(mean, top)
    features = map(Part, [names[i] for i in most.tolist()], *_values(words.by_feature[:, most]))
    others, left = np.delete(by_node.mean(axis=0), first), np.delete(mean, most)
    rest = by_node[:, order[apart:]].mean(axis=0)
    return Shown(tuple(neighbours), float(others.sum()), len(others)), Features(
        Shown(tuple(features), float(left.sum()), len(left)),
        float(words.constant.mean()),
        float(rest.sum()),
        len(rest),
    )


def _top_features(names: Sequence[str], values: np.ndarray) -> list[tuple[Part, ...]]:
    """The features that add most, of values k × f: for each of the k."""
    most = largest(values, _TOP_FEATURES)
    said = zip(most.tolist(), np.take_along_axis(values, most, axis=1).tolist(), strict=True)
    return [tuple(Part(names[i], value) for i, value in zip(*of, strict=True) if value) for of in said]


def _values(values: np.ndarray) -> tuple[Iterable[float], Iterable[float | None]]:
    """What each of k things adds, and the spread, from r × k."""
    mean, spread = mean_and_spread(values)
    return mean.tolist(), repeat(None) if spread is None else spread.tolist()


def _names(graph: Graph, nodes: Any) -> list[Any]:
    nodes = np.asarray(nodes)
    return nodes.tolist() if graph.node_names is None else typed_names(graph.node_names)[nodes].tolist()


def feature_names(graph: Graph) -> Sequence[str]:
    """What explanations call the columns of X: as tables do, or by number."""
    encoding = graph.encoding
    return _numbered(graph.n_features) if encoding is None else encoding.feature_names


@lru_cache(maxsize=8)
def _numbered(columns: int) -> tuple[str, ...]:
    return tuple(f"feature {i}" for i in range(columns))


def _held(method: Method, *, of_kernel: bool) -> str:
    """What is held fixed, in a sentence; empty where nothing is."""
    held = {
        "the length of g": of_kernel and "Normalized" in repr(method.kernel),
        "the active units of the MLP": bool(getattr(method.map.unwrapped, "hidden", ())),
        "the deviations of LayerNorm": getattr(method.map.unwrapped, "norm", False),
    }
    listed = " and ".join(name for name, is_held in held.items() if is_held)
    return f"Held fixed: {listed}. All sums are complete." if listed else ""
