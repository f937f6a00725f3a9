"""Exact sums: what each neighbour, feature and pair of neighbours adds to a number that is linear in g(v).

With its active units held, and the deviations of LayerNorm, g(v) is linear in the first layer's products of
all nodes and in the biases at all nodes. So the gradient times the value, of both, is what a node adds, and
these parts sum to g(v) without a remainder. A part says what something adds as the network stands, not what
would happen without it: units could switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.nystrom import JITTER
from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.neighbourhoods import ball, induced, spheres
from kernode.maps import FeatureMap, OnColumns
from kernode.maps.base import LayeredMap
from kernode.maps.columns import structure_names
from kernode.maps.concat import Members
from kernode.maps.graph_kernel import GraphKernelMap
from kernode.maps.hop_mlp import HopSum
from kernode.maps.layers.features import scaled_features
from kernode.maps.layers.mlp import first_layer
from kernode.maps.smoothed_kernel import SmoothedKernel

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

_ADDED = ("bias_", "norm_shift_", "batch_mean_")  # parameters that are added to the vector of every node
_PLACE = TensorOptions.of(64, "cpu")
_AT_A_TIME = 2**22  # products of pairs


@dataclass(frozen=True)
class Summand:
    """g(v) of one map as a function of what belongs to single nodes, in float64."""

    nodes: np.ndarray  # k that g(v) depends on, ascending
    at: np.ndarray  # k: their rows in the tensors below, which may have more
    first: Tensor  # rows × r × width: the first layer's product of each node
    biases: list[Tensor]  # rows × r × width: the biases at each node, layer by layer
    g: Tensor  # r × d, with a gradient to all of these
    features: Callable[[np.ndarray], np.ndarray]  # of some nodes: m × f
    entry: Tensor  # r × f × width: from features to the first layer's product
    mean: Tensor | None = None  # r × f: what is subtracted from each feature before
    column_names: tuple[str, ...] | None = None  # None: those of the graph
    known_vectors: Tensor | None = None  # k × r × d, where the map gives them at once

    def by_node(self, towards: Tensor) -> Tensor:
        """What each node adds to ⟨g(v), w⟩ with w (r × d): k × r."""
        moving = [self.first, *self.biases]
        pairs = zip(moving, self._slopes(towards, moving), strict=True)
        return torch.stack([(value.detach() * slope).sum(dim=2) for value, slope in pairs]).sum(dim=0)[
            self.at
        ]

    @property
    def vectors(self) -> Tensor:
        """What each node adds to g(v): k × r × d."""
        if self.known_vectors is not None:
            return self.known_vectors
        units = torch.eye(self.g.shape[1], dtype=torch.float64)
        return torch.stack([self.by_node(unit.expand_as(self.g)) for unit in units], dim=2)

    def by_feature(self, nodes: np.ndarray, towards: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """What features of some nodes add to ⟨g(v), w⟩: columns (q) and values (m × r × q)."""
        (slopes,) = self._slopes(towards, [self.first])
        slopes = slopes[self.at[np.searchsorted(self.nodes, nodes)]]
        features = self.features(nodes)
        columns = np.flatnonzero(features.any(axis=0)) if self.mean is None else np.arange(features.shape[1])
        x = torch.from_numpy(features[:, None, columns])
        x = x if self.mean is None else x - self.mean
        found = torch.einsum("mrw,rqw->mrq", slopes, self.entry[:, columns]) * x
        return columns, found.numpy()

    def _slopes(self, towards: Tensor, of: list[Tensor]) -> list[Tensor]:
        with torch.enable_grad():
            whole = (self.g * towards).sum()
        found = torch.autograd.grad(whole, of, retain_graph=True, allow_unused=True)
        return [torch.zeros_like(value) if one is None else one for value, one in zip(of, found, strict=True)]


@dataclass(frozen=True)
class LabelSummand:
    """g(v) of an untrained kernel by training nodes i, its landmarks: ``⟨g(v), w⟩ = Σ_i α_i K(v, i)``.

    With g(v) = K(v, Z) L⁻ᵀ it is α = L⁻ᵀ w. Where all training nodes are landmarks and w are a ridge
    regression's weights, α_i is what it leaves of i's label, divided by the ridge.
    """

    nodes: np.ndarray  # k landmarks of any replica, ascending
    at: list[np.ndarray]  # of each replica: where its landmarks are among them
    factors: list[Tensor]  # of each replica: L
    g: Tensor  # r × d

    column_names = ("training label",)
    biases = ()

    @classmethod
    def of(cls, landmarks: Tensor, g: Tensor, node: int) -> LabelSummand:
        """Take g(v) of every replica apart; ``landmarks``: r × d, ``g``: r × n × d."""
        nodes, g = np.unique(landmarks.cpu().numpy()), g.detach().cpu()
        factors = []
        for i, own in enumerate(landmarks.cpu()):
            # g(Z) = (L Lᵀ − ε) L⁻ᵀ = L − ε L⁻ᵀ, which differs from L on the diagonal alone, and above it.
            held = g[i, own].double()
            own_diagonal = held.diagonal()
            full = (own_diagonal + (own_diagonal.square() + 4 * JITTER).sqrt()) / 2
            factors.append(held.tril(-1) + full.diag())
        at = [np.searchsorted(nodes, own) for own in landmarks.cpu().numpy()]
        return cls(nodes, at, factors, g[:, node].double())

    def weights(self, towards: Tensor) -> Tensor:
        """α of each node: k × r."""
        found = zip(self.factors, towards[..., None], strict=True)
        return self._by_landmark([torch.linalg.solve_triangular(f.T, w, upper=True)[:, 0] for f, w in found])

    @property
    def similarities(self) -> Tensor:
        """K(v, i), 0 where a replica does not know i: k × r."""
        return self._by_landmark([f @ own for f, own in zip(self.factors, self.g, strict=True)])

    def by_node(self, towards: Tensor) -> Tensor:
        """What each node adds to ⟨g(v), w⟩ with w (r × d): k × r."""
        return self.weights(towards) * self.similarities

    def by_feature(self, nodes: np.ndarray, towards: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """The same of some nodes as one column: 1 and m × r × 1."""
        found = self.by_node(towards)[np.searchsorted(self.nodes, nodes)]
        return np.array([0]), found[..., None].numpy()

    def _by_landmark(self, values: list[Tensor]) -> Tensor:
        found = torch.zeros(len(self.nodes), len(values), dtype=torch.float64)
        for i, (at, own) in enumerate(zip(self.at, values, strict=True)):
            found[at, i] = own
        return found


def summand(
    feature_map: FeatureMap, parameters: Parameters, graph: Graph, node: int, known_g: Tensor
) -> Summand:
    """Take g(v) of one map apart; ``known_g``: g(v) itself, r × d."""
    names = None
    if isinstance(feature_map, OnColumns):
        names, graph = _column_names(feature_map, graph), feature_map.on(graph)
        feature_map = feature_map.map
    inner: Any = feature_map.unwrapped
    if isinstance(
        inner, SmoothedKernel | GraphKernelMap
    ):  # an exponential does not split: K(u, v) is the nodes' own
        first = known_g.double().cpu()[None].requires_grad_()
        return Summand(
            nodes=np.array([node]),
            at=np.array([0]),
            first=first,
            biases=[],
            g=first[0],
            features=lambda some: np.ones((len(some), 1)),
            entry=first[0].detach()[:, None],
            column_names=("smoothed features",),
        )
    _require_linear(inner, parameters)
    own = {name: value.detach().cpu().double() for name, value in parameters.items()}
    vectors = None
    if isinstance(inner, HopSum):
        rows, terms = inner.terms_at(graph, np.array([node]))
        nodes, shares = rows, np.stack([term.toarray()[0] for term in terms])
        x = inner.features_of(graph, nodes, _PLACE)
    else:
        nodes, rows = ball(graph, [node], inner.reach), inner._part_around(graph, np.array([node]))
        part, rows = (graph, np.arange(graph.n_nodes)) if rows is None else (induced(graph, rows), rows)
        prepared = inner.prepare(part, _PLACE)
        x = prepared.features
    first = first_layer(own, x).clone().requires_grad_()
    replicas = first.shape[1]
    biases = {
        name: value.expand(len(rows), -1, -1).clone().requires_grad_()
        for name, value in own.items()
        if name.startswith(_ADDED)
    }
    with torch.enable_grad():
        if isinstance(inner, HopSum):
            weights = inner.term_weights(own, replicas, _PLACE)  # r × t
            share = torch.from_numpy(shares.T)[:, None] * weights  # k × r × t
            z = inner.node_outputs(own | biases, first)  # k × r × t × d, or k × r × 1 × d
            share = share if z.shape[2] > 1 else share.sum(dim=2, keepdim=True)
            vectors = torch.einsum("krt,krtd->krd", share, z)
            g, vectors = vectors.sum(dim=0), vectors.detach()
        else:
            g = inner.later_layers(own | biases, prepared, inner.sums(prepared, first), None)
            g = g[:, int(np.searchsorted(rows, node))]

    def features(some: np.ndarray) -> np.ndarray:
        found: Any = scaled_features(graph.features[some], normalize_rows=inner.normalize_rows)
        return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)

    entry, mean = own["weight_0"], own.get("column_mean")
    return Summand(
        nodes=nodes,
        at=np.searchsorted(rows, nodes),
        first=first,
        biases=list(biases.values()),
        g=g,
        features=features,
        entry=entry if mean is None else entry * own["column_scale"][..., None],
        mean=mean,
        column_names=names,
        known_vectors=vectors,
    )


def _require_linear(inner: FeatureMap, parameters: Parameters) -> None:
    """Raise unless g(v) is linear at a node, in the products of the first layer."""
    sums_first = isinstance(inner, HopSum) or (
        isinstance(inner, LayeredMap)
        and inner.multiplies_features
        and type(inner).first_layer is LayeredMap.first_layer
        and ("norm_scale_0" not in parameters or "batch_mean_0" in parameters)  # BatchNorm is affine in use
    )
    if not sums_first:
        name = type(inner).__name__
        raise InputError(
            f"{name} is not linear at a node, and has no exact explanation. Train with the default, or with "
            "HopMLP, Diffusion, HopNet, Stages or GCN.",
            "unsupported", map=name,
        )  # fmt: skip


def _column_names(feature_map: OnColumns, graph: Graph) -> tuple[str, ...]:
    if feature_map.columns == "structure":
        return structure_names(feature_map.on(graph).n_features)
    own = feature_names(graph) if feature_map.columns == "all" else ()
    count = feature_map.nodes or graph.n_nodes
    names = range(count) if graph.node_names is None else graph.node_names[:count]
    return (*own, *(f"neighbour {name}" for name in names))


def feature_names(graph: Graph) -> Sequence[str]:
    """Names of the columns of X: those of tables, or numbers."""
    encoding = graph.encoding
    return _numbered(graph.n_features) if encoding is None else encoding.feature_names


@lru_cache(maxsize=8)
def _numbered(columns: int) -> tuple[str, ...]:
    return tuple(f"feature {i}" for i in range(columns))


@dataclass(frozen=True)
class Row:
    """g(v) of a model, taken apart: the vectors of its maps one after the other."""

    graph: Graph
    node: int
    summands: tuple[Summand | LabelSummand, ...]

    @classmethod
    def of(cls, on: NodeModelOnGraph, node: int, *, by_label: bool = False) -> Row:
        """Take g(v) apart: of a sum of kernels each member's, otherwise that of the one map.

        ``by_label``: what an untrained kernel gives is taken apart by training nodes.
        """
        method, parameters = on.model.method, under_prefix(on.parameters, "map.")
        maps, known = [(method.map, parameters)], [on.g]
        if isinstance(method.map, Members):
            maps, known = list(method.map.parts(parameters)), list(on.g.split(method.kernel.widths, dim=2))
        found: list[Summand | LabelSummand] = []
        for (one, own), g in zip(maps, known, strict=True):
            if by_label and isinstance(one, SmoothedKernel | GraphKernelMap):
                found.append(LabelSummand.of(own["landmarks"], g, node))
            else:
                found.append(summand(one, own, on.graph, node, g[:, node]))
        return cls(on.graph, node, tuple(found))

    @cached_property
    def nodes(self) -> np.ndarray:
        """Nodes that add to g(v): k, ascending."""
        return np.unique(np.concatenate([one.nodes for one in self.summands]))

    @cached_property
    def g(self) -> Tensor:
        """g(v): r × Σ d_m."""
        return torch.cat([one.g.detach() for one in self.summands], dim=1)

    @property
    def widths(self) -> list[int]:
        """d_m of each map."""
        return [one.g.shape[1] for one in self.summands]

    @cached_property
    def vectors(self) -> Tensor:
        """What each node adds to g(v): k × r × Σ d_m."""
        own = (one for one in self.summands if isinstance(one, Summand))  # all, where pairs are asked for
        return torch.cat([self._among_all(one, one.vectors) for one in own], dim=2)

    def by_node(self, towards: Tensor) -> np.ndarray:
        """What each node adds to ⟨g(v), w⟩ with w (r × Σ d_m): r × k."""
        found = [self._among_all(one, one.by_node(own)) for one, own in self._blocks(towards)]
        return torch.stack(found).sum(dim=0).T.numpy()

    @cached_property
    def distances(self) -> np.ndarray:
        """How many edges away each node is, −1 where no path leads to it: k."""
        found = np.full(len(self.nodes), -1)
        for distance, sphere in enumerate(spheres(self.graph, [self.node], self.graph.n_nodes)):
            found[np.isin(self.nodes, sphere)] = distance
            if not len(sphere) or (found >= 0).all():
                break
        return found

    def by_feature(
        self, nodes: np.ndarray, towards: Tensor, names: Any, alone: int
    ) -> tuple[dict[str, np.ndarray], list[dict[str, float]]]:
        """What features of some nodes add to ⟨g(v), w⟩, by name: of all nodes together, r each.

        And of each of the first ``alone`` nodes, as means over replicas.
        """
        totals: dict[str, np.ndarray] = {}
        of_nodes: list[dict[str, float]] = [{} for _ in nodes[:alone]]
        for one, own in self._blocks(towards):
            here = np.flatnonzero(np.isin(nodes, one.nodes))
            columns, values = one.by_feature(nodes[here], own)
            known = names if one.column_names is None else one.column_names
            own_names = [known[column] for column in columns.tolist()]
            for name, total in zip(own_names, values.sum(axis=0).T, strict=True):
                totals[name] = totals.get(name, 0.0) + total
            here = here[here < alone]
            for at, row in zip(here.tolist(), values[: len(here)].mean(axis=1), strict=True):
                for column in np.flatnonzero(row).tolist():
                    name = own_names[column]
                    of_nodes[at][name] = of_nodes[at].get(name, 0.0) + float(row[column])
        return totals, of_nodes

    def _blocks(self, towards: Tensor) -> Iterator[tuple[Summand | LabelSummand, Tensor]]:
        return zip(self.summands, towards.split(self.widths, dim=1), strict=True)

    def _among_all(self, one: Summand | LabelSummand, values: Tensor) -> Tensor:
        """Values of a map's nodes as values of all nodes, 0 where it has none."""
        found = values.new_zeros((len(self.nodes), *values.shape[1:]))
        found[torch.from_numpy(np.searchsorted(self.nodes, one.nodes))] = values
        return found


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """Return positions of the values of largest magnitude, of equals the first.

    >>> largest(np.array([1.0, -2.0, 2.0]), 2).tolist()
    [1, 2]
    """
    return np.argsort(-np.abs(values), kind="stable")[:count]


def largest_pairs(left: Tensor, right: Tensor, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest of the k × l products ⟨a, b⟩ of parts a (k × r × d) and b (l × r × d).

    Positions on the left and on the right (p each), and values (r × p); ordered by the mean over replicas.
    """
    k, r, d = left.shape
    a, b = left.reshape(k, r * d) / r, right.reshape(-1, r * d)  # then ⟨a, b⟩ is the mean over replicas
    best, at = a.new_empty(0), torch.empty(0, dtype=torch.int64)  # values, and positions among k · l
    step = max(1, _AT_A_TIME // len(b))
    for start in range(0, k, step):
        products = (a[start : start + step] @ b.T).flatten()
        some = torch.topk(products.abs(), min(count, len(products))).indices
        best, at = torch.cat([best, products[some]]), torch.cat([at, some + start * len(b)])
        order = torch.argsort(best.abs(), descending=True, stable=True)[:count]
        best, at = best[order], at[order]
    i, j = at // len(b), at % len(b)
    return i.numpy(), j.numpy(), (left[i] * right[j]).sum(dim=2).T.numpy()
