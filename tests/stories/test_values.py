"""Values that were read as something else than they meant: numbers, dates, categories and classes."""

import pytest

import kernode as kn

EDGES = {"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "a"]}


def nodes(**columns):
    """Four of them, or as many as there are values."""
    n = len(next(iter(columns.values())))
    return {"id": ["abcd"[i] if i < 4 else f"n{i}" for i in range(n)], **columns}


def new(n):
    """Ids of n nodes that arrive later."""
    return [f"m{i}" for i in range(n)]


def both_ways(first, columns, sentence):
    """New rows are refused with one sentence, whether they grow the graph or make another."""
    later = {"id": new(len(next(iter(columns.values())))), **columns}
    with pytest.raises(kn.InputError, match=sentence):
        kn.extend(first, later, None)
    with pytest.raises(kn.InputError, match=sentence):
        kn.read_table({"source": ["m0"], "target": ["m1"]}, later, like=first)


def test_new_rows_with_decimal_commas_are_not_a_thousand_times_as_much(desk):
    """Piotr trained on an export with points; his colleague in Munich sent the new rows."""
    rows = [(f"n{i}", "red", i / 1000) for i in range(155, 175)]
    desk.table("nodes.csv", ("id", "colour", "x"), rows)
    desk.table("edges.csv", ("source", "target"), [("n155", f"n{i}") for i in range(156, 175)])
    first = kn.read_table("edges.csv", "nodes.csv", features=["x"])
    desk.write("new.csv", "id;colour;x\nm0;red;1,500\nm1;red;2,250\n")
    sentence = "new.csv: column 'x' has numbers like 1,500, with a comma .* read with a decimal point"
    with pytest.raises(kn.InputError, match=sentence):
        kn.extend(first, "new.csv", None)
    desk.write("new.csv", "id;colour;x\nm0;red;1,500\nm1;red;0,25\n")
    with pytest.raises(kn.InputError, match="has a decimal comma .0,25., and was read with a decimal point"):
        kn.extend(first, "new.csv", None)


def test_edge_weights_of_another_notation_are_refused():
    """The same colleague sent the new edges, too."""
    first = kn.read_table({**EDGES, "weight": ["0.5", "0.25", "1.5", "2.5"]})
    edges = {"source": ["e", "f"], "target": ["a", "b"], "weight": ["1,500", "2,250"]}
    with pytest.raises(kn.InputError, match="column 'weight' has numbers like 1,500"):
        kn.extend(first, None, edges)


def test_new_dates_with_the_month_first_are_not_read_with_the_day_first():
    """Trained in London, extended in Boston: half of the dates would have been read, and wrongly."""
    first = kn.read_table(EDGES, nodes(since=["31/01/2024", "14/02/2024", "20/03/2024", "01/04/2024"]))
    both_ways(first, {"since": ["03/04/2024", "03/25/2024"]}, "dates with the month first .03/25/2024.")
