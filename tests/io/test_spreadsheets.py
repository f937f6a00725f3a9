"""Tables as spreadsheets write them: another encoding, another decimal sign, other dates."""

import csv
from datetime import date, timedelta

import pytest

TRAIN = "--epochs 60 --replicas 1 --json --variant k3-tuned -o edges.safetensors"
GERMAN_SHOP = f"fit edges.csv --nodes customers.csv --label Geschmack --predictions out.csv {TRAIN}"
UMLAUTS = ("Müller", "Möller", "Mäller")


def german(x):
    """1234.5 as Excel shows it in Germany."""
    return f"{x:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def put_german_tables(workspace, shop):
    """Both tables as Excel saves them in Germany; the last twenty customers have told no taste."""
    since = [date(2020, 1, 31) + timedelta(days=37 * at) for at in range(60)]
    rows = [
        (
            one,
            f"{UMLAUTS[at % 3]} {at}",
            german(age),
            f"{german(spent)} €",
            f"{day:%d.%m.%Y}",
            taste * (at < 40),
        )
        for at, (one, age, spent, day, taste) in enumerate(
            zip(shop.ids, shop.age, shop.spent, since, shop.taste, strict=True)
        )
    ]
    header = ("Kundennr", "Nachname", "Alter", "Umsatz", "Kunde seit", "Geschmack")
    workspace.table("customers.csv", header, rows, "cp1252", ";")
    workspace.table("edges.csv", ("von", "nach"), shop.bought_together, "cp1252", ";")


def test_what_excel_saves_in_germany_is_read_as_it_is_meant(workspace, shop):
    """Two sheets were exported, and one command typed."""
    put_german_tables(workspace, shop)
    report = workspace.kernode(GERMAN_SHOP).json
    classes = workspace.classes("out.csv")
    assert set(classes.values()) == {"Tee", "Kaffee", "Süßes"}
    assert shop.right(classes) > 0.95
    notes = " | ".join(report["notes"])
    assert "customers.csv: is not UTF-8, read as Windows-1252" in notes
    assert "Alter: numbers with decimal comma" in notes
    assert "Umsatz: numbers with decimal comma, points between thousands and €" in notes
    assert "Kunde seit: dates with the day first" in notes
    assert report["repairs"] == []


def test_next_months_sheet_is_read_like_the_first(workspace, shop):
    """A month later there are three sheets in which one figure would be in doubt, and the model knows."""
    put_german_tables(workspace, shop)
    assert workspace.kernode(GERMAN_SHOP).status == 0
    header = ("Kundennr", "Nachname", "Alter", "Umsatz", "Kunde seit")
    rich, poor = (
        ("1", "Ännchen", "55,0", "5.000 €", "01.02.2021"),
        ("2", "Örs", "25,0", "1.000 €", "01.03.2021"),
    )
    workspace.table("new.csv", header, [rich, poor], "cp1252", ";")
    workspace.table("e.csv", ("von", "nach"), [("1", "2")], "cp1252", ";")
    assert (
        workspace.kernode("predict edges.safetensors --graph e.csv --nodes new.csv -o later.csv").status == 0
    )
    assert workspace.classes("later.csv")["1"] == "Süßes"


def test_three_names_with_umlauts_are_three_nodes(workspace):
    """Müller, Möller and Mäller once became one person, and Süd and Sød one region."""
    people = [
        (f"{name} {at}", region)
        for at in range(8)
        for name, region in zip(UMLAUTS, ("Süd", "Sød", "Nord"), strict=True)
    ]
    workspace.table("people.csv", ("name", "region"), people, "cp1252")
    names = [name for name, _ in people]
    workspace.table("edges.csv", ("source", "target"), zip(names[3:], names[:-3], strict=True), "cp1252")
    facts = workspace.kernode("data info edges.csv --nodes people.csv --label region --json").json
    assert facts["nodes"] == 24
    assert facts["classes"] == {"Nord": 8, "Süd": 8, "Sød": 8}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_at_the_start_of_a_file_is_honoured(workspace, encoding):
    """Excel's "Unicode text" is UTF-16, its "CSV UTF-8" has a mark that is no part of a name."""
    workspace.table("edges.csv", ("source", "target"), [("Müller", "Sød"), ("Sød", "Łódź")], encoding)
    facts = workspace.kernode("data info edges.csv --json").json
    assert (facts["nodes"], facts["edges"]) == (3, 2)
    assert not any("Windows" in note for note in facts["notes"])


def test_bytes_that_mean_nothing_are_asked_about(workspace):
    """A sheet from Warsaw: Windows-1250, whose Ť is no character of Windows-1252."""
    workspace.table("edges.csv", ("source", "target"), [("Łódź", "Ťapa"), ("Ťapa", "Brno")], "cp1250")
    refusal = workspace.kernode("data info edges.csv").refusal
    assert "it may be cp1250 (Łódź)" in refusal
    assert "--set table.encoding=…" in refusal
    assert workspace.kernode("data info edges.csv --set table.encoding=cp1250 --json").json["nodes"] == 3
    assert (
        "an encoding that Python knows"
        in workspace.kernode("data info edges.csv --set table.encoding=cp125").refusal
    )


def test_a_model_reads_later_files_in_the_encoding_that_is_said(workspace, shop):
    """Customers have names of Windows-1250, next month as well."""
    put_german_tables(workspace, shop)
    assert workspace.kernode(GERMAN_SHOP.replace(" --json", "")).status == 0
    header = ("Kundennr", "Nachname", "Alter", "Umsatz", "Kunde seit")
    row = ("Ťapa", "Ťapa", "55,0", "5.000 €", "01.02.2021")
    workspace.table("new.csv", header, [row], "cp1250", ";")
    workspace.table("e.csv", ("von", "nach"), [("Ťapa", "Ťapa"), ("Ťapa", "Žižka")], "cp1250", ";")
    predict = (
        "predict edges.safetensors --graph e.csv --nodes new.csv -o later.csv --set table.as_new_graph=true"
    )
    assert "--set table.encoding=…" in workspace.kernode(predict).refusal
    assert workspace.kernode(f"{predict} --set table.encoding=cp1250").status == 0
    assert workspace.classes("later.csv")["Ťapa"] == "Süßes"
    extend = (
        "predict edges.safetensors --graph edges.csv --nodes customers.csv --new-nodes new.csv -o more.csv"
    )
    assert "--set table.encoding=…" in workspace.kernode(extend).refusal
    assert workspace.kernode(f"{extend} --set table.encoding=cp1250").status == 0
    assert workspace.classes("more.csv") == {"Ťapa": "Süßes"}


def test_a_comma_that_may_mean_two_things_is_asked_about(workspace, shop):
    """The sheet says "1,234" throughout: a thousand or one and a bit?"""
    spent = [f"{round(x):,}" for x in shop.spent]
    workspace.table("people.csv", ("id", "spent", "taste"), zip(shop.ids, spent, shop.taste, strict=True))
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    command = "fit edges.csv --nodes people.csv --label taste"
    refusal = workspace.kernode(command).refusal
    assert "'spent'" in refusal
    assert "(--set table.decimal=…)" in refusal
    report = workspace.kernode(f"{command} --set table.decimal=. {TRAIN}").json
    assert "spent: numbers with commas between thousands" in report["notes"]
    mean = sum(round(x) for x in shop.spent) / 60
    assert any(f"mean {mean:.4g}" in note for note in report["notes"])


def test_a_day_that_may_be_a_month_is_asked_about(workspace):
    """Nobody joined after the twelfth, so 03/04/2024 is March or April."""
    workspace.table("people.csv", ("id", "joined"), [("a", "03/04/2024"), ("b", "05/06/2024")])
    workspace.table("edges.csv", ("source", "target"), [("a", "b")])
    refusal = workspace.kernode("data info edges.csv --nodes people.csv").refusal
    assert "'joined'" in refusal
    assert "(--set table.dates=…)" in refusal
    facts = workspace.kernode("data info edges.csv --nodes people.csv --set table.dates=mdy --json").json
    assert "joined: dates with the month first" in facts["notes"]


def test_weights_with_decimal_commas_are_weights(workspace):
    """All 1,5 and 2,5 once were no weights above 0, and every edge was gone."""
    workspace.table(
        "edges.csv", ("source", "target", "weight"), [("a", "b", "1,5"), ("b", "c", "2,5")], separator=";"
    )
    facts = workspace.kernode("data info edges.csv --json").json
    assert facts["edges"] == 2
    assert "weight: numbers with decimal comma" in facts["notes"]
    with (workspace.folder / "edges.csv").open() as file:
        assert next(csv.reader(file, delimiter=";")) == ["source", "target", "weight"]


def test_one_slip_of_the_pen_does_not_turn_a_column(workspace):
    """Twenty weights of 1.234 kg and a "1,5" once weighed three tons, whatever the options said."""
    weights = [*(f"{1 + at / 1000:.3f}" for at in range(201, 221)), "1,5"]
    workspace.table(
        "parcels.csv", ("id", "kg"), [(f"p{at}", kg) for at, kg in enumerate(weights)], separator="\t"
    )
    workspace.table("edges.csv", ("source", "target"), [(f"p{at}", f"p{at - 1}") for at in range(1, 21)])
    info = "data info edges.csv --nodes parcels.csv"
    refusal = workspace.kernode(info).refusal
    assert "the point of 1.201 may stand before decimals" in refusal
    assert "(--set table.decimal=…)" in refusal
    notes = " | ".join(workspace.kernode(f"{info} --set table.decimal=. --json").json["notes"])
    assert "mean 1.21" in notes
    assert "took 'kg' as missing in 1 row that had no number there but '1,5' (row 22)" in notes
