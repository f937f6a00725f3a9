"""What a map takes from the graph before it learns: X at its place, Ā or the hop operator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernode.compute.place import Place
from kernode.hops import HopCost
from kernode.hops.cost import SAMPLED_ENTRIES, SAMPLED_ROWS
from kernode.studies.cost.sizes import Sizes
from kernode.studies.cost.work import NOTHING, Work, gone_through, walked

_ON_ITS_WAY = 40  # bytes of a sparse matrix's entry on its way to a place: float64, copies, the result
_ON_ITS_WAY_X = 60  # and of an entry of X, which is held with its transpose
_LOOKED_UP = 2**23 * 80.0  # bytes at most of a GPU's look-ups while corrections are computed


@dataclass(frozen=True)
class Numbers:
    """What numbers are made of, and where."""

    size: int  # bytes
    on_gpu: bool = False

    @classmethod
    def at(cls, place: Place) -> Numbers:
        """As a place has them."""
        return cls(place.dtype.itemsize, place.device.type == "cuda")


@dataclass(frozen=True)
class Inputs:
    """Bytes of what is held, bytes at the worst moment of preparing it, and the work of that."""

    width: int  # columns of what the first layer multiplies
    filled: float | None  # its entries where it is sparse; None where it is dense
    features: float = 0.0  # held
    operator: float = 0.0  # held
    building: float = 0.0  # in passing, with what there is of the operator
    in_main_memory: float = 0.0  # in passing, where the place is a GPU
    work: Work = NOTHING
    cost: HopCost | None = None
    multiply_adds: float = 0.0  # of a product with the operator, for each column
    kind: str = "none"  # of operator
    reason: str = "none: nothing is summed over neighbours while training"


def with_features(sizes: Sizes, numbers: Numbers, *, normalize_rows: bool) -> Inputs:
    """X at its place: sparse with its transpose, or a scaled copy, or the graph's own memory."""
    if sizes.filled is not None:
        held = 2.0 * sizes.filled * (numbers.size + 4)
        passing = _ON_ITS_WAY_X * sizes.filled - held
        work = gone_through(_ON_ITS_WAY_X * sizes.filled, 6, made=1)
        return _prepared(Inputs(sizes.features, sizes.filled, held, work=work), passing, numbers)
    if not (normalize_rows or numbers.on_gpu) and sizes.feature_bytes == numbers.size:
        return Inputs(sizes.features, None)
    held = float(sizes.nodes * sizes.features * numbers.size)
    return Inputs(sizes.features, None, held, work=gone_through(held, 10, made=1))


def dense_features(inputs: Inputs, sizes: Sizes, numbers: Numbers) -> Inputs:
    """A dense X, for what knows no other."""
    if inputs.filled is None:
        return inputs
    held = float(sizes.nodes * inputs.width * numbers.size)
    work = inputs.work + gone_through(held, 4, made=1)
    passing = max(inputs.building, inputs.features)  # the sparse one is still there
    return replace(inputs, filled=None, features=held, building=passing, work=work)


def with_messages(inputs: Inputs, sizes: Sizes, numbers: Numbers) -> Inputs:
    """A dense X and the list of edges, for another library's layers."""
    return replace(
        dense_features(inputs, sizes, numbers),
        operator=16.0 * sizes.entries,
        multiply_adds=float(sizes.step_entries),
        kind="messages",
        reason=f"messages: one along every edge, {sizes.step_entries:,} multiply-adds per column",
    )


def with_step(inputs: Inputs, sizes: Sizes, numbers: Numbers) -> Inputs:
    """Ā as well."""
    entries = float(sizes.step_entries)
    held = replace(
        inputs,
        operator=entries * (numbers.size + 4) + 4.0 * sizes.nodes,
        work=inputs.work + gone_through(_ON_ITS_WAY * entries, 2, made=1),
        multiply_adds=entries,
        kind="adjacency",
        reason=f"adjacency: Ā itself, {entries:,.0f} multiply-adds per column in every product",
    )
    return _prepared(held, _ON_ITS_WAY * entries, numbers)


def with_hops(inputs: Inputs, sizes: Sizes, cost: HopCost, numbers: Numbers) -> Inputs:
    """The hop operator of Eq. 7 as well, of the cheaper kind."""
    held = replace(
        inputs,
        operator=cost.held_bytes(cost.kind, numbers.size),
        work=inputs.work + _counting(sizes, cost) + _building(sizes, cost, cost.kind),
        cost=cost,
        multiply_adds=min(cost.factored, cost.explicit),
        kind=cost.kind,
        reason=cost.reason(),
    )
    held = _prepared(held, building_bytes(cost, cost.kind), numbers)
    if not numbers.on_gpu or cost.kind == "explicit" or cost.powers == "plain":
        return held
    looked_up = min(_LOOKED_UP, 80 * sizes.walks) + 40 * cost.within[-2]
    return replace(held, building=max(held.building, looked_up))


def smoothed(inputs: Inputs, sizes: Sizes, hops: Sequence[int], numbers: Numbers) -> Inputs:
    """X after each of some numbers of hops, side by side; dense where a quarter of it is filled."""
    cells = float(sizes.nodes * inputs.width)
    entries = cells if inputs.filled is None else inputs.filled
    reached = sizes.step_entries / sizes.nodes
    # As if every word were drawn on its own: neighbours share words, so there are fewer entries than that.
    shares = [-math.expm1(-entries / cells * reached**h) for h in hops]
    filled = None if inputs.filled is None or sum(shares) > 0.25 * len(hops) else cells * sum(shares)
    whole = len(hops) * cells
    held = replace(
        inputs,
        width=len(hops) * inputs.width,
        filled=filled,
        features=whole * numbers.size if filled is None else 2 * filled * (numbers.size + 4),
        work=inputs.work
        + walked(max(hops) * entries * reached, sizes.nodes)
        + gone_through(8 * whole, 4, made=2),
    )
    return _prepared(held, 16 * whole if filled is None else _ON_ITS_WAY_X * filled, numbers)


def explicit_terms(inputs: Inputs, sizes: Sizes, cost: HopCost, numbers: Numbers) -> Inputs:
    """The matrices of Eq. 7 while X is multiplied with them; they are not kept."""
    work = inputs.work + _building(sizes, cost, "explicit")
    return _prepared(replace(inputs, work=work), building_bytes(cost, "explicit"), numbers)


def building_bytes(cost: HopCost, kind: str) -> float:
    """Memory at the worst moment of building, whichever of its stages that is."""
    return max(cost.building_bytes(kind), _ON_ITS_WAY * held_entries(cost, kind))


def held_entries(cost: HopCost, kind: str) -> float:
    """Entries of the finished operator."""
    return cost.held_bytes(kind, bytes_per_number=0) / 4


def _prepared(inputs: Inputs, passing: float, numbers: Numbers) -> Inputs:
    """What takes so much memory while it is prepared, which for a GPU is main memory first."""
    if numbers.on_gpu:
        return replace(inputs, in_main_memory=max(inputs.in_main_memory, passing))
    return replace(inputs, building=max(inputs.building, passing))


def _counting(sizes: Sizes, cost: HopCost) -> Work:
    """What it takes to count neighbourhoods, those of some rows in a large graph."""
    if cost.hops == 1:
        return NOTHING
    share = min(1.0, SAMPLED_ROWS / sizes.nodes)
    walks = sizes.walks + sum(cost.within[2:-1]) * _next_degree(sizes)
    return walked(4 * min(share * walks, 2.0 * SAMPLED_ENTRIES), sizes.nodes)


def _building(sizes: Sizes, cost: HopCost, kind: str) -> Work:
    """Products of sparse matrices: along all walks for explicit terms, looked up for factored ones."""
    copies = gone_through(building_bytes(cost, kind), 2, made=1)
    first = sizes.walks if cost.hops > 1 else sizes.entries
    farther = sum(cost.within[2:-1]) * _next_degree(sizes)
    if kind == "explicit":
        return copies + walked(12 * (first + farther), sizes.nodes)
    if cost.powers == "plain" or cost.hops == 1:
        return copies
    return copies + walked(1.5 * first + 5 * farther, sizes.nodes)


def _next_degree(sizes: Sizes) -> float:
    """The mean degree of a node at the end of an edge."""
    return sizes.walks / max(1, sizes.entries)
