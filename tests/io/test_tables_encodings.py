"""Text files in whatever encoding, and as spreadsheets write them: no character is ever replaced."""

import gzip
from datetime import date, timedelta

import pytest

import kernode as kn
from refusals import refused

EDGES = "source,target\nMüller,Möller\nMöller,Mäller\nMäller,€\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(("ending", "packed"), [("", bytes), (".gz", gzip.compress)])
def test_the_encoding_is_seen(tmp_path, encoding, ending, packed):
    path = tmp_path / f"edges.csv{ending}"
    path.write_bytes(packed(EDGES.encode(encoding)))
    graph = kn.read_table(path)
    assert graph.node_names.tolist() == ["Müller", "Möller", "Mäller", "€"]
    notes = [note for note in graph.notes if "UTF-8" in note]
    expected = f"{path.name}: is not UTF-8, read as Windows-1252 (Müller); name its encoding if that is wrong"
    assert notes == ([expected] if encoding == "cp1252" else [])


@pytest.mark.parametrize("place", [10, 2**16 + 100])
def test_a_byte_far_down_is_seen_as_well(tmp_path, place):
    rows = b"source,target\n" + b"ann,bob\n" * (place // 8) + "Müller,Möller\n".encode("cp1252")
    (tmp_path / "e.csv").write_bytes(rows)
    assert set(kn.read_table(tmp_path / "e.csv").node_names.tolist()) == {"ann", "bob", "Müller", "Möller"}


def test_an_encoding_that_is_given_counts_and_is_checked(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes("source,target\nŁódź,Žilina\nŽilina,Ťapa\n".encode("cp1250"))
    with refused("ambiguous", setting="encoding"):
        kn.read_table(path)
    assert kn.read_table(path, encoding="cp1250").node_names.tolist() == ["Łódź", "Žilina", "Ťapa"]
    with refused("setting", setting="encoding"):
        kn.read_table(path, encoding="utf-8")
    for wrong in ("cp12", "base64", "a\0b", 7):
        with refused("setting", setting="encoding"):
            kn.read_table(path, encoding=wrong)
    with refused("no-effect", setting="encoding"):
        kn.read_table({"source": ["a"], "target": ["b"]}, encoding="utf-8")


def test_utf_8_with_a_broken_byte_is_not_taken_for_windows(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(EDGES.encode() + b"ann,b\xffb\n")
    with refused("ambiguous", setting="encoding"):
        kn.read_table(path)
    path.write_bytes("source,target\nМосква,Тула\n".encode("cp1251"))  # bytes that Windows-1252 has, too
    with refused("ambiguous", setting="encoding"):
        kn.read_table(path)
    spass = "source,target\n»Spaß«,Süd\n".encode("cp1252")  # ß« happens to be valid UTF-8
    path.write_bytes(spass)
    assert kn.read_table(path).node_names.tolist() == ["»Spaß«", "Süd"]


def test_model_reads_other_files_in_their_own_encodings(tmp_path):
    (tmp_path / "e.csv").write_bytes(EDGES.encode("cp1252"))
    (tmp_path / "f.csv").write_bytes(EDGES.encode())
    first = kn.read_table(tmp_path / "e.csv")
    assert kn.read_table(tmp_path / "f.csv", like=first).fingerprint == first.fingerprint
    (tmp_path / "g.csv").write_bytes("source,target\nŁódź,Müller\n".encode("cp1250"))
    assert kn.extend(first, None, tmp_path / "g.csv", encoding="cp1250").node_names.tolist()[-1] == "Łódź"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("comment", ["", "# " + "anä" * 25_000 + "\n"])
def test_a_header_is_read_to_its_end(tmp_path, encoding, comment):
    names = [f"{at} {'anü' * 700}" for at in range(40)]
    text = f"{comment}id,{','.join(names)}\n" + "".join(f"n{at}{',7' * 39},{at}\n" for at in range(3))
    (tmp_path / "n.csv").write_bytes(text.encode(encoding))
    (tmp_path / "e.csv").write_text("source,target\nn0,n1\nn1,n2\n")
    graph = kn.read_table(tmp_path / "e.csv", tmp_path / "n.csv")
    assert graph.encoding.feature_names == ("constant", names[-1])  # the others are 7 throughout
    assert graph.repairs == ()


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
    assert "Umsatz: numbers with decimal comma, points between thousands, €" in notes
    assert "Kunde seit: dates with the day first" in notes
    assert report["repairs"] == []


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
