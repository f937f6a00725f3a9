"""Numbers and dates as people write them, against a slow, obvious reading of each."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from kernode.errors import InputError
from kernode.io.tables.notation import (
    Clues,
    DateNotation,
    NumberNotation,
    date_notation,
    looks_at,
    number_notation,
)
from kernode.io.tables.source import database, open_table
from kernode.io.tables.table import Reading
from refusals import refused

EDGES = {"source": ["a"], "target": ["b"]}


def find_notation(texts, delimiter=None, others=None, **said):
    """How a column of texts is written, and the numbers that are read so."""
    more = {name: values * len(texts) for name, values in (others or {}).items()}
    with database() as con:
        table = open_table(con, {"x": list(texts), **more}, "t.csv", Reading())
        table = replace(table, delimiter=delimiter)
        looks = looks_at(table, table.columns)
        clues = Clues(**said, looks=looks)
        for find in (number_notation, date_notation):
            found = find(table, "x", looks["x"], clues, sure=False)
            if found is not None:
                return found, table.values(found.sql("c0"))
    return None, None


def grouped(digits, mark):
    """1234567 → 1·234·567, three by three from the right."""
    parts = []
    while len(digits) > 3:
        digits, last = digits[:-3], digits[-3:]
        parts.insert(0, last)
    return mark.join([digits, *parts])


@st.composite
def written_numbers(draw):
    """A notation, and cents as it writes them."""
    decimal, thousands = draw(
        st.sampled_from(
            [
                (",", "."),
                (",", " "),
                (",", "\u00a0"),
                (",", "\u202f"),
                (",", ""),
                (".", ","),
                (".", "'"),
                (".", " "),
                (".", ""),
            ]
        )
    )
    unit = draw(st.sampled_from(["", "€", "$", "£", "¥", "kr", "CHF", "EUR", "USD", "%"]))
    before = draw(st.booleans())
    blank = draw(st.sampled_from(["", " ", "\u00a0"]))
    cents = draw(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=12))
    texts = []
    for value in cents:
        whole, part = divmod(abs(value), 100)
        body = f"{grouped(str(whole), thousands)}{decimal}{part:02d}"
        sign = "-" * (value < 0)
        texts.append(f"{sign}{unit}{blank}{body}" if before else f"{sign}{body}{blank}{unit}")
    return decimal, unit, cents, texts


@given(written_numbers())
def test_every_notation_of_numbers_is_read_as_it_is_meant(case):
    decimal, unit, cents, texts = case
    found, values = find_notation(texts)
    assert isinstance(found, NumberNotation)
    assert (found.decimal, found.unit) == (decimal, unit)
    assert np.allclose(values, np.array(cents) / 100, rtol=1e-12)


@given(
    st.lists(st.dates(date(1000, 1, 1)), min_size=1, max_size=12),
    st.sampled_from(["%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%Y", "%m-%d-%Y", "%Y/%m/%d"]),
)
def test_every_notation_of_dates_is_read_as_it_is_meant(written, pattern):
    order = {"%d": "dmy", "%m": "mdy"}.get(pattern[:2])
    found, days = find_notation([one.strftime(pattern) for one in written], dates=order)
    assert isinstance(found, DateNotation)
    assert days.tolist() == [(one - date(1970, 1, 1)).days for one in written]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
def test_what_programs_write_stays_as_it_is(values):
    found, read = find_notation([repr(value) for value in values])
    assert found.is_plain
    assert read.tolist() == values


DECIDED = [
    (["1,234", "12,5"], {}, ",", 1.234),  # by the column itself
    (["1,234", "1,234,567"], {}, ".", 1234),
    (["1,234"], {"others": {"y": ["12,5"]}}, ",", 1.234),  # by another column
    (["1,234"], {"others": {"y": ["12.5"]}}, ".", 1234),
    (["1,234"], {"delimiter": ";"}, ",", 1.234),
    (["1,234"], {"delimiter": ";", "others": {"y": ["12.5"]}}, ".", 1234),
    (["1,234"], {"decimal": "."}, ".", 1234),
    (["1.234"], {}, ".", 1.234),  # as programs write
    (["1.234"], {"others": {"y": ["12,5"]}}, ",", 1234),
    (["1.234"], {"delimiter": ";"}, ",", 1234),
    (["1.234"], {"decimal": ","}, ",", 1234),
    (["1.234", *["1.5"] * 9], {}, ".", 1.234),
    (["1.234"] * 20 + ["1,5"], {"decimal": "."}, ".", 1.234),  # what the user says counts before all else
    (["1.234"] * 20 + ["1,5"], {"decimal": ","}, ",", 1234),
    (["1.234"] * 20 + ["1.5"], {"decimal": ","}, ",", 1234),
    (["1.234"] * 20 + ["1,5"], {"delimiter": ";"}, ",", 1234),  # a few show what the table says, too
    (["1.234"] * 20 + ["1.5", "?", "ca. 5"], {}, ".", 1.234),  # or what is usual
    (["12.5"], {"decimal": ","}, ".", 12.5),  # nothing in it is as the user says
    (["0,123"], {}, ",", 0.123),  # no thousands begin with 0
    (["1234,567"], {}, ",", 1234.567),
]


@pytest.mark.parametrize(("texts", "clues", "decimal", "value"), DECIDED)
def test_a_doubtful_sign_is_decided_by_what_else_there_is(texts, clues, decimal, value):
    found, values = find_notation(texts, **clues)
    assert found.decimal == decimal
    assert values[0] == value


REFUSED = [
    (["1,234", "5"], {}, r"t\.csv: in column 'x' the comma of 1,234.*Say which sign"),
    (["1,234"], {"others": {"y": ["1,5"], "z": ["1.5"]}}, "the comma of 1,234"),
    (["1,5", "1.5"], {}, r"values like 1,5, which the decimal sign '\.' does not fit"),
    (["1.234"] * 20 + ["1,5"], {}, r"the point of 1\.234 may stand"),
    (["1,234"] * 20 + ["1,5"], {}, "the comma of 1,234 may stand"),
    (["1.234", "12.5"], {"decimal": ","}, r"values like 12\.5, which the decimal sign ',' does not fit"),
    (["5 €", "5 $"], {}, r"has numbers with \$ and €"),
    (["5 %", "0.05"], {}, "has numbers with % and without"),
    (["01/02/2024", "3/4/2024"], {}, r"dates like 01/02/2024 may.*dmy or mdy"),
    (["3/4/2024"] * 20 + ["13/4/2024"], {}, r"dates like 3/4/2024 may.*dmy or mdy"),
    (["13/4/2024"] * 20, {"dates": "mdy"}, r"values like 13/4/2024, which the order mdy does not fit"),
    (["13/02/2024", "02/13/2024"], {}, "has dates with the day first and dates with the month first"),
]


@pytest.mark.parametrize(("texts", "clues", "sentence"), REFUSED)
def test_what_stays_in_doubt_is_refused(texts, clues, sentence):
    with pytest.raises(InputError, match=sentence):
        find_notation(texts, **clues)


@pytest.mark.parametrize(
    "texts", [["red"], ["1,2,3"], ["12,34,567"], ["10.0.0.1"], ["1.2.24"], ["€"], ["5,"], ["a 5"]]
)
def test_what_is_neither_number_nor_date_is_left_alone(texts):
    assert find_notation(texts) == (None, None)


def test_other_tables_are_read_in_the_notation_of_the_first():
    nodes = {"id": ["a", "b"], "x": ["12,5", "13,5"], "d": ["31/1/2024", "1/2/2024"]}
    first = kn.read_table({**EDGES, "weight": ["1,5"]}, nodes)
    assert first.adjacency[0, 1] == 1.5
    later = {"id": ["a", "b"], "x": ["1.234,0", "13,5"], "d": ["1/2/2024", "31/1/2024"]}
    again = kn.read_table({**EDGES, "weight": ["2,500"]}, later, like=first)
    assert again.encoding == first.encoding
    assert again.adjacency[0, 1] == 2.5
    assert again.features[:, 1].tolist() == [5, 1]  # 1234 is cut at five deviations
    assert np.array_equal(again.features[::-1, 2], first.features[:, 2])
    more = kn.extend(
        first,
        {"id": ["c"], "x": ["13,5"], "d": ["1/2/2024"]},
        {"source": ["c"], "target": ["a"], "weight": ["2,5"]},
    )
    assert np.array_equal(more.features[2], first.features[1])
    assert more.adjacency[0, 2] == 2.5
    with refused("conflict", column="x"):
        kn.read_table({**EDGES, "weight": ["2"]}, later | {"x": ["12.5", "13,5 $"]}, like=first)
    wrong = kn.read_table({**EDGES, "weight": ["2"]}, later | {"x": ["13,5", "13,5 $"]}, like=first)
    assert [list(repair.rows) for repair in wrong.repairs] == [[1]]  # taken as missing, and named
    with refused("setting", setting="weight"):
        kn.read_table({**EDGES, "weight": ["2.500"]}, later, like=first)
    with refused("no-effect", setting="decimal"):
        kn.read_table(EDGES, nodes, like=first, decimal=",")


def test_thousands_that_only_a_later_table_has_are_read():
    first = kn.read_table(EDGES, {"id": ["a", "b"], "x": ["999.5", "1.5"]})
    assert first.encoding.notations == ()
    later = kn.read_table(EDGES, {"id": ["a", "b"], "x": ["1,498.5", "1.5"]}, like=first)
    assert later.features[0, 1] == 2
    assert later.repairs == ()


def test_a_doubtful_number_among_sure_ones_is_missing():
    found, values = find_notation([*["12,5"] * 20, "1.234"])
    assert found == NumberNotation("x", ",")
    assert np.isnan(values[-1])


def test_days_that_do_not_exist_are_no_dates():
    nodes = {"id": ["a", "b", "c"], "d": ["31.02.2024", "01.03.2024", "2024-03-05"]}
    graph = kn.read_table({"source": ["a", "b"], "target": ["b", "c"]}, nodes, features={"d": "date"})
    assert [(repair.what, list(repair.rows)) for repair in graph.repairs] == [
        ("had no date there but '31.02.2024'", [0])
    ]
    assert graph.features[:, 1].tolist() == [0, -1, 1]


def test_ids_and_chosen_kinds_are_never_rewritten():
    edges = {"source": ["1,5"], "target": ["1.234"]}
    graph = kn.read_table(edges, {"id": ["1,5", "1.234"], "x": ["1,5", "2,5"]}, features={"x": "category"})
    assert graph.node_names.tolist() == ["1,5", "1.234"]
    assert graph.encoding.feature_names == ("constant", "x=1,5", "x=2,5")
    assert graph.encoding.notations == ()


@pytest.mark.parametrize("option", [{"decimal": "·"}, {"dates": "ymd"}])
def test_wrong_options_are_refused(option):
    with refused("setting", setting=next(iter(option))):
        kn.read_table(EDGES, {"id": ["a", "b"], "x": [1, 2]}, **option)


@pytest.mark.parametrize(("said", "first"), [("dmy", 4), ("mdy", 3)])
def test_the_order_that_the_user_says_counts_before_what_a_date_shows(said, first):
    _, days = find_notation(["3/4/2024"] * 20 + ["13/4/2024"], dates=said)
    assert days[0] == (date(2024, first, 7 - first) - date(1970, 1, 1)).days
