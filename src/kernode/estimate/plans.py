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
    dense_features,
    explicit_hops,
    smoothed,
    with_features,
    with_hops,
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


def plan(feature_map: FeatureMap, sizes: Sizes, number: int, *, on_host: bool) -> Plan:
    """Plan a map whose width is known, with numbers of so many bytes."""
    normalized = getattr(feature_map, "normalize_rows", True)
    return _plan(feature_map, sizes, number, with_features(sizes, number, normalized, on_host))


@singledispatch
def _plan(feature_map: Any, sizes: Sizes, number: int, x: Inputs) -> Plan:
    """Any other map: as if it passed messages along the edges in each layer."""
    inputs, widths = dense_features(x, sizes, number), _widths(feature_map)
    shapes = tuple((width, rows) for rows, width in pairwise((inputs.width, *widths)))

    def layers(stack: Stack) -> Layer:
        layer = Layer()
        for rows, width in pairwise((inputs.width, *widths)):
            layer += messages(stack, sizes.step_entries, rows, width)
        return layer

    return Plan(inputs, shapes, widths[-1], layers, rough=True)


@_plan.register
def _(feature_map: HopMLP, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs = with_hops(x, sizes, sizes.hop_cost(feature_map.hops, feature_map.powers), number)
    widths = _widths(feature_map)
    learned = ((feature_map.hops + 1,),) if feature_map.hop_weights == "learned" else ()
    return Plan(
        inputs,
        (*pairwise((inputs.width, *widths)), *learned),
        widths[-1],
        lambda stack: mlp(stack, inputs, widths) + hop_sum(stack, inputs, widths[-1]),
    )


@_plan.register
def _(feature_map: GCN, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs, widths = with_step(x, sizes, number), _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        layer = first(stack, inputs, widths[0]) + propagation(stack, inputs, widths[0])
        for rows, width in pairwise(widths):
            layer += activation(stack, rows) + between(stack, rows, width)
            layer += propagation(stack, inputs, width)
        return layer

    biases = tuple((width,) for width in widths)
    return Plan(inputs, (*pairwise((inputs.width, *widths)), *biases), widths[-1], layers)


@_plan.register
def _(feature_map: APPNP, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs, widths = with_step(x, sizes, number), _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        layer = mlp(stack, inputs, widths)
        for _ in range(feature_map.steps):
            layer += propagation(stack, inputs, widths[-1], after=3)
        return layer

    return Plan(inputs, tuple(pairwise((inputs.width, *widths))), widths[-1], layers)


@_plan.register
def _(feature_map: FastGCN, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs, widths = with_step(smoothed(x, sizes, (1,), number), sizes, number), _widths(feature_map)

    def layers(stack: Stack) -> Layer:
        drawn = 8.0 * sizes.nodes * stack.replicas  # weights in float64, from about as many samples
        sampling = Layer(passing=6 * drawn, learning=gone_through(drawn, 40, made=6))
        return mlp(stack, inputs, widths) + sampling + propagation(stack, inputs, widths[-1])

    return Plan(inputs, tuple(pairwise((inputs.width, *widths))), widths[-1], layers)


@_plan.register
def _(feature_map: Presmoothed, sizes: Sizes, number: int, x: Inputs) -> Plan:
    if feature_map.powers == "plain":
        inputs = smoothed(x, sizes, (feature_map.hops,), number)
    else:
        inputs = smoothed(x, sizes, range(feature_map.hops + 1), number)
        inputs = explicit_hops(inputs, sizes, sizes.hop_cost(feature_map.hops, feature_map.powers))
    widths = _widths(feature_map)
    shapes = tuple(pairwise((inputs.width, *widths)))
    return Plan(inputs, shapes, widths[-1], lambda stack: mlp(stack, inputs, widths))


@_plan.register
def _(feature_map: Smoother, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs = dense_features(smoothed(x, sizes, (feature_map.hops,), number), sizes, number)
    return Plan(inputs, (), sizes.features, lambda stack: Layer())


@_plan.register
def _(feature_map: Free, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs = Inputs(sizes.features, None)
    width = _widths(feature_map)[-1]
    return Plan(inputs, ((sizes.nodes, width),), width, lambda stack: Layer())


@_plan.register
def _(feature_map: GAT, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs, widths = dense_features(x, sizes, number), _widths(feature_map)
    heads = (*(feature_map.heads for _ in feature_map.hidden), 1)

    def layers(stack: Stack) -> Layer:
        layer = _dropped(stack, inputs.width)
        for (rows, width), many in zip(pairwise((inputs.width, *widths)), heads, strict=True):
            layer += messages(stack, sizes.step_entries, rows, width, many)
        return layer

    shapes: list[Shape] = []
    for (rows, width), many in zip(pairwise((inputs.width, *widths)), heads, strict=True):
        shapes += [(width, rows), (1, many, width // many), (1, many, width // many), (width,)]
    return Plan(inputs, tuple(shapes), widths[-1], layers, rough=True)


@_plan.register
def _(feature_map: JKConcat, sizes: Sizes, number: int, x: Inputs) -> Plan:
    inputs, hidden = dense_features(x, sizes, number), feature_map.hidden
    outputs = _widths(feature_map)[-1]

    def layers(stack: Stack) -> Layer:
        layer = between(stack, sum(hidden), outputs)
        for rows, width in pairwise((inputs.width, *hidden)):
            layer += messages(stack, sizes.step_entries, rows, width)
        return layer

    shapes = [
        shape for rows, width in pairwise((inputs.width, *hidden)) for shape in ((width, rows), (width,))
    ]
    return Plan(inputs, (*shapes, (outputs, sum(hidden)), (outputs,)), outputs, layers, rough=True)


def _widths(feature_map: Any) -> tuple[int, ...]:
    return (*getattr(feature_map, "hidden", ()), feature_map.outputs)


def _dropped(stack: Stack, width: int) -> Layer:
    """Dropout on X itself: a copy for every replica, and its mask."""
    out = stack.array(width)
    work = gone_through(out, 6, made=2)
    return Layer(kept=1.25 * out, passing=out, learning=work)
