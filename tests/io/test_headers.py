"""Headers, tables without edges, and tables that are right as they are."""

import numpy as np
import pytest

import kernode as kn

RANDOM = np.random.default_rng(0)
NUMBERS = range(1, 81)


def read(workspace, edges, nodes, **columns):
    """Two tables, each a header and rows."""
    workspace.table("edges.csv", *edges)
    workspace.table("nodes.csv", *nodes)
    return kn.read_table("edges.csv", "nodes.csv", **columns)


@pytest.mark.parametrize("third", ["rating", "weight"])
def test_items_that_are_not_listed_are_nodes_all_the_same(workspace, third):
    """Users rate items, and only users have a table; a rating is no user."""
    rated = [(user, f"i{RANDOM.integers(80)}", RANDOM.integers(1, 6)) for user in NUMBERS]
    people = ("user_id", "age"), [(user, 20 + user % 40) for user in NUMBERS]
    graph = read(workspace, (("user_id", "item_id", third), rated), people)
    assert graph.n_edges == 80
    assert "i" in graph.node_names[-1]


def test_a_name_is_no_id_where_the_first_column_is(workspace):
    """People have numbers and names, and edges have the numbers."""
    pairs = [(i, i % 80 + 1) for i in NUMBERS]
    people = ("user_id", "name", "age"), [(i, f"Ann {i}", i) for i in NUMBERS]
    graph = read(workspace, (("source", "target"), pairs), people)
    assert graph.n_nodes == 80
    assert "nodes.csv: took 'user_id' as id" in graph.notes


def test_three_decimals_between_commas_are_decimals(workspace):
    """Measured to three digits; nobody writes thousands with points between commas."""
    pairs = [(i, i % 80 + 1, f"{1 + 8 * RANDOM.random():.3f}") for i in NUMBERS]
    graph = read(workspace, (("source", "target", "weight"), pairs), (("id",), [(i,) for i in NUMBERS]))
    assert graph.adjacency.max() < 10


def test_the_index_that_pandas_writes_leaves_a_header_a_header(workspace):
    """Vectors were saved with df.to_csv(): names are 0, 1, 2, and the first is empty."""
    rows = [(f"n{i}", *RANDOM.random(3).round(4)) for i in range(9)]
    graph = read(workspace, (("source", "target"), [("n0", "n1")]), (("", "0", "1", "2"), rows))
    assert graph.node_names[:2].tolist() == ["n0", "n1"]
    assert graph.n_nodes == 9


def test_a_label_that_is_a_display_name_is_not_taken_for_classes(workspace):
    """A tool exports Id, Label and more, and every Label is different."""
    rows = [(i, f"Person {i}", i / 7) for i in NUMBERS]
    nodes = ("Id", "Label", "pagerank"), rows
    graph = read(workspace, (("source", "target"), [(1, 2)]), nodes)
    assert graph.n_classes == 0
    assert any("did not take a column as label by its name alone" in note for note in graph.notes)
    with pytest.raises(kn.InputError, match="looks like an id"):
        kn.read_table("edges.csv", "nodes.csv", label="Label")


def test_a_table_without_a_single_edge_is_said(workspace):
    """The wrong sheet was exported: people, but nobody who knows anybody."""
    workspace.table("edges.csv", ("source", "target"), [])
    workspace.table("people.csv", ("id", "age", "team"), [(i, 20 + i, "AB"[i % 2]) for i in range(30)])
    facts = workspace.kernode("data info edges.csv --nodes people.csv --label team --json").json
    sentence = "the graph has no edge: none is listed; only features can tell nodes apart"
    assert f"{sentence}." in facts["warnings"]
    assert sentence in facts["notes"]
    assert f"kernode: warning: {sentence}" in workspace.kernode("data info edges.csv --nodes people.csv").err


def test_edges_that_are_all_dropped_are_said_with_the_reason(workspace):
    """A table was joined to itself: everybody knows themselves, and one row has nobody."""
    workspace.table("edges.csv", ("source", "target"), [("a", "a"), ("b", "b"), ("a", "")])
    workspace.table("people.csv", ("id", "age"), [("a", 1), ("b", 2)])
    (warning,) = workspace.kernode("data info edges.csv --nodes people.csv --json").json["warnings"]
    assert "2 joined a node to itself" in warning
    assert "lacked one of the two nodes (row 4)" in warning


def test_names_0_and_1_are_an_edge_or_asked_about(workspace):
    """A data frame without names, or an edge between 0 and 1? Of nodes 0, 1 and 2 may be either."""
    workspace.table("edges.csv", (0, 1), [(1, 2), (2, 0)])
    facts = workspace.kernode("data info edges.csv --json").json
    assert facts["edges"] == 3
    assert any("it is an edge (a header, if 0 and 1 are names)" in note for note in facts["notes"])
    workspace.table("vectors.csv", (0, 1, 2), [(1, 5, 7), (2, 6, 8)])
    assert "(--set table.header=…)" in workspace.kernode("data info edges.csv --nodes vectors.csv").refusal
    assert workspace.kernode("data info edges.csv --set table.header=true --json").json["edges"] == 2
    assert workspace.kernode("data info edges.csv --set table.header=false --json").json["edges"] == 3
    with_names = "data info edges.csv --nodes people.csv --label team --set table.header=false --json"
    workspace.table("people.csv", ("id", "team"), [(0, "A"), (1, "B"), (2, "A")])
    assert workspace.kernode(with_names).json["classes"] == {"A": 2, "B": 1}


def test_friends_without_a_header_are_all_there(workspace):
    """ann,bob was the first line, and their friendship was lost."""
    workspace.table("friends.csv", None, [("ann", "bob"), ("bob", "eve"), ("eve", "dan")])
    facts = workspace.kernode("data info friends.csv --json").json
    assert (facts["nodes"], facts["edges"]) == (4, 3)
    assert any("row 1 is data, for 'bob' is a node" in note for note in facts["notes"])
    assert workspace.kernode("data info friends.csv --set table.header=true --json").json["edges"] == 2


def test_people_without_a_header_are_asked_about(workspace):
    """The first of the people was once taken for the names of the columns."""
    workspace.table("friends.csv", ("source", "target"), [("ann", "bob"), ("bob", "eve")])
    workspace.table("people.csv", None, [("ann", 31, "tea"), ("bob", 44, "rum"), ("eve", 12, "tea")])
    refusal = workspace.kernode("data info friends.csv --nodes people.csv").refusal
    assert "people.csv, row 1: 'ann' is a node of the edges" in refusal
    assert "--set", "table.header=false" in refusal
    # The edges do have names, which the command says too.
    words = ("--set", "table.source=source", "--set", "table.target=target", "--label", "column 3",
             "--set", "table.header=false", "--json")  # fmt: skip
    facts = workspace.kernode("data info friends.csv --nodes people.csv", *words).json
    assert facts["classes"] == {"rum": 1, "tea": 2}


@pytest.mark.parametrize("header", ["1999,2000", "3,"])
def test_numbers_over_words_are_asked_about(workspace, header):
    """Years as names of columns, or ids of two kinds?"""
    workspace.write("edges.csv", f"{header}\nann,bob\nbob,eve\n")
    assert "(--set table.header=…)" in workspace.kernode("data info edges.csv").refusal


@pytest.mark.parametrize(
    ("row", "why"),
    [("n{i},A,7,9", "dropped 3 rows that did not have 3 values"), (",A,7", "dropped 3 rows that had no id")],
)
def test_a_table_of_which_nothing_is_left_is_refused(workspace, row, why):
    """The export had a comma too many, or no ids: nobody was left, and neither was a class."""
    workspace.write("people.csv", "id,group,age\n" + "".join(row.format(i=i) + "\n" for i in range(3)))
    workspace.table("met.csv", ("source", "target"), [("n0", "n1"), ("n1", "n2")])
    refusal = workspace.kernode("data info met.csv --nodes people.csv --label group").refusal
    assert f"people.csv: {why}" in refusal
    assert "no other row is there" in refusal
