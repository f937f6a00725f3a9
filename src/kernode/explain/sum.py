"""Explanations of a sum of kernels: the weighted sum of what its members are made of.

A member that is a sum over neighbours splits as :mod:`kernode.explain.parts` has it. A staged member is
linear at a node: ReLU masks are held, and BatchNorm is affine after training. So what a node adds is its
product with the first layer times the slope there, and shifts add a constant; all of them sum to g(v).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.sparse import SparseMatrix
from kernode.compute.stack import Parameters, part
from kernode.errors import InputError
from kernode.explain.parts import Contributions, NodeOutputs, Row, largest
from kernode.graph import Graph
from kernode.graph.neighbourhoods import ball, induced, spheres
from kernode.maps import FeatureMap, OnColumns
from kernode.maps.base import LARGEST_PART, LayeredMap
from kernode.maps.columns import structure_names
from kernode.maps.hop_mlp import HopSum
from kernode.maps.layers.mlp import first_layer
from kernode.maps.smoothed_kernel import SmoothedKernel
from kernode.tasks.classes.sum import member_parameters

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

_CONSTANTS = ("bias_", "norm_shift_", "batch_mean_", "column_mean")
_FAR = 10  # edges: no distance is looked for beyond


@dataclass(frozen=True)
class Summand:
    """One member at a node: g_m(v) by node and by feature, in float64, and what belongs to no node."""

    nodes: np.ndarray  # k
    vectors: Tensor  # k × r × d
    constant: Tensor  # r × d
    features: tuple[str, ...] | None  # names of its columns; None: the graph's
    words: Any  # (places among the nodes, w: r × d) → what features add, r × f, and by node, m × r × f


def summand(on: NodeModelOnGraph, feature_map: FeatureMap, parameters: Parameters, node: int) -> Summand:
    """Take a member's g(v) apart."""
    graph, names = on.graph, None
    if isinstance(feature_map, OnColumns):
        graph = feature_map.on(graph)
        names, feature_map = column_names(feature_map, graph), feature_map.map
    inner = feature_map.unwrapped
    if isinstance(inner, SmoothedKernel):
        return _of_node(inner, parameters, graph, node, on.place)
    if isinstance(inner, HopSum):
        return _of_neighbours(on, graph, inner, parameters, node, names)
    if isinstance(inner, LayeredMap):
        return _of_stages(graph, inner, parameters, node, names)
    raise InputError(
        f"{type(inner).__name__} is not linear at a node, and has no exact explanation.", "unsupported"
    )


def column_names(feature_map: OnColumns, graph: Graph) -> tuple[str, ...]:
    """What explanations call the columns of a map that has its own."""
    if feature_map.columns == "structure":
        return structure_names(graph.n_features)
    names = range(graph.n_features) if graph.node_names is None else graph.node_names[: graph.n_features]
    return tuple(f"neighbour {name}" for name in names)


def _of_node(inner: FeatureMap, parameters: Parameters, graph: Graph, node: int, place: Place) -> Summand:
    """An exponential does not split: the whole of g(v) is the node's own."""
    g = inner(parameters, inner.prepare(graph, place))[:, node].double().cpu()  # r × d

    def words(at: np.ndarray, towards: Tensor) -> tuple[np.ndarray, np.ndarray]:
        whole = (g * towards).sum(dim=1).numpy()[:, None]
        return whole, np.broadcast_to(whole, (len(at), *whole.shape))

    return Summand(np.array([node]), g[None], torch.zeros_like(g), ("smoothed features",), words)


def _of_neighbours(
    on: NodeModelOnGraph,
    graph: Graph,
    inner: HopSum,
    parameters: Parameters,
    node: int,
    names: tuple[str, ...] | None,
) -> Summand:
    outputs = NodeOutputs(inner, parameters, graph, on.place, len(on.model.seeds))
    row = Row.of(outputs, node)
    vectors = row.vectors()

    def words(at: np.ndarray, towards: Tensor) -> tuple[np.ndarray, np.ndarray]:
        found = Contributions.of(outputs, row, at, towards)
        return found.by_feature, found.of_nodes(len(at))

    return Summand(row.nodes, vectors, torch.zeros_like(vectors[0]), names, words)


def _of_stages(
    graph: Graph, inner: LayeredMap, parameters: Parameters, node: int, names: tuple[str, ...] | None
) -> Summand:
    place = Place.of(64, "cpu")
    own = {name: value.detach().cpu().double() for name, value in parameters.items()}
    near = ball(graph, np.array([node]), (inner.reach or 0) + 1)
    near = np.arange(graph.n_nodes) if len(near) > LARGEST_PART * graph.n_nodes else np.sort(near)
    cut = graph if len(near) == graph.n_nodes else induced(graph, near)
    prepared = inner.prepare(cut, place)
    at_node = int(np.searchsorted(near, node))
    constants = {
        name: value.clone().requires_grad_() for name, value in own.items() if name.startswith(_CONSTANTS)
    }
    with torch.enable_grad():
        own |= {name: value for name, value in constants.items() if name != "column_mean"}
        first = first_layer(own, prepared.features).detach().requires_grad_()
        g = inner.later_layers(own, prepared, inner.sums(prepared, first), None)[:, at_node]  # r × d

    moving = [first, *(value for name, value in constants.items() if name != "column_mean")]

    def slopes(of: Tensor) -> list[Tensor]:
        with torch.enable_grad():
            found = torch.autograd.grad(of, moving, retain_graph=True, allow_unused=True)
        pairs = zip(found, moving, strict=True)
        return [torch.zeros_like(value) if slope is None else slope for slope, value in pairs]

    columns, constant = [], []
    for j in range(g.shape[1]):
        slope, *rest = slopes(g[:, j].sum())
        columns.append((slope * first.detach()).sum(dim=2))
        shifts = (value.detach() * one for value, one in zip(moving[1:], rest, strict=True))
        constant.append(sum((one.sum(dim=1) for one in shifts), torch.zeros(len(g), dtype=torch.float64)))
    vectors = torch.stack(columns, dim=2)  # k × r × d
    reached = np.flatnonzero(vectors.abs().sum(dim=(1, 2)).numpy())

    def words(at: np.ndarray, towards: Tensor) -> tuple[np.ndarray, np.ndarray]:
        with torch.enable_grad():
            whole = (g * towards).sum()
        slope = slopes(whole)[0][reached[at]]  # m × r × width
        x = prepared.features
        rows = (x.matrix.to_dense() if isinstance(x, SparseMatrix) else x)[reached[at]]
        entry = (
            own["weight_0"] if "column_scale" not in own else own["weight_0"] * own["column_scale"][..., None]
        )
        seen = torch.einsum("mrw,rfw->mrf", slope, entry)
        centred = rows[:, None] - (own.get("column_mean", 0))
        by_node = (seen * centred).detach().numpy()
        return by_node.sum(axis=0), by_node

    return Summand(
        near[reached], vectors[reached].detach(), torch.stack(constant, dim=1).detach(), names, words
    )


def sum_head(on: NodeModelOnGraph) -> tuple[Tensor, Tensor]:
    """W (r × Σ d_m × c) and b (r × c) with Σ_m w_m score_m(v) = g(v) W + b, in float64."""
    weights, biases, c = [], [], len(on.model.classes)
    for at, one in enumerate(on.model.method.members):
        own, bias = one.method.head(member_parameters(on.parameters, at))
        own = torch.eye(c).expand(len(bias), -1, -1) if own is None else own
        weights.append(one.weight * own.cpu().double())
        biases.append(one.weight * bias.cpu().double())
    return torch.cat(weights, dim=1), torch.stack(biases).sum(dim=0)


@dataclass(frozen=True)
class SumRow:
    """g(v) of a sum's members side by side, taken apart: nodes of all members together."""

    on: NodeModelOnGraph
    node: int
    summands: tuple[Summand, ...]

    @classmethod
    def of(cls, on: NodeModelOnGraph, node: int) -> SumRow:
        """Of every member."""
        maps = on.model.method.map.parts(part(on.parameters, "map."))
        return cls(on, node, tuple(summand(on, one, own, node) for one, own in maps))

    @cached_property
    def nodes(self) -> np.ndarray:
        """Whose features g(v) is made of: k, ascending."""
        return np.unique(np.concatenate([one.nodes for one in self.summands]))

    @cached_property
    def vectors(self) -> Tensor:
        """What each node adds to g(v): k × r × Σ d_m."""
        blocks = []
        for one in self.summands:
            block = one.vectors.new_zeros((len(self.nodes), *one.vectors.shape[1:]))
            block[torch.from_numpy(np.searchsorted(self.nodes, one.nodes))] = one.vectors
            blocks.append(block)
        return torch.cat(blocks, dim=2)

    @cached_property
    def constant(self) -> Tensor:
        """What no node adds: r × Σ d_m."""
        return torch.cat([one.constant for one in self.summands], dim=1)

    @cached_property
    def g(self) -> Tensor:
        """g(v): r × Σ d_m, in float64."""
        return self.vectors.sum(dim=0) + self.constant

    @cached_property
    def distances(self) -> np.ndarray:
        """How many edges away each node is, at most 10: k."""
        found = np.full(len(self.nodes), _FAR)
        for distance, sphere in enumerate(spheres(self.on.graph, [self.node], _FAR)):
            at = np.searchsorted(self.nodes, sphere).clip(max=len(self.nodes) - 1)
            found[at[self.nodes[at] == sphere]] = distance
        return found

    def split(self, towards: Tensor) -> Iterator[tuple[Summand, Tensor]]:
        """Members with their blocks of w: r × d each."""
        widths = [one.vectors.shape[2] for one in self.summands]
        return zip(self.summands, towards.split(widths, dim=1), strict=True)

    def features(
        self, nodes: np.ndarray, towards: Tensor, names: Any
    ) -> tuple[dict[str, np.ndarray], list[Any]]:
        """What features of some nodes add to ⟨g(v), w⟩: by name (r each), and the largest of each node."""
        totals: dict[str, np.ndarray] = {}
        of_nodes: list[dict[str, float]] = [{} for _ in nodes]
        for one, mine in self.split(towards):
            here = np.flatnonzero(np.isin(nodes, one.nodes))
            if not len(here):
                continue
            by_feature, by_node = one.words(np.searchsorted(one.nodes, nodes[here]), mine)
            known = names if one.features is None else one.features
            for column in np.flatnonzero(by_feature.any(axis=0)).tolist():
                name = known[column]
                totals[name] = totals.get(name, 0.0) + by_feature[:, column]
            mean = by_node.mean(axis=1)
            for at, row in zip(here.tolist(), mean, strict=True):
                for column in largest(row, 3).tolist():
                    if row[column]:
                        found = of_nodes[at]
                        found[known[column]] = found.get(known[column], 0.0) + float(row[column])
        return totals, of_nodes
