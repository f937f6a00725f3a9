"""Ā, exact-hop shells, and the hop operator of Eq. 7: explicit or factored, chosen by cost."""

from kernode.hops.cost import HopCost, hop_cost
from kernode.hops.matrices import Powers, check_hops, hop_matrices, hop_shells, normalized_adjacency
from kernode.hops.operator import ExplicitHops, FactoredHops, HopOperator, Kind

__all__ = [
    "ExplicitHops",
    "FactoredHops",
    "HopCost",
    "HopOperator",
    "Kind",
    "Powers",
    "check_hops",
    "hop_cost",
    "hop_matrices",
    "hop_shells",
    "normalized_adjacency",
]
