"""K(u, v) on nodes by index and by name, and between two graphs."""

import copy
import pickle

import numpy as np
import pytest

from graphs import vectors
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, NodeKernel, graph_kernel


def test_unknown_node_is_named():
    with pytest.raises(InputError, match=r"node 6 is not in the graph\. Nodes run from 0 to 5"):
        NodeKernel(Linear(), vectors()).gram([0, 6])


def test_graph_kernel_needs_one_base_kernel():
    with pytest.raises(InputError, match="the same base kernel"):
        graph_kernel(NodeKernel(Linear(), vectors()), NodeKernel(RBF(), vectors()))


def test_nodes_are_indices_or_names():
    names = np.array([f"v{i}" for i in range(6)])
    plain, named = NodeKernel(Linear(), vectors()), NodeKernel(Linear(), vectors(), names=names)
    assert np.array_equal(named.gram(["v0", "v3"]), plain.gram([0, 3]))
    assert np.array_equal(named.gram([0, 3]), plain.gram([0, 3]))
    assert named.similar("v0", k=5) == [(f"v{node}", value) for node, value in plain.similar(0, k=5)]
    with pytest.raises(InputError, match="no node of this kernel is called 'v9'"):
        named.gram(["v9"])
    with pytest.raises(InputError, match="have no names"):
        plain.gram(["v0"])
    with pytest.raises(InputError, match=r"two lists of one length\. Got 2 and 1"):
        plain.pairs([0, 1], [2])


def test_one_replica_needs_no_axis():
    g = vectors(r=1)
    assert np.array_equal(NodeKernel(RBF(), g[0]).gram(), NodeKernel(RBF(), g).gram())
    assert repr(NodeKernel(RBF(), g[0])) == repr(NodeKernel(RBF(), g))


def test_a_kernel_is_its_own_copy_and_pickles_without_what_it_computed():
    kernel = NodeKernel(RBF(), vectors())
    fresh = len(pickle.dumps(kernel))
    before = kernel.gram()
    assert copy.deepcopy(kernel) is copy.copy(kernel) is kernel
    assert len(pickle.dumps(kernel)) == fresh
    assert np.array_equal(pickle.loads(pickle.dumps(kernel)).gram(), before)


def test_called_it_is_the_gram_matrix_of_two_lists():
    kernel = NodeKernel(RBF(), vectors())
    assert np.array_equal(kernel([0, 1, 2], [4]), kernel.gram([0, 1, 2], [4]))
