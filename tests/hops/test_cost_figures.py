"""The figures of an operator's cost, worked out by hand for few entries."""

import numpy as np
import pytest

from graphs import clustered_graph
from kernode.graph import Graph
from kernode.hops import cost, hop_cost
from kernode.hops.cost import BUILDING, ENTRY_BYTES, HopCost

WITHIN = (10.0, 40.0, 70.0, 90.0)  # of ten nodes, with 0 … 3 hops


def of(powers, within=WITHIN):
    return HopCost(10, within, powers)


@pytest.mark.parametrize(
    ("powers", "explicit", "factored"),
    [
        ("each", 90, 3 * 40 + 40 + 70),
        ("last", 90 + 70, 3 * 40 + 70),
        ("released", 90 + 10, 3 * 40 + 10),
        ("plain", 10 + 40 + 70 + 90, 3 * 40),
    ],
)
def test_multiply_adds_of_both_kinds(powers, explicit, factored):
    assert of(powers).explicit == explicit
    assert of(powers).factored == factored
    assert of(powers).kind == ("explicit" if explicit <= factored else "factored")


def test_building_takes_several_copies_of_the_largest_pattern():
    copy = ENTRY_BYTES * BUILDING
    assert of("each").building_bytes("explicit") == copy * 90
    assert of("each").building_bytes("factored") == copy * 70
    assert of("each", WITHIN[:2]).building_bytes("factored") == copy * 40
    assert of("plain").building_bytes("factored") == copy * 40


def test_a_sentence_says_which_kind_and_what_the_other_would_take():
    assert of("each").reason() == "explicit: 90 multiply-adds per column, factored would take 230"
    assert of("last", (10, 40, 70, 900)).reason() == (
        "factored: 190 multiply-adds per column, explicit would take 970"
    )


def test_counting_holds_few_entries_and_ends_when_there_are_enough(monkeypatch):
    graph = clustered_graph(n=60)
    whole = hop_cost(graph, 3).within
    monkeypatch.setattr(cost, "SAMPLED_ENTRIES", 100)  # fewer than two rows may have
    counted = cost._count(graph, 3, "each")
    assert counted.within == pytest.approx(whole, rel=0.5)
    assert counted.within[:2] == whole[:2]


def test_one_hop_is_known_exactly_however_large_the_graph():
    n = 5000
    ring = Graph.from_edges(np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1), np.ones((n, 1)))
    assert hop_cost(ring, 1) == HopCost(n, (n, 3.0 * n), "each")
