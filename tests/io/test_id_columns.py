"""Which cells are ids, which columns are an edge's ends, and what a stray quotation mark hides."""

import unicodedata
import warnings

import pandas as pd
import pytest

import kernode as kn
from kernode.errors import InputError
from refusals import refused

N = 60
NAMES = [f"n{i}" for i in range(N)]
RING = [(i, (i + step) % N) for i in range(N) for step in (1, 2, 3)]  # 180 edges
TOPIC = ["AB"[i < N // 2] for i in range(N)]


def named(one, other):
    return f"n{one}", f"n{other}"


@pytest.fixture
def read(workspace):
    """Edges between n0 … n59, or other ones, and nodes with a topic, as files."""

    def both(ids=NAMES, pairs=None, header=("id", "age", "topic"), ends=("source", "target"), **options):
        workspace.table("e.csv", ends, pairs or [named(*pair) for pair in RING])
        workspace.table("n.csv", header, [(one, 20 + i % 35, TOPIC[i]) for i, one in enumerate(ids)])
        return kn.read_table("e.csv", "n.csv", **{"label": "topic", **options})

    return both


def lines(separator=",", **notes):
    """Edges with a note each; notes by row as a spreadsheet counts, written as they are."""
    rows = [separator.join((*named(*pair), notes.get(f"row{at + 2}", "ok"))) for at, pair in enumerate(RING)]
    return "\n".join([separator.join(("source", "target", "note")), *rows]) + "\n"


@pytest.mark.parametrize("note", ['"big', '"big ""x""'])
@pytest.mark.parametrize("more", [0, 60_000], ids=["small", "larger than a block"])
def test_a_quotation_mark_that_is_never_closed(workspace, note, more):
    """One mark was typed in a note: 6 edges of 180 were read, and nothing was said."""
    workspace.write("e.csv", lines(row8=note) + "n1,n2,and on for many rows\n" * more)
    answer = workspace.kernode("data info e.csv")
    assert "e.csv, row 8: a quotation mark makes one row of" in answer.refusal


def test_a_mark_at_the_start_of_a_row_and_a_text_that_is_meant(workspace):
    """A mark stood before the source; the last note has two lines, on purpose."""
    workspace.write("e.csv", lines().replace("n5,n7,", '"n5,n7,'))
    with pytest.raises(InputError, match=r"e\.csv, row 18: a quotation mark makes one row of"):
        kn.read_table("e.csv")
    workspace.write("e.csv", lines(row20='"two\nlines, with a comma"', row181='"two\nlines"'))
    assert kn.read_table("e.csv").n_edges == 180


@pytest.mark.parametrize("separator", [",", "\t"])
def test_two_stray_marks_are_said(workspace, separator):
    """Two of them in a TSV: the rows between are one cell."""
    workspace.write("e.tsv", lines(separator, row8='"big', row107='"small'))
    with refused("damaged-file"):
        kn.read_table("e.tsv")
    workspace.write("e.tsv", lines(separator, row8='"big', row107='small"'))
    graph = kn.read_table("e.tsv")
    assert graph.n_edges == 81
    assert "e.tsv: 1 row of several lines (row 8)" in graph.notes


def test_an_index_without_a_name_is_asked_about(workspace, shop):
    """A data frame was saved with its index; age was taken for the id, and 28 people were gone."""
    frame = pd.DataFrame({"age": [20 + i * 7 % 33 for i in range(N)], "income": shop.spent, "topic": TOPIC})
    frame.to_csv("n.csv")
    workspace.table("e.csv", ("source", "target"), RING)
    pairs = pd.DataFrame(RING, columns=["source", "target"])
    for edges, nodes in (("e.csv", "n.csv"), (pairs, frame)):
        with refused("ambiguous", setting="id"):
            kn.read_table(edges, nodes, label="topic")
    graph = kn.read_table("e.csv", "n.csv", id="column 1", label="topic")
    assert graph.node_names.tolist() == [str(i) for i in range(N)]
    assert graph.encoding.feature_names == ("constant", "age", "income")
    assert kn.read_table("e.csv", "n.csv", like=graph).node_names.tolist() == graph.node_names.tolist()
    in_memory = kn.read_table(pairs, frame.rename_axis("id").sample(frac=1, random_state=0), label="topic")
    row = dict(zip(in_memory.node_names, in_memory.labels, strict=True))
    assert [row[str(i)] for i in range(N)] == graph.labels.tolist()


def test_a_first_column_that_repeats_is_asked_about(workspace, read):
    """The first column is the team: it is no id, and nobody said which is."""
    workspace.table("e.csv", ("source", "target"), [named(*pair) for pair in RING])
    workspace.table("n.csv", ("team", "age", "topic"), [(f"n{i % 50}", i, TOPIC[i]) for i in range(N)])
    answer = workspace.kernode("fit e.csv --nodes n.csv --label topic")
    assert "'team', the first column, repeats 'n0' (rows 2 and 52). Which column holds" in answer.refusal
    assert "Name one of team, age, topic. (--set table.id=…)" in answer.refusal


def test_naming_the_label_does_not_hide_the_index():
    """Ids are the index of a frame, until the label is named."""
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    nodes = pd.DataFrame({"x": [1.0, 2.0, 4.0], "topic": ["p", "q", "p"]}, index=["a", "b", "c"])
    graph = kn.read_table(edges, nodes, label="topic", features=["x"])
    assert graph.node_names.tolist() == ["a", "b", "c"]
    assert kn.read_table(edges, nodes, like=graph).node_names.tolist() == ["a", "b", "c"]


def test_ends_of_an_edge_have_many_usual_names(read):
    """A bank writes Date, Sender, Receiver: it learned from days."""
    pairs = [(f"2024-01-{1 + at % 28:02}", *named(*pair)) for at, pair in enumerate(RING)]
    assert read(pairs=pairs, ends=("Date", "Sender", "Receiver")).n_edges == 180
    notes = read(pairs=pairs, ends=("Tag", "A", "B")).notes
    assert {"e.csv: took 'Tag' as source and 'A' as target", "e.csv: ignored 'B'"} <= {*notes}
    assert read(pairs=pairs, ends=("Tag", "A", "B"), source="A", target="B").n_edges == 180


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n{}", "N{}"),
        ("1{:02}", "01{:02}"),
        ("é{}", unicodedata.normalize("NFD", "é") + "{}"),
        ("Ann Lee {}", "Ann  Lee {}"),
        ("1{:02}", "1{:02},0"),
        ("N 0{}", "n0{}"),
    ],
)
def test_ids_that_only_look_different(read, one, other):
    """Tables come from two systems, which write ids each in its own way."""
    pairs = [(one.format(i), one.format(j)) for i, j in RING]
    ids = [other.format(i) for i in range(N)]
    with pytest.raises(InputError, match="differ only in how they are written"):
        read(ids=ids, pairs=pairs)
    ids[:30] = [one.format(i) for i in range(30)]
    with pytest.warns(kn.KernodeWarning, match=r"30 of 30 nodes that only edges mention .* such as"):
        read(ids=ids, pairs=pairs)


def test_ids_that_a_spreadsheet_rounded(read, workspace):
    """Account numbers went through a spreadsheet, which made 1.23E+12 of several."""
    ids = [f"1.{i:02}E+12" for i in range(59)] + ["1.00E+12"]
    pairs = [(ids[i], ids[j]) for i, j in RING]
    with (
        pytest.warns(
            kn.KernodeWarning, match=r"59 ids are numbers that a spreadsheet has rounded, such as '1\.00E"
        ),
        pytest.raises(InputError, match=r"'1\.00E\+12' has the class"),
    ):
        read(ids=ids, pairs=pairs)
    with pytest.raises(InputError, match=r"repeats '1\.00E\+12' \(rows 2 and 61\)"):
        read(ids=ids, pairs=pairs, header=("account", "age", "topic"))


def test_columns_of_edges_that_play_no_role_are_said(read):
    """The column is called strength, not weight: it was left out without a word."""
    pairs = [(*named(*pair), "a note", 1 + at % 3) for at, pair in enumerate(RING)]
    ends = ("source", "target", "note", "strength")
    notes = read(pairs=pairs, ends=ends).notes
    assert "e.csv: ignored 'note' and 'strength'" in notes
    assert "e.csv: ignored 'note'" in read(pairs=pairs, ends=ends, weight="strength").notes
    guessed = read(pairs=pairs, ends=("source", "target", "note", "w"))
    assert "e.csv: took 'w' as weight" in guessed.notes
    assert not any("as weight" in note for note in read(pairs=pairs, ends=ends, weight="strength").notes)


def test_two_columns_that_could_be_the_label(workspace):
    """There are class and label: one is the answer, and the other tells it."""
    workspace.table("e.csv", ("source", "target"), [named(*pair) for pair in RING])
    workspace.table("n.csv", ("id", "class", "label"), zip(NAMES, TOPIC, TOPIC, strict=True))
    with pytest.warns(
        kn.KernodeWarning, match="'label' is the label, and 'class' is a feature, which may tell"
    ):
        graph = kn.read_table("e.csv", "n.csv")
    assert "n.csv: took 'label' as label" in graph.notes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kn.read_table("e.csv", "n.csv", label="label", features=["class"])  # as she says


def test_what_a_spreadsheet_writes_for_itself(workspace):
    """The file begins with sep=;."""
    body = "\n".join(f"n{i};n{j}" for i, j in RING)
    workspace.write("b.csv", f"sep=;\nsource;target\n{body}\n")
    assert kn.read_table("b.csv").n_edges == 180
    workspace.write("b.csv", f"sep=;\nsource;target\n{body}\nn1\n")
    assert kn.read_table("b.csv").repairs[0].rows == (183,)
