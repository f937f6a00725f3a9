"""Tables that are right as they are: strictness must not turn anybody away."""

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
