"""Tables as spreadsheets write them: another encoding, another decimal sign, other dates."""

from datetime import date, timedelta

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


def test_bytes_that_mean_nothing_are_asked_about(workspace):
    """A sheet from Warsaw: Windows-1250, whose Ť is no character of Windows-1252."""
    workspace.table("edges.csv", ("source", "target"), [("Łódź", "Ťapa"), ("Ťapa", "Brno")], "cp1250")
    refusal = workspace.kernode("data info edges.csv").refusal
    assert "Name its encoding, such as cp1250" in refusal
    assert "--set table.encoding=…" in refusal
    assert workspace.kernode("data info edges.csv --set table.encoding=cp1250 --json").json["nodes"] == 3
    assert (
        "an encoding that Python knows"
        in workspace.kernode("data info edges.csv --set table.encoding=cp125").refusal
    )


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
