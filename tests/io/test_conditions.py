"""Nodes by the values of their columns: the same that a loop over the table finds."""

import numpy as np
import pytest

import kernode as kn
from kernode.io.tables.columns import nodes_where

N = 60
RANDOM = np.random.default_rng(0)
YEARS = [None if i % 11 == 5 else int(1990 + RANDOM.integers(0, 20)) for i in range(N)]
VENUES = [None if i % 13 == 4 else "ABC"[RANDOM.integers(0, 3)] for i in range(N)]
OPEN = [None if i % 7 == 3 else bool(RANDOM.integers(0, 2)) for i in range(N)]
DAYS = [f"20{RANDOM.integers(10, 20)}-0{RANDOM.integers(1, 9)}-15" for _ in range(N)]
TITLES = [" ".join(RANDOM.choice(["deep", "graph", "kernel", "node", "tree"], 3)) for _ in range(N)]
KINDS = {"year": "number", "venue": "category", "open": "flag", "day": "date", "title": "text"}


@pytest.fixture(scope="module", params=["dense", "sparse"])
def graph(request):
    columns = {"year": YEARS, "venue": VENUES, "open": OPEN, "day": DAYS, "title": TITLES}
    kinds = dict(KINDS)
    if request.param == "sparse":  # many values that one node has
        columns["code"], kinds["code"] = [f"c{i}" for i in range(N)], "category"
    names = [f"v{i}" for i in range(N)]
    edges = {"source": names[:-1], "target": names[1:]}
    return kn.read_table(edges, {"id": names, **columns}, features=kinds)


@pytest.mark.parametrize(
    ("wanted", "met"),
    [
        ({"year": 2001}, lambda i: YEARS[i] == 2001),
        ({"year": (2000, None)}, lambda i: YEARS[i] is not None and YEARS[i] >= 2000),
        ({"year": ("1995", "2000")}, lambda i: YEARS[i] is not None and 1995 <= YEARS[i] <= 2000),
        ({"year": (None, None)}, lambda i: YEARS[i] is not None),
        ({"year": (2000.5, 2001)}, lambda i: YEARS[i] == 2001),
        ({"venue": "B"}, lambda i: VENUES[i] == "B"),
        ({"open": True}, lambda i: OPEN[i] is True),
        ({"open": "no"}, lambda i: OPEN[i] is False),
        ({"day": ("2013-04-15", None)}, lambda i: DAYS[i] >= "2013-04-15"),
        ({"title": "Kernel"}, lambda i: "kernel" in TITLES[i]),
        ({"year": (None, 2005), "venue": "A"}, lambda i: (YEARS[i] or 9999) <= 2005 and VENUES[i] == "A"),
    ],
)
def test_conditions_are_those_of_a_loop(graph, wanted, met):
    assert nodes_where(graph, wanted).tolist() == [bool(met(i)) for i in range(N)]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"pages": 3}, "comes from a column 'pages'. Choose one of 'year'"),
        ({"venue": "Z"}, "column 'venue' has no 'Z'. Choose one of 'A', 'B', 'C'"),
        ({"venue": ("A", "B")}, "has no order"),
        ({"year": "NA"}, "'NA' is not a number"),
        ({"year": "soon"}, "'soon' is not a number"),
        ({"year": (1, 2, 3)}, "is not a number"),
        ({"open": "perhaps"}, "'perhaps' is"),
        ({"day": "noon"}, "is not a date"),
        ({"title": "zebra"}, "column 'title' has no 'zebra'"),
        ("year > 2000", "where must map columns to values"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(graph, wanted, sentence):
    with pytest.raises(kn.InputError, match=sentence):
        nodes_where(graph, wanted)


def test_columns_without_names_have_no_conditions():
    plain = kn.Graph.from_edges([(0, 1)], np.eye(2))
    with pytest.raises(kn.InputError, match="have no names"):
        nodes_where(plain, {"year": 3})
