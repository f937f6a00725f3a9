"""Graph attention as a feature map (the paper's g_GAT), written for a stack of replicas."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from kernode.compute.draws import Draws, Dropout
from kernode.compute.sparse import product, to_torch, unchecked_csr
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_setting
from kernode.graph import Graph
from kernode.maps.base import ROWS, WIDTHS, FeatureInputs, LayersMap, check_heads
from kernode.maps.layers.mlp import initial_bias, initial_weight, kept, masked_product, scale_of

SLOPE = 0.2  # of leaky relu below zero, as published
_SHORT = 8  # numbers: below that torch's products along edges take eight times as long


@dataclass(frozen=True)
class Edges:
    """The E edges of a graph and its self-loops, by target; each stands in both directions."""

    starts: Tensor  # n + 1: where the edges into each node begin
    sources: Tensor  # E
    targets: Tensor  # E
    reverse: Tensor  # E: where the same edge stands in the other direction
    into: Tensor  # n × E, sums over the edges into a node
    out_of: Tensor  # n × E, sums over the edges out of a node
    patterns: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False)  # of k blocks

    @classmethod
    def of(cls, graph: Graph, options: TensorOptions) -> Edges:
        """Return the edges of a graph as tensors."""
        looped = sparse.csr_array(graph.adjacency + sparse.eye_array(graph.n_nodes, format="csr"))
        looped.sort_indices()
        n, count, starts = graph.n_nodes, looped.nnz, looped.indptr
        numbered = sparse.csr_array((np.arange(count), looped.indices, starts), shape=(n, n))
        reverse = numbered.T.tocsr().data
        targets = np.repeat(np.arange(n), np.diff(starts))
        sums = [
            to_torch(sparse.csr_array((np.ones(count), columns, starts), shape=(n, count)), options)
            for columns in (np.arange(count), reverse)
        ]
        lists = (starts, looped.indices, targets, reverse)
        return cls(*(torch.from_numpy(each.astype(np.int64)).to(options.device) for each in lists), *sums)

    @property
    def nodes(self) -> int:
        """n."""
        return len(self.starts) - 1

    def diagonal(self, values: Tensor) -> Tensor:
        """An n × n block for each row of values (k × E), along a diagonal: k·n × k·n."""
        size = len(values) * self.nodes
        return unchecked_csr(*self._pattern(len(values)), values.view(-1), (size, size))

    def products(self, x: Tensor, y: Tensor) -> Tensor:
        """x at the target times y at the source, k·n × d both, for every edge: k × E."""
        if (missing := _SHORT - x.shape[1]) > 0:
            x, y = (functional.pad(each, (0, missing)) for each in (x, y))
        values = x.new_zeros(len(x) // self.nodes, len(self.sources))
        blocks = self.diagonal(values)
        torch.sparse.sampled_addmm(blocks, x, y.T, beta=0, out=blocks)
        return values

    def _pattern(self, k: int) -> tuple[Tensor, Tensor]:
        """Where the entries of k blocks are: rows' starts and columns."""
        if k not in self.patterns:
            count = len(self.sources)
            index = torch.int32 if k * count < 2**31 else torch.int64  # MKL would convert int64 each time
            block = torch.arange(k, dtype=index, device=self.sources.device)[:, None]
            starts = (self.starts[1:].to(index) + count * block).view(-1)
            columns = (self.sources.to(index) + self.nodes * block).view(-1)
            self.patterns[k] = functional.pad(starts, (1, 0)), columns
        return self.patterns[k]


class Attention(torch.autograd.Function):
    """Sums of h over neighbours, weighted by softmax(leaky_relu(source · h_j + target · h_i)), and a bias.

    h = x W is r × n × heads·d, source and target are r × heads × d. ``keep`` (r × heads·E) and ``scale``
    (r × 1 × 1) are the attention weights' dropout.

    k = r · heads. Softmax runs on E × k, where a sum over edges is one sparse product; h runs k × n × d, a
    block of one sparse product for each head. So no message along an edge is ever held.
    """

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, source: Tensor, target: Tensor, bias: Tensor,
        edges: Edges, keep: Tensor | None, scale: Tensor | None,
    ) -> Tensor:  # fmt: skip
        """r × n × heads·d."""
        r, heads, d = source.shape
        h = _by_head(h, heads)
        vectors = torch.stack([source, target], dim=-1).view(r * heads, d, 2)
        sides = torch.bmm(h, vectors).permute(2, 1, 0).contiguous()  # 2 × n × k
        scores = sides[0].index_select(0, edges.sources).add_(sides[1].index_select(0, edges.targets))
        weights = _softmax(functional.leaky_relu(scores, SLOPE), edges)
        # A copy even where k = 1 and the transpose is contiguous already: dropout must not reach the weights.
        kept = weights.T.clone(memory_format=torch.contiguous_format)  # k × E
        if keep is not None and scale is not None:
            kept.view(r, -1).mul_(keep).mul_(scale[:, 0])
        ctx.edges = edges
        ctx.save_for_backward(h, vectors, scores, weights, kept)
        sums = product(edges.diagonal(kept), h.view(-1, d))
        out = _side_by_side(sums, r, heads)
        # Of one head or one node it is a view, which autograd does not let change in place.
        return out + bias[:, None] if out._is_view() else out.add_(bias[:, None])

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, ...]:
        """Gradients of h, both vectors and the bias."""
        h, vectors, scores, weights, kept = ctx.saved_tensors
        edges, (r, _, _), (k, d, _) = ctx.edges, upstream[0].shape, vectors.shape
        gradient = _by_head(upstream[0], k // r).view(-1, d)
        to_scores = edges.products(gradient, h.view(-1, d)).mul_(kept).T.contiguous()
        to_scores.addcmul_(weights, product(edges.into, to_scores).index_select(0, edges.targets), value=-1)
        to_scores = torch.ops.aten.leaky_relu_backward(to_scores, scores, SLOPE, False)
        sums = [product(some, to_scores) for some in (edges.out_of, edges.into)]
        to_sides = torch.stack(sums, dim=-1).transpose(0, 1)  # k × n × 2
        to_vectors = torch.bmm(h.transpose(1, 2), to_sides).view(r, -1, d, 2)
        to_h = product(edges.diagonal(kept.index_select(1, edges.reverse)), gradient).view(h.shape)
        to_h = _side_by_side(to_h.baddbmm_(to_sides, vectors.transpose(1, 2)), r, k // r)
        return to_h, to_vectors[..., 0], to_vectors[..., 1], upstream[0].sum(dim=1), None, None, None


def _by_head(x: Tensor, heads: int) -> Tensor:
    """r × n × width → k × n × d."""
    r, n, width = x.shape
    return x.reshape(r, n, heads, width // heads).transpose(1, 2).reshape(r * heads, n, -1).contiguous()


def _side_by_side(x: Tensor, r: int, heads: int) -> Tensor:
    """k × n × d → r × n × width."""
    d = x.shape[-1]
    x = x.view(r, heads, -1, d).transpose(1, 2)
    return x.reshape(r, -1, heads * d)


def _softmax(scores: Tensor, edges: Edges) -> Tensor:
    """Softmax over the edges into each node, in the memory of the scores: E × k."""
    index = edges.targets[:, None].expand_as(scores)
    highest = scores.new_full((edges.nodes, scores.shape[1]), -torch.inf)
    highest.scatter_reduce_(0, index, scores, "amax")
    weights = scores.sub_(highest.index_select(0, edges.targets)).exp_()
    return weights.mul_(product(edges.into, weights).reciprocal_().index_select(0, edges.targets))


def initial_attention(
    rows: int, columns: int, heads: int, stream: int, draws: Draws, options: TensorOptions
) -> Parameters:
    """Draw the weights and attention vectors of a layer with gain 1; its biases are zero."""
    per_head = heads, columns // heads
    shapes = {"weight": (rows, columns), "source": per_head, "target": per_head}
    drawn = {
        name: initial_weight(*shape, stream + use, draws, options, gain=1)
        for use, (name, shape) in enumerate(shapes.items())
    }
    return drawn | {"bias": initial_bias(columns, draws, options)}


@dataclass(frozen=True)
class GAT(LayersMap):
    """Veličković et al. 2018: hidden layers of ``heads`` heads side by side, then one head.

    - ``hidden``: widths of the hidden layers, all heads together.
    - ``attention_dropout``: rate on the inputs of each layer and on the attention weights, as published.
    """

    hidden: tuple[int, ...] = (64,)
    outputs: int | None = None
    heads: int = 8
    attention_dropout: float = 0.6
    normalize_rows: bool = True

    operator: ClassVar = "attention"
    drops: ClassVar[bool] = False  # but at the map's own rate
    search_space: ClassVar = {**WIDTHS, "attention_dropout": (0.2, 0.4, 0.6), **ROWS}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.hidden, self.heads)
        rate = self.attention_dropout
        require_setting(0 <= rate < 1, "attention_dropout", "in [0, 1)", rate)

    def neighbours(self, graph: Graph, options: TensorOptions) -> Edges:
        """The edges."""
        return Edges.of(graph, options)

    def initial(self, prepared: FeatureInputs, draws: Draws, options: TensorOptions) -> Parameters:
        """Xavier weights and attention vectors with gain 1 and zero biases, as published."""
        parameters: Parameters = {}
        for layer, (rows, columns) in enumerate(pairwise(self.widths(prepared.features.shape[1]))):
            own = initial_attention(rows, columns, self._heads(layer), 3 * layer, draws, options)
            parameters |= {f"{name}_{layer}": value for name, value in own.items()}
        return parameters

    def __call__(
        self, parameters: Parameters, prepared: FeatureInputs, dropout: Dropout | None = None
    ) -> Tensor:
        """The last layer's sums: r × n × d."""
        own, rate = None, self.attention_dropout
        if dropout is not None and rate > 0:  # layer l draws from 2 l for its input, then for attention
            own = Dropout(dropout.draws, torch.full_like(dropout.rates, rate))
        h = masked_product(prepared.features, parameters["weight_0"], own)
        x = self._attend(h, parameters, 0, prepared.neighbours, own)
        for layer in range(1, len(self.hidden) + 1):
            x, weight = functional.elu(x, inplace=True), parameters[f"weight_{layer}"]
            if own is not None:  # weights are fewer than elements of x: they are scaled
                x = x * kept(own, 2 * layer, x[0].numel()).view(x.shape)
                weight = weight * scale_of(own, weight)
            x = self._attend(torch.bmm(x, weight), parameters, layer, prepared.neighbours, own)
        return x

    def _heads(self, layer: int) -> int:
        return self.heads if layer < len(self.hidden) else 1

    def _attend(
        self, h: Tensor, parameters: Parameters, layer: int, edges: Edges, dropout: Dropout | None
    ) -> Tensor:
        """The rest of a layer from h = x W (r × n × width): as large."""
        keep = scale = None
        if dropout is not None:
            keep = kept(dropout, 2 * layer + 1, self._heads(layer) * len(edges.sources))
            scale = scale_of(dropout, h)
        vectors = (parameters[f"{name}_{layer}"] for name in ("source", "target", "bias"))
        out: Tensor = Attention.apply(h, *vectors, edges, keep, scale)
        return out
