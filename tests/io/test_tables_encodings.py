"""Text files in whatever encoding: detected, said, asked about, and never a character replaced."""

import gzip

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
    path.write_bytes("source,target\nŁódź,Žilina\nŽilina,Brno\n".encode("cp1250"))
    assert kn.read_table(path, encoding="cp1250").node_names.tolist() == ["Łódź", "Žilina", "Brno"]
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
