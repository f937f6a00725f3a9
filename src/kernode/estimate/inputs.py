"""What a map takes from the graph before it learns: X at its place, Ā or the hop operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernode.estimate.sizes import Sizes
from kernode.estimate.work import NOTHING, Work, gone_through
from kernode.hops import HopCost

_WHILE_BUILT = (
    40  # bytes for every entry of a sparse matrix on its way to a place: float64, copies, the result
)
_SPARSE_X = 60  # and for every entry of a sparse X, which is held with its transpose


@dataclass(frozen=True)
class Inputs:
    """Bytes of what is held, bytes at the worst moment of preparing it, and the work of that."""

    width: int  # columns of what the first layer multiplies
    filled: float | None  # its entries where it is sparse; None where it is dense
    features: float = 0.0  # held
    operator: float = 0.0  # held
    building: float = 0.0  # with the operator that is being built, without the features
    work: Work = NOTHING
    cost: HopCost | None = None
    multiply_adds: float = 0.0  # of a product with the operator, for each column
    kind: str = "none"  # of operator
    reason: str = ""


def with_features(sizes: Sizes, number: int, normalize_rows: bool, on_host: bool) -> Inputs:
    """X at its place: sparse with its transpose, or a scaled copy, or the graph's own memory."""
    if sizes.filled is not None:
        held = 2.0 * sizes.filled * (number + 4)
        work = gone_through(_SPARSE_X * sizes.filled, 6, made=1)
        return Inputs(sizes.features, sizes.filled, held, building=_SPARSE_X * sizes.filled - held, work=work)
    if on_host and not normalize_rows and sizes.feature_bytes == number:
        return Inputs(sizes.features, None)
    held = float(sizes.nodes * sizes.features * number)
    return Inputs(sizes.features, None, held, work=gone_through(held, 10, made=1))


def dense_features(inputs: Inputs, sizes: Sizes, number: int) -> Inputs:
    """A dense X for a module that knows no other."""
    if inputs.filled is None:
        return inputs
    held = float(sizes.nodes * inputs.width * number)
    work = inputs.work + gone_through(held, 4, made=1)
    return replace(inputs, filled=None, features=held, building=max(inputs.building, held), work=work)


def with_step(inputs: Inputs, sizes: Sizes, number: int) -> Inputs:
    """Ā as well."""
    entries = sizes.step_entries
    return replace(
        inputs,
        operator=_held(entries, sizes.nodes, number),
        building=max(inputs.building, float(_WHILE_BUILT * entries)),
        work=inputs.work + gone_through(_WHILE_BUILT * entries, 4),
        multiply_adds=float(entries),
        kind="adjacency",
        reason=f"Ā itself: {entries:,} multiply-adds per column of a product",
    )


def with_hops(inputs: Inputs, sizes: Sizes, cost: HopCost, number: int) -> Inputs:
    """The hop operator of Eq. 7 as well, of the cheaper kind."""
    held = cost.held_bytes(cost.kind, number)
    return replace(
        inputs,
        operator=held,
        building=max(inputs.building, building_bytes(cost, cost.kind, number)),
        work=inputs.work + _counting(sizes, cost) + _building(sizes, cost, cost.kind),
        cost=cost,
        multiply_adds=min(cost.factored, cost.explicit),
        kind=cost.kind,
        reason=cost.reason(),
    )


def building_bytes(cost: HopCost, kind: str, number: int) -> float:
    """Memory at the worst moment of building, whichever of its stages that is."""
    return max(cost.building_bytes(kind), _WHILE_BUILT * held_entries(cost, kind))


def held_entries(cost: HopCost, kind: str) -> float:
    """Entries of the finished operator."""
    return cost.held_bytes(kind, 4) / 8


def smoothed(inputs: Inputs, sizes: Sizes, hops: Sequence[int], number: int) -> Inputs:
    """X after each of some numbers of hops, side by side; dense where a quarter of it is filled."""
    cells = sizes.nodes * inputs.width
    entries = cells if inputs.filled is None else inputs.filled
    reached = sizes.step_entries / sizes.nodes
    # As if every word were drawn on its own: neighbours share words, so there are fewer entries than that.
    shares = [-math.expm1(-entries / cells * reached**h) for h in hops]
    filled = None if inputs.filled is None or sum(shares) > 0.25 * len(hops) else cells * sum(shares)
    whole = float(len(hops) * cells)
    return replace(
        inputs,
        width=len(hops) * inputs.width,
        filled=filled,
        features=whole * number if filled is None else 2 * filled * (number + 4),
        building=max(inputs.building, 16 * whole if filled is None else _SPARSE_X * filled),
        work=inputs.work + Work(walks=max(hops) * entries * reached / 4) + gone_through(8 * whole, 4, made=2),
    )


def explicit_hops(inputs: Inputs, sizes: Sizes, cost: HopCost) -> Inputs:
    """The terms of Eq. 7 while X is multiplied with them; they are not kept."""
    return replace(
        inputs,
        building=max(inputs.building, cost.building_bytes("explicit")),
        work=inputs.work + _building(sizes, cost, "explicit"),
        reason="none while training: the features are summed over the hops once",
    )


def _held(entries: float, nodes: int, number: int) -> float:
    return entries * (number + 4) + 4.0 * nodes


def _counting(sizes: Sizes, cost: HopCost) -> Work:
    """What it takes to count neighbourhoods, in a sample of the rows of a large graph."""
    if cost.hops == 1:
        return NOTHING
    share = min(1.0, 4096 / sizes.nodes)
    counted = share * (sizes.walks + sum(cost.within[2:-1]) * _next_degree(sizes))
    return Work(walks=3 * min(counted, 2.0**26))


def _building(sizes: Sizes, cost: HopCost, kind: str) -> Work:
    """Products of sparse matrices: along all walks for explicit terms, looked up for factored ones."""
    copies = gone_through(building_bytes(cost, kind, 4), 2, made=1)
    farther = sum(cost.within[2:-1]) * _next_degree(sizes)
    if kind == "explicit":
        return copies + Work(walks=(8 * (sizes.walks if cost.hops > 1 else sizes.entries) + 8 * farther))
    if cost.powers == "plain" or cost.hops == 1:
        return copies
    return copies + Work(walks=1.5 * sizes.walks + 4.5 * farther)


def _next_degree(sizes: Sizes) -> float:
    """The mean degree of a node at the end of an edge."""
    return sizes.walks / max(1, sizes.entries)
