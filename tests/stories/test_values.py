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
    with pytest.raises(kn.InputError, match=r"has a decimal comma .0,25., and was read with a decimal point"):
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


def test_points_between_thousands_are_asked_about(desk):
    """Greta's turnover of 930, 1.073 and 4.981 euros, tab-separated, had a mean of 62."""
    desk.table("edges.tsv", ("source", "target"), [(i, i + 1) for i in range(5)], separator="\t")
    rows = list(enumerate(["930", "1.073", "4.981", "12.400", "75", "2.310"]))
    desk.table("shops.tsv", ("id", "turnover"), rows, separator="\t")
    with pytest.raises(kn.InputError, match=r"the point of 1.073 may stand before decimals or between thou"):
        kn.read_table("edges.tsv", "shops.tsv")
    assert "mean 3628" in " ".join(kn.read_table("edges.tsv", "shops.tsv", decimal=",").notes)
    assert "mean 171," in " ".join(kn.read_table("edges.tsv", "shops.tsv", decimal=".").notes)


@pytest.mark.parametrize("other", ["1500", "0.512", "12.5"])
def test_points_that_can_only_stand_before_decimals_are_not_asked_about(other):
    """One value tells: a number from 1000 on without a point, or other decimals."""
    graph = kn.read_table(EDGES, nodes(x=["1.073", "4.981", "2.310", other]))
    assert any("x: number" in note for note in graph.notes)
    elsewhere = nodes(x=["1.073", "4.981", "2.310", "930"], y=["12.5", "3.25", "1.5", "0.5"])
    kn.read_table(EDGES, elsewhere)


def test_points_between_thousands_of_weights_are_asked_about():
    """The turnover between two shops is a weight."""
    with pytest.raises(kn.InputError, match=r"the point of 1.073 may stand"):
        kn.read_table({**EDGES, "weight": ["930", "1.073", "4.981", "12.400"]})


@pytest.mark.parametrize("written", ["0.5%", "about 3", "n/k"])
def test_a_column_of_new_rows_that_cannot_be_read_is_refused(written):
    """Half a percent is not a half, and the whole column was taken as missing in a side note."""
    first = kn.read_table(EDGES, nodes(x=["0.5", "0.25", "1.5", "2.5"]))
    both_ways(
        first, {"x": [written] * 3 + ["1"]}, f"no number in 3 of 4 values but '{written}', and was read"
    )


def test_new_dates_with_the_year_last_are_refused_after_those_with_the_year_first():
    """One system exports ISO dates, the other does not."""
    first = kn.read_table(EDGES, nodes(since=["2024-01-31", "2024-02-14", "2024-03-20", "2024-04-01"]))
    both_ways(first, {"since": ["03/04/2024", "04/04/2024"]}, "no date in 2 of 2 values but '03/04/2024', …")


def test_a_few_new_values_that_cannot_be_read_are_shown():
    """A slip of the pen is missing, and the note says what stood there."""
    first = kn.read_table(EDGES, nodes(x=["0.5", "0.25", "1.5", "2.5"]))
    larger = kn.extend(first, {"id": new(3), "x": ["1", "abot 3", "2"]}, None)
    assert "nodes: took 'x' as missing in 1 row that had no number there but 'abot 3' (row 1)" in larger.notes
