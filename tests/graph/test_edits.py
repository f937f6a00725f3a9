"""An edited graph is the graph that would be built from the edited edges and features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphs import dense_features, graphs
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.edits import Edit


@st.composite
def edits(draw, graph):
    pairs = [(u, v) for u in range(graph.n_nodes) for v in range(u)]
    there = [pair for pair in pairs if graph.adjacency[pair]]
    away = [pair for pair in pairs if not graph.adjacency[pair]]
    subset = lambda some: draw(st.lists(st.sampled_from(some), unique=True, max_size=3)) if some else []  # noqa: E731
    cells = st.tuples(st.integers(0, graph.n_nodes - 1), st.integers(0, graph.n_features - 1))
    features = draw(st.dictionaries(cells, st.sampled_from([0.0, 2.0]), max_size=3))
    return Edit(tuple(subset(away)), tuple(subset(there)), features)


@given(graphs(), st.data())
def test_edited_graph_is_the_dense_edit(graph, data):
    edit = data.draw(edits(graph))
    a, x = graph.adjacency.toarray(), np.array(dense_features(graph))
    for u, v in edit.add:
        a[u, v] = a[v, u] = 1
    for u, v in edit.remove:
        a[u, v] = a[v, u] = 0
    for (node, column), value in edit.features.items():
        x[node, column] = value
    edited = edit(graph)
    assert np.allclose(edited.adjacency.toarray(), a)
    assert np.allclose(dense_features(edited), x)
    assert sparse.issparse(edited.features) == sparse.issparse(graph.features)
    assert np.array_equal(edited.labels, graph.labels)


def test_what_is_about_other_nodes_is_left_out():
    edit = Edit(((1, 5),), ((1, 2), (2, 9)), {(5, 0): 1.0, (9, 0): 2.0})
    assert edit.within(np.array([1, 2, 5])) == Edit(((0, 2),), ((0, 1),), {(2, 0): 1.0})


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (Edit(add=((0, 1),)), "nodes ann and bob have an edge already"),
        (Edit(remove=((0, 2),)), "nodes ann and eve have no edge that could be removed"),
        (Edit(add=((2, 2),)), "eve cannot have an edge with itself"),
        (Edit(add=((0, 2), (2, 0))), "ann and eve is listed twice"),
    ],
)
def test_edges_that_cannot_be_are_refused_by_name(edit, words):
    trio = Graph.from_edges([(0, 1)], np.eye(3), node_names=["ann", "bob", "eve"])
    with pytest.raises(InputError, match=words) as caught:
        edit(trio)
    assert caught.value.code == "conflict"
