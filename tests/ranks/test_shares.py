"""Three processes with a share of a graph each compute what one does with all of it."""

import numpy as np
import pytest
import worker
from hypothesis import given
from hypothesis import strategies as st
from launch import HERE, together
from scipy import sparse

from graphs import clustered_graph, graphs
from kernode.compute.ranks import ALONE, Ranks
from kernode.errors import InputError
from kernode.hops import corrections, normalized_adjacency
from kernode.hops import corrections as masked_product
from kernode.hops.corrections import stacked_terms
from kernode.hops.matrices import neighbour_step
from tasks import fit_split


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What three processes found."""
    path = tmp_path_factory.mktemp("ranks") / "found.npz"
    together(3, HERE / "worker.py", path, timeout=240)
    with np.load(path) as found:
        return dict(found)


@pytest.mark.slow
def test_every_reading_of_the_operator_and_its_gradients(shared):
    for name, whole in worker.operators(worker.graph()).items():
        np.testing.assert_allclose(shared[name], whole, atol=1e-12, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kernode.KernodeWarning")
def test_training_gives_the_same_probabilities_and_similar_nodes(shared):
    for name, whole in worker.trainings(worker.graph()).items():
        np.testing.assert_allclose(shared[name], whole, atol=1e-10, err_msg=name)


@pytest.mark.slow
def test_rows_come_from_whoever_has_them_by_the_cheaper_way(shared):
    assert shared["few"]
    assert shared["most"]
    expected = np.zeros((61, 10))
    for row in (1, 8, 50):
        expected[row] = 2 * np.arange(10 * row, 10 * row + 10)
    np.testing.assert_array_equal(shared["gradient"], expected)


@pytest.mark.parametrize("variant", ["gcn", "label-propagation", "correct-and-smooth"])
def test_so_does_training_by_any_other_method(variant):
    share = worker.cut(clustered_graph(), ALONE, [0, clustered_graph().n_nodes])
    with pytest.raises(InputError, match="needs the whole graph"):
        fit_split(share, variant, (0,), "0.4/0.3/0.3")


def test_who_is_alone_has_all_rows_and_the_same_operator():
    whole = worker.graph()
    alone = worker.operators(worker.cut(whole, ALONE, [0, whole.n_nodes]))
    for name, expected in worker.operators(whole).items():
        np.testing.assert_allclose(alone[name], expected, atol=1e-12, err_msg=name)


def shares(graph, bounds):
    """All shares of a graph, for what asks nothing of other processes but their rows."""
    found = [worker.cut(graph, Ranks(rank, len(bounds) - 1), bounds) for rank in range(len(bounds) - 1)]
    for one in found:
        vars(one)["degrees"] = np.asarray(graph.adjacency.sum(axis=1), np.float64)
        vars(one)["rows_by_rank"] = lambda rows, of=found: others_rows(of, rows)
    return found


def others_rows(of, rows):
    """Rows of every share, computed like the given ones."""
    for one in of:
        at = slice(one.start, one.stop)
        yield at, STEPS[rows.dtype.kind][at].tocsr()


STEPS = {}  # of the graph that is tried just now: by kind of numbers, the matrix whose rows are told


@given(graphs(max_nodes=14), st.sampled_from(worker.READINGS), st.booleans())
def test_rows_of_the_corrections_are_those_of_the_whole_graph(graph, reading, graphblas):
    (powers, hops), n = reading, graph.n_nodes
    step = neighbour_step(graph) if powers == "each" else normalized_adjacency(graph)
    pattern = (graph.adjacency + sparse.eye_array(n, format="csr")).astype(bool).tocsr()
    STEPS.update({"f": step, "b": pattern})
    local = stacked_terms(graph, step, hops, powers)
    expected = [step] if local is None else [step, *(local[i : i + n] for i in range(0, local.shape[0], n))]
    bounds = np.unique([0, n // 3, n // 3 + n // 2, n])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked_product, "find_spec", lambda name: graphblas or None)
        for one in shares(graph, bounds):
            rows = one.stop - one.start
            found = corrections.near_rows(one, hops, powers).toarray().reshape(-1, rows, n)
            for term, whole in zip(found, expected, strict=True):
                np.testing.assert_allclose(term, whole.toarray()[one.start : one.stop], atol=1e-12)
