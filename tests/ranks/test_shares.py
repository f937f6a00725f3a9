"""Three processes with a share of a graph each compute what one does with all of it."""

import numpy as np
import pytest
import worker
from launch import HERE, together

from kernode.compute.ranks import ALONE
from kernode.data import load_graph
from kernode.errors import InputError
from kernode.graph.share import GraphShare
from kernode.maps import GCN


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What three processes found."""
    return found_by_three(tmp_path_factory.mktemp("ranks") / "found.npz", worker.FEW)


def found_by_three(path, names):
    together(3, HERE / "worker.py", path, *names)
    with np.load(path) as found:
        return dict(found)


def test_every_reading_of_the_operator_and_its_gradients(shared):
    for name, whole in worker.operators(worker.graph()).items():
        np.testing.assert_allclose(shared[name], whole, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore::kernode.KernodeWarning")
def test_training_gives_the_same_probabilities_and_alike_nodes(shared):
    for name, whole in worker.trainings(worker.graph()).items():
        np.testing.assert_allclose(shared[name], whole, atol=1e-10, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kernode.KernodeWarning")
def test_so_does_every_part_of_the_family(tmp_path):
    others = [name for name in worker.TRAININGS if name not in worker.FEW]
    shared = found_by_three(tmp_path / "found.npz", others)
    for name, whole in worker.trainings(worker.graph(), others).items():
        np.testing.assert_allclose(shared[name], whole, atol=1e-10, err_msg=name)


def test_rows_come_from_whoever_has_them_by_the_cheaper_way(shared):
    assert shared["few"].tolist() == [True, False]
    assert shared["most"].tolist() == [True, True]
    assert shared["few-counted"]
    assert shared["most-counted"]
    expected = np.zeros((61, 10))
    for row in (1, 8, 50):
        expected[row] = 2 * np.arange(10 * row, 10 * row + 10)
    np.testing.assert_array_equal(shared["gradient"], expected)


def test_what_needs_the_whole_graph_refuses_a_share():
    share = GraphShare.of(load_graph("cora"), ALONE)
    with pytest.raises(
        InputError, match="GCN needs the whole graph, and each process holds a share of 'cora'"
    ):
        GCN().check_graph(share)
