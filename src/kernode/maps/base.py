"""What every feature map is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.accelerator import fused
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.neighbourhood import entries, induced, spheres
from kernode.random import DROPOUT, WEIGHTS, Draws, Dropout
from kernode.recipe import Recipe
from kernode.sparse import Place, SparseMatrix, product
from kernode.stack import Parameters, take

LARGEST_PART = 0.5  # of all adjacency entries: a larger part costs as much to cut out as it saves


@dataclass(frozen=True)
class FeatureMap(Recipe):
    """g, from every node of a graph to a vector, for a stack of r replicas at once.

    A map is a frozen dataclass of settings with three pure functions:
    what the graph fixes (:meth:`prepare`), where learning starts (:meth:`initial`), and g itself.
    To add a map, write these three in one file.
    """

    capturable: ClassVar[bool] = True  # whether g runs on a GPU without waiting for it
    drops_input: ClassVar[bool] = False  # whether dropout on the entries of X means something here
    per_node: ClassVar[bool] = False  # whether g has parameters for each node, which a new node lacks

    @property
    def reach(self) -> int | None:
        """How many edges away another node's features, edges or degree can change g(v); None for any number.

        None is always right. Where a map says more, new nodes cost no more than their neighbourhood.
        """
        return None

    def for_classes(self, classes: int) -> Self:
        """The same map with one output per class, where its width was left open."""
        return replace(self, **{"outputs": classes}) if getattr(self, "outputs", 0) is None else self

    @abstractmethod
    def prepare(self, graph: Graph, place: Place) -> Any:
        """Compute what depends on the graph alone, once."""

    @abstractmethod
    def initial(self, prepared: Any, draws: Draws, place: Place) -> Parameters:
        """Draw the first parameters, each with a leading replica axis."""

    @abstractmethod
    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d. Without ``dropout`` it is deterministic."""

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, place: Place) -> Tensor:
        """g of some nodes (r × m × d), touching no more of the graph than they need."""
        part = self._part_around(graph, nodes)
        if part is None:
            return _taken(self(parameters, self.prepare(graph, place)), nodes)
        g = self(parameters, self.prepare(induced(graph, part), place))
        return _taken(g, np.searchsorted(part, nodes))

    def _part_around(self, graph: Graph, nodes: np.ndarray) -> np.ndarray | None:
        """Nodes of a smaller graph on which g of some nodes is the same; None where it is hardly smaller."""
        if self.reach is None:
            return None
        nodes = nodes if len(nodes) else np.zeros(1, int)  # of no nodes g has a width still
        # One edge further than reach: then every node that g depends on has all its neighbours, and so its
        # true degree. Those of the outermost nodes are wrong, but g does not reach that far. Shortest paths
        # of up to reach edges lie inside, so that no map needs to know that it sees a part.
        found, looked_at = [], 0
        for sphere in spheres(graph, nodes, self.reach + 1):
            found.append(sphere)
            looked_at += entries(graph, sphere)
            if looked_at > LARGEST_PART * graph.adjacency.nnz:
                return None
        return np.sort(np.concatenate(found))


@dataclass(frozen=True)
class StagedMap(FeatureMap):
    """A map whose first part is a product with X, before any dropout but that on X itself.

    Without dropout on X, the evaluation after a training step and the next step share it, since no
    parameter moves between.
    """

    drops_input: ClassVar[bool] = True

    @abstractmethod
    def beginning(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """The first part: n × r × width."""

    @abstractmethod
    def finish(
        self, parameters: Parameters, prepared: Any, beginning: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The rest: r × n × d."""

    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d."""
        return self.finish(parameters, prepared, self.beginning(parameters, prepared, dropout), dropout)


def _taken(g: Tensor, nodes: np.ndarray) -> Tensor:
    """Rows of g (r × n × d) at some nodes: r × m × d."""
    return take(g, torch.from_numpy(np.asarray(nodes, dtype=np.int64)).to(g.device)[None])


def input_rates(feature_map: FeatureMap, rates: Tensor) -> Tensor | None:
    """Rates of dropout on X (r), or None where there is nothing to drop."""
    if not rates.any():
        return None
    if not feature_map.drops_input:
        raise InputError(f"{type(feature_map).__name__} has no dropout on X: leave input_dropout out.")
    return rates


def check_widths(hidden: tuple[int, ...], outputs: int | None) -> None:
    """Raise unless every layer has a width."""
    if not isinstance(hidden, tuple) or not all(isinstance(width, int) for width in hidden):
        raise InputError(f"hidden must be a tuple of widths, such as (16,). Got {hidden!r}.")
    if any(width < 1 for width in hidden) or (outputs is not None and outputs < 1):
        raise InputError(f"layer widths must be at least 1. Got hidden={hidden} and outputs={outputs}.")


def width_of(feature_map: Any) -> int:
    """d, the width of a map's output."""
    if feature_map.outputs is None:
        raise InputError(
            f"{type(feature_map).__name__} has no classes to take its width from: pass outputs=."
        )
    return int(feature_map.outputs)


def initial_weight(
    rows: int, columns: int, layer: int, draws: Draws, place: Place, gain: float = 2**0.5
) -> Tensor:
    """Draw Xavier-uniform weights: r × rows × columns.

    The paper does not state the start; a gain of √2 is its released code's.
    Memory runs rows × r × columns, so that a sparse product sees the whole stack as one matrix.
    """
    bound = gain * (6 / (rows + columns)) ** 0.5
    uniform = draws.uniform(WEIGHTS + layer, rows * columns)  # (rows·columns) × r
    weight = (uniform * 2 - 1) * bound
    weight = weight.view(rows, columns, -1).transpose(1, 2).contiguous()
    return weight.to(place.dtype).to(place.device).transpose(0, 1)


def multiply_shared(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """Every replica's weights on one shared x: (n × f), (r × f × d) → n × r × d."""
    if isinstance(x, SparseMatrix):
        return _SharedProduct.apply(x, weight)
    r, f, d = weight.shape
    return (x @ weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)


class _SharedProduct(torch.autograd.Function):
    """A sparse x, with the reshaping inside: autograd takes its time for each view."""

    @staticmethod
    def forward(ctx: Any, x: SparseMatrix, weight: Tensor) -> Tensor:
        r, f, d = weight.shape
        ctx.x, ctx.shape = x, (f, r, d)
        return product(x.matrix, weight.transpose(0, 1).reshape(f, r * d)).view(-1, r, d)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[None, Tensor]:
        n, r, d = upstream[0].shape
        gradient = product(ctx.x.transpose, upstream[0].reshape(n, r * d))
        return None, gradient.view(ctx.shape).transpose(0, 1)


def multiply_stacked(x: Tensor, weight: Tensor) -> Tensor:
    """Every replica's weights on its own x: (n × r × f), (r × f × d) → n × r × d."""
    if x.shape[1] == 1:
        return _OwnProduct.apply(x, weight)
    return torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)


class _OwnProduct(torch.autograd.Function):
    """One replica's product, with the reshaping inside."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return (x[:, 0] @ weight[0])[:, None]

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = upstream[0][:, 0]
        to_x = (gradient @ weight[0].T)[:, None] if ctx.needs_input_grad[0] else None
        return to_x, (x[:, 0].T @ gradient)[None] if ctx.needs_input_grad[1] else None


def activate(x: Tensor, layer: int, dropout: Dropout | None) -> Tensor:
    """ReLU, then dropout: n × r × d."""
    return torch.relu(x) if dropout is None else _MaskedReLU.apply(x, dropout, layer)


class _MaskedReLU(torch.autograd.Function):
    """relu(x) · mask. What came out above zero is all that the gradient needs: no mask is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropout: Dropout, layer: int) -> Tensor:
        scale = dropout.scale.to(x.dtype)[:, None]
        if kernels := fused(x):
            draws = dropout.draws
            out = kernels.masked_relu(
                x, draws.seeds, draws.epoch_on_device, DROPOUT + layer, dropout.threshold, scale
            )
            ctx.save_for_backward(out, scale)
            return out
        out = torch.empty_like(x)
        for rows in _cached_rows(x):  # the random words of all rows would be larger than x itself
            part = out[rows.start : rows.stop]
            torch.clamp_min(x[rows.start : rows.stop], 0, out=part)
            keep = dropout.keep(layer, rows, x.shape[-1]).view(torch.uint8)  # booleans convert more slowly
            part.mul_(keep).mul_(scale)
        ctx.save_for_backward(out, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor, None, None]:
        out, scale = ctx.saved_tensors
        if kernels := fused(out):
            return kernels.masked_relu_gradient(upstream[0], out, scale), None, None
        return torch.ops.aten.threshold_backward(upstream[0], out, 0).mul_(scale), None, None


def _cached_rows(x: Tensor) -> Iterator[range]:
    n, r, d = x.shape
    step = n if x.is_cuda else max(1, 2**19 // max(1, r * d))
    for start in range(0, n, max(1, step)):
        yield range(start, min(start + step, n))
