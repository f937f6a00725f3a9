"""Graphs of other libraries go in and come out as they were."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from scipy import sparse

import kernode as kn
from graphs import graphs
from kernode.errors import InputError
from refusals import refused


def dense(x):
    return x.toarray() if sparse.issparse(x) else x


@given(graphs())
def test_pyg_and_back(graph):
    data = kn.to_pyg(graph)
    again = kn.from_pyg(data)
    assert (abs(again.adjacency - graph.adjacency) > 1e-6).nnz == 0
    assert np.allclose(dense(again.features), dense(graph.features))
    assert np.array_equal(again.labels, graph.labels)
    assert data.edge_index.shape[1] == 2 * graph.n_edges


@pytest.mark.filterwarnings("ignore:the graph has no edge")
@given(graphs())
def test_networkx_and_back(graph):
    there = nx.from_scipy_sparse_array(graph.adjacency)
    names = [graph.class_names[label] if label >= 0 else None for label in graph.labels]
    nx.set_node_attributes(there, dict(enumerate(names)), "label")
    nx.set_node_attributes(there, dict(enumerate(dense(graph.features))), "features")
    again = kn.from_networkx(there, label="label", features=["features"])
    assert (abs(again.adjacency - graph.adjacency) > 1e-6).nnz == 0
    assert [again.class_names[label] if label >= 0 else None for label in again.labels] == names


def test_networkx_attributes_become_columns():
    graph = nx.DiGraph()
    graph.add_node("ann", age=31, topic="art", mixed=1)
    graph.add_node(7, age=44, topic=None, mixed="one")
    graph.add_node(("t", 1), age=None, topic="law")
    graph.add_edge("ann", 7, cost=2.5)
    graph.add_edge(7, "ann")
    graph.add_edge(7, ("t", 1))
    ours = kn.from_networkx(graph, label="topic", features=["age"], weight="cost")
    assert ours.node_names.tolist() == ["ann", "7", "('t', 1)"]
    assert ours.class_names == ("art", "law")
    assert ours.labels.tolist() == [0, -1, 1]
    assert ours.adjacency.toarray()[0, 1] == 2.5
    assert ours.encoding.feature_names == ("constant", "age", "age is missing")
    assert "mixed" in " ".join(kn.from_networkx(graph).encoding.feature_names)


def test_nodes_that_are_written_alike_are_refused():
    with pytest.raises(InputError, match="two nodes are written '1'"):
        kn.from_networkx(nx.Graph([(1, "1")]))


def test_scipy_matrices_of_any_format_and_type():
    matrix = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 5]])
    for kind in (sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix):
        graph = kn.from_scipy(kind(matrix), np.eye(3), [0, 1, -1])
        assert graph.n_edges == 2
        assert "made undirected" in graph.notes
    assert kn.from_scipy(sparse.csr_array(matrix.astype(bool)), np.eye(3)).n_edges == 2
    with pytest.raises(InputError, match="must be a square scipy sparse matrix"):
        kn.from_scipy(np.eye(3), np.eye(3))
    with refused("setting", setting="adjacency"):
        kn.from_scipy(sparse.csr_array(matrix), np.eye(4))


def test_pyg_data_with_sparse_x_weights_and_gaps():
    Data = type(kn.to_pyg(kn.Graph.from_edges([(0, 1)], np.eye(2))))
    data = Data(
        x=torch.eye(3).to_sparse(),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_attr=torch.tensor([[2.0], [3.0]]),
        y=torch.tensor([[1], [0], [-1]]),
    )
    graph = kn.from_pyg(data)
    assert sparse.issparse(graph.features)
    assert graph.features.indices.dtype == graph.features.indptr.dtype == np.int32
    assert graph.features.toarray().tolist() == np.eye(3).tolist()
    assert graph.adjacency.data.max() == 3
    assert graph.labels.tolist() == [1, 0, -1]
    with pytest.raises(InputError, match="with x and edge_index"):
        kn.from_pyg(Data(edge_index=data.edge_index))
