"""Ā, exact-hop shells, and the hop operator of Eq. 7: explicit or factored, chosen by cost."""

from kernode.hops.cost import HopCost, cost_of, hop_cost
from kernode.hops.matrices import (
    MOST_HOPS,
    Powers,
    check_hops,
    hop_matrices,
    hop_shells,
    normalized_adjacency,
)
from kernode.hops.operator import ExplicitHops, FactoredHops, HopOperator, Kind
from kernode.hops.rows import hop_rows

__all__ = [
    "MOST_HOPS",
    "ExplicitHops",
    "FactoredHops",
    "HopCost",
    "HopOperator",
    "Kind",
    "Powers",
    "check_hops",
    "cost_of",
    "hop_cost",
    "hop_matrices",
    "hop_rows",
    "hop_shells",
    "normalized_adjacency",
]
