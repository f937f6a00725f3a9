"""Values that were read as something else than they meant: numbers, dates, categories and classes."""

import pytest

import kernode as kn
from kernode.errors import KernodeWarning
from refusals import refused

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


def test_new_rows_with_decimal_commas_are_not_a_thousand_times_as_much(workspace):
    """Trained on an export with points; a colleague in Munich sent the new rows."""
    rows = [(f"n{i}", "red", i / 1000) for i in range(155, 175)]
    workspace.table("nodes.csv", ("id", "colour", "x"), rows)
    workspace.table("edges.csv", ("source", "target"), [("n155", f"n{i}") for i in range(156, 175)])
    first = kn.read_table("edges.csv", "nodes.csv", features=["x"])
    workspace.write("new.csv", "id;colour;x\nm0;red;1,500\nm1;red;2,250\n")
    with refused("conflict", column="x"):
        kn.extend(first, "new.csv", None)
    workspace.write("new.csv", "id;colour;x\nm0;red;1,500\nm1;red;0,25\n")
    with refused("conflict", column="x"):
        kn.extend(first, "new.csv", None)


def test_new_dates_with_the_month_first_are_not_read_with_the_day_first():
    """Trained in London, extended in Boston: half of the dates would have been read, and wrongly."""
    first = kn.read_table(EDGES, nodes(since=["31/01/2024", "14/02/2024", "20/03/2024", "01/04/2024"]))
    both_ways(
        first, {"since": ["03/04/2024", "03/25/2024"]}, "dates in the order mdy, and the first table had dmy"
    )


def test_points_between_thousands_are_asked_about(workspace):
    """A turnover of 930, 1.073 and 4.981 euros, tab-separated, had a mean of 62."""
    workspace.table("edges.tsv", ("source", "target"), [(i, i + 1) for i in range(5)], separator="\t")
    rows = list(enumerate(["930", "1.073", "4.981", "12.400", "75", "2.310"]))
    workspace.table("shops.tsv", ("id", "turnover"), rows, separator="\t")
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


@pytest.mark.parametrize("written", ["0.5%", "about 3", "n/k"])
def test_a_column_of_new_rows_that_cannot_be_read_is_refused(written):
    """Half a percent is not a half, and the whole column was taken as missing in a side note."""
    first = kn.read_table(EDGES, nodes(x=["0.5", "0.25", "1.5", "2.5"]))
    both_ways(first, {"x": [written] * 3 + ["1"]}, f"no number in 3 of 4 values but '{written}'")


def test_new_categories_that_are_written_otherwise_are_warned_of():
    """Red became RED in the new export, and every colour a zero."""
    first = kn.read_table(EDGES, nodes(colour=["red", "blue", "red", "blue"]))
    later = {"id": new(4), "colour": ["RED", "Red", "rouge", "blue"]}
    with pytest.warns(
        KernodeWarning, match="new values in 3 of 4 rows, taken as none: 'RED', 'Red', 'rouge'"
    ):
        kn.extend(first, later, None)
    with pytest.warns(KernodeWarning, match="new values in 2 of 2 rows"):
        kn.read_table(
            {"source": ["m0"], "target": ["m1"]}, {"id": new(2), "colour": ["rouge", "bleu"]}, like=first
        )


@pytest.mark.parametrize("error", ["#DIV/0!", "#REF!", "n.a."])
def test_what_excel_writes_for_a_failed_formula_is_missing(error):
    """A fifth of the ratios divided by nothing, and the numbers became text of one word."""
    x = [str(1.5 + i) if i % 5 else error for i in range(60)]
    graph = kn.read_table(EDGES, nodes(x=x))
    assert graph.encoding.feature_names == ("constant", "x", "x is missing")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("as_text", [True, False])
def test_an_immense_number_does_not_make_all_the_same(as_text):
    """One sensor reported 1e300, and every value was the same."""
    x = [1.5, 2.5, 3.5, 1e300]
    graph = kn.read_table(EDGES, nodes(x=[*map(str, x)] if as_text else x), features={"x": "number"})
    assert "took 'x' as missing in 1 row that had no number there but '1e+300' (row 3)" in " ".join(
        graph.notes
    )
    assert "x: number, standardised (mean 2.5, " in " ".join(graph.notes)
