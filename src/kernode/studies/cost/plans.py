"""Every map as the inputs, the parameters and the layers that it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import pairwise
from typing import Any

from kernode.maps import APPNP, GAT, GCN, FastGCN, FeatureMap, Free, HopMLP, JKConcat, Presmoothed, Smoother
from kernode.studies.cost.inputs import (
    Inputs,
    Numbers,
    dense_features,
    explicit_terms,
    smoothed,
    with_features,
    with_hops,
    with_messages,
    with_step,
)
from kernode.studies.cost.layers import (
    Layer,
    Stack,
    activation,
    between,
    first,
    hop_sum,
    messages,
    mlp,
    propagation,
)
from kernode.studies.cost.sizes import Sizes
from kernode.studies.cost.work import NOTHING, gone_through, sparse_product

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """What a map takes on a graph."""

    inputs: Inputs
    shapes: tuple[Shape, ...]  # of one replica's parameters
    width: int  # of g
    layers: Callable[[Stack], Layer]
    rough: bool = False  # another library's module, whose arrays are guessed

    @property
    def parameters(self) -> int:
        """Numbers that one replica learns."""
        return sum(math.prod(shape) for shape in self.shapes)


def plan(feature_map: FeatureMap, sizes: Sizes, numbers: Numbers) -> Plan:
    """Plan a map whose width is known."""
    normalize_rows = getattr(feature_map, "normalize_rows", True)
    x = with_features(sizes, numbers, normalize_rows=normalize_rows)
    planned: Plan = _plan(feature_map, sizes, numbers, x)
    return planned


@singledispatch
def _plan(feature_map: Any, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    """Any other map: as if it passed messages along the edges in each layer."""
    inputs, widths = with_messages(x, sizes, numbers), _widths(feature_map)
    pairs = [*pairwise((inputs.width, *widths))]
    shapes = tuple((width, rows) for rows, width in pairs)
    return Plan(inputs, shapes, widths[-1], lambda stack: _passed_on(stack, sizes, pairs), rough=True)


@_plan.register
def _(feature_map: HopMLP, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs = with_hops(x, sizes, sizes.hop_cost(feature_map.hops, feature_map.powers), numbers)
    widths = _widths(feature_map)
    learned = ((feature_map.hops + 1,),) if feature_map.hop_weights == "learned" else ()
    return Plan(
        inputs,
        (*pairwise((inputs.width, *widths)), *learned),
        widths[-1],
        lambda stack: mlp(stack, inputs, widths) + hop_sum(stack, inputs, widths[-1]),
    )


@_plan.register
def _(feature_map: GCN, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs, widths = with_step(x, sizes, numbers), _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        layer = first(stack, inputs, widths[0]) + propagation(stack, inputs, widths[0])
        for rows, width in pairwise(widths):
            layer += activation(stack, rows) + between(stack, rows, width)
            layer += propagation(stack, inputs, width)
        return layer

    biases = tuple((width,) for width in widths)
    return Plan(inputs, (*pairwise((inputs.width, *widths)), *biases), widths[-1], layers)


@_plan.register
def _(feature_map: APPNP, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs, widths = with_step(x, sizes, numbers), _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        layer = mlp(stack, inputs, widths)
        for _ in range(feature_map.steps):
            layer += propagation(stack, inputs, widths[-1], after=3)
        return layer

    return Plan(inputs, tuple(pairwise((inputs.width, *widths))), widths[-1], layers)


@_plan.register
def _(feature_map: FastGCN, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs = with_step(smoothed(x, sizes, (1,), numbers), sizes, numbers)
    widths = _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        drawn = 8.0 * sizes.nodes * stack.replicas  # weights in float64, from about as many samples
        sampling = Layer(passing=6 * drawn, learning=gone_through(drawn, 100, made=6))
        return mlp(stack, inputs, widths) + sampling + propagation(stack, inputs, widths[-1])

    return Plan(inputs, tuple(pairwise((inputs.width, *widths))), widths[-1], layers)


@_plan.register
def _(feature_map: Presmoothed, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    if feature_map.powers == "plain":
        inputs = smoothed(x, sizes, (feature_map.hops,), numbers)
    else:
        inputs = smoothed(x, sizes, range(feature_map.hops + 1), numbers)
        cost = sizes.hop_cost(feature_map.hops, feature_map.powers)
        inputs = explicit_terms(inputs, sizes, cost, numbers)
    widths = _widths(feature_map)
    shapes = tuple(pairwise((inputs.width, *widths)))
    return Plan(inputs, shapes, widths[-1], lambda stack: mlp(stack, inputs, widths))


@_plan.register
def _(feature_map: Smoother, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs = smoothed(dense_features(x, sizes, numbers), sizes, (feature_map.hops,), numbers)
    return Plan(inputs, (), sizes.features, lambda stack: Layer())


@_plan.register
def _(feature_map: Free, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    (width,) = _widths(feature_map)
    return Plan(Inputs(0, None), ((sizes.nodes, width),), width, lambda stack: Layer())


@_plan.register
def _(feature_map: GAT, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs, widths = _with_edges(x, sizes, numbers), _widths(feature_map)
    heads = [*(feature_map.heads for _ in feature_map.hidden), 1]
    shapes: list[Shape] = []
    for (rows, width), many in zip(pairwise((inputs.width, *widths)), heads, strict=True):
        shapes += [(rows, width), (many, width // many), (many, width // many), (width,)]

    def layers(stack: Stack) -> Layer:
        layer = _masked_product(stack, inputs, widths[0]) + _attention(stack, sizes, widths[0], heads[0])
        for (rows, width), many in zip(pairwise(widths), heads[1:], strict=True):
            layer += activation(stack, rows) + between(stack, rows, width)
            layer += _attention(stack, sizes, width, many)
        return layer

    return Plan(inputs, tuple(shapes), widths[-1], layers)


def _with_edges(x: Inputs, sizes: Sizes, numbers: Numbers) -> Inputs:
    """Edges in four lists of 64 bits and two matrices of sums, and the order of a sparse Xᵀ."""
    entries = float(sizes.step_entries)
    order = 0.0 if x.filled is None else 8.0 * x.filled
    return replace(
        with_step(x, sizes, numbers),
        features=x.features + order,
        operator=entries * (3 * 8 + 2 * (numbers.size + 4)) + 16.0 * sizes.nodes,
        kind="attention",
        reason=f"attention: a weight for every edge and head, {entries:,.0f} multiply-adds per column",
    )


def input_masks(stack: Stack, inputs: Inputs) -> Layer:
    """What dropout on X adds to the first product."""
    r, size = stack.replicas, stack.numbers.size
    if inputs.filled is None:
        cells = float(stack.nodes * inputs.width)  # a byte each; one replica's masked X at a time
        return Layer(kept=r * cells, passing=2 * r * cells, learning=gone_through(cells * size, 6.0 * r))
    masked = r * inputs.filled * size
    return Layer(kept=masked, passing=2 * masked, learning=gone_through(masked, 40, made=3))


def _masked_product(stack: Stack, inputs: Inputs, width: int) -> Layer:
    """X W, with an X that each replica masks for itself while it learns."""
    plain = replace(first(stack, inputs, width), left=0.0, spared=NOTHING)
    r, size = stack.replicas, stack.numbers.size
    if inputs.filled is None:
        cells = float(stack.nodes * inputs.width)
        kept, one = r * cells, cells * size  # a byte each; one replica's masked X at a time
        masking = gone_through(one, 4.0 * r, made=2.0 * r)
    else:
        kept, one = r * inputs.filled * size, r * inputs.filled * size
        masking = gone_through(kept, 8, made=3)
    drawn = 2 * r * (stack.nodes * inputs.width if inputs.filled is None else inputs.filled)  # in words
    learning = plain.learning + masking + gone_through(drawn, 34)
    return replace(plain, kept=kept, passing=max(drawn, one + 2 * stack.array(width)), learning=learning)


def _attention(stack: Stack, sizes: Sizes, width: int, heads: int) -> Layer:
    """Scores, softmax and what is kept of it, for every edge and head; then sums of h by head."""
    k, out = stack.replicas * heads, stack.array(width)
    cells = float(sizes.step_entries * k)
    edges, pattern, drawn = cells * stack.numbers.size, 4 * cells, 2 * cells
    summed = sparse_product(cells, width / heads, out, out)
    forward = summed + gone_through(edges, 22, made=4) + gone_through(out, 6, made=3)
    back = 3 * summed + gone_through(edges, 20, made=6) + gone_through(out, 8, made=3)
    return Layer(
        kept=3 * edges + pattern + 2 * out,  # scores, softmax, what is kept of it; h by head, the sums
        passing=max(4 * edges + 3 * out, drawn + edges),
        answering=4 * edges + pattern + 3 * out,
        forward=forward,
        learning=back + gone_through(drawn, 34),
    )


@_plan.register
def _(feature_map: JKConcat, sizes: Sizes, numbers: Numbers, x: Inputs) -> Plan:
    inputs, (*hidden, outputs) = with_messages(x, sizes, numbers), _widths(feature_map)
    pairs = [*pairwise((inputs.width, *hidden))]
    shapes = [shape for rows, width in pairs for shape in ((width, rows), (width,))]
    return Plan(
        inputs,
        (*shapes, (outputs, sum(hidden)), (outputs,)),
        outputs,
        lambda stack: _passed_on(stack, sizes, pairs) + between(stack, sum(hidden), outputs),
        rough=True,
    )


def _passed_on(stack: Stack, sizes: Sizes, pairs: list[tuple[int, int]]) -> Layer:
    """Layers of messages, one for each pair of widths."""
    layer = Layer()
    for rows, width in pairs:
        layer += messages(stack, sizes.step_entries, rows, width)
    return layer


def _widths(feature_map: Any) -> tuple[int, ...]:
    """Of the hidden layers and of g."""
    return (*getattr(feature_map, "hidden", ()), feature_map.outputs)
