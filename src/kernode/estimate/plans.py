"""Every map as the inputs, the parameters and the layers that it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any

from kernode.estimate.inputs import (
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
from kernode.estimate.layers import (
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
from kernode.estimate.sizes import Sizes
from kernode.estimate.work import gone_through
from kernode.maps import APPNP, GAT, GCN, FastGCN, FeatureMap, Free, HopMLP, JKConcat, Presmoothed, Smoother

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
    inputs, widths = with_messages(x, sizes, numbers), _widths(feature_map)
    pairs = [*pairwise((inputs.width, *widths))]
    heads = [*(feature_map.heads for _ in feature_map.hidden), 1]
    shapes: list[Shape] = []
    for (rows, width), many in zip(pairs, heads, strict=True):
        shapes += [(width, rows), (1, many, width // many), (1, many, width // many), (width,)]

    def layers(stack: Stack) -> Layer:
        dropped = stack.array(inputs.width)  # a copy of X for every replica, and its mask
        dropout = Layer(kept=1.25 * dropped, passing=dropped, learning=gone_through(dropped, 6, made=2))
        return dropout + _passed_on(stack, sizes, pairs, heads)

    return Plan(inputs, tuple(shapes), widths[-1], layers, rough=True)


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


def _passed_on(
    stack: Stack, sizes: Sizes, pairs: list[tuple[int, int]], heads: list[int] | None = None
) -> Layer:
    """Layers of messages, one for each pair of widths."""
    layer = Layer()
    for (rows, width), many in zip(pairs, heads or [0] * len(pairs), strict=True):
        layer += messages(stack, sizes.step_entries, rows, width, many)
    return layer


def _widths(feature_map: Any) -> tuple[int, ...]:
    """Of the hidden layers and of g."""
    return (*getattr(feature_map, "hidden", ()), feature_map.outputs)
