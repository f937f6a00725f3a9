from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
import python2
from scipy import sparse

from kernode.errors import FileError
from kernode.io.planetoid import unpickle


class Payload:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def touching(path) -> dict[str, tuple]:
    return {
        "os.system": (os.system, f"touch {path}"),
        "builtins.eval": (eval, f"open({str(path)!r}, 'w').close()"),
        "builtins.exec": (exec, f"open({str(path)!r}, 'w').close()"),
    }


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("payload", ["os.system", "builtins.eval", "builtins.exec"])
def test_a_pickle_that_calls_anything_else_is_refused_and_runs_nothing(tmp_path, payload, protocol):
    touched = tmp_path / "touched"
    content = pickle.dumps(Payload(*touching(touched)[payload]), protocol=protocol)
    with pytest.raises(FileError, match=r"ind\.cora\.x is not one of Planetoid's files \(it names "):
        unpickle(content, "ind.cora.x")
    assert not touched.exists()
    pickle.loads(content)  # the payload is real: unrestricted, it does touch the file
    assert touched.exists()


@pytest.mark.parametrize("opcodes", [b"(S'touch %s'\nios\nsystem\n.", b"(cos\nsystem\nS'touch %s'\no."])
def test_the_old_ways_to_make_an_instance_are_refused_too(tmp_path, opcodes):
    touched = tmp_path / "touched"
    with pytest.raises(FileError, match=r"it names os\.system"):
        unpickle(opcodes % str(touched).encode(), "x")
    assert not touched.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "list"),
        ("__builtin__", "eval"),
        ("numpy", "load"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("collections", "defaultdict.fromkeys"),
        ("scipy.sparse", "csr_matrix"),
        ("copyreg", "_reconstructor"),
        ("kernode.io.planetoid", "unpickle"),
    ],
)
def test_a_name_near_the_six_is_not_one_of_them(module, name):
    with pytest.raises(FileError, match=f"it names {module}.{name}"):
        unpickle(python2.dump(python2.name(module, name)), "x")


def test_an_array_of_python_2_is_decoded():
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    decoded = unpickle(python2.dump(python2.array(values)), "ind.cora.y")
    np.testing.assert_array_equal(decoded, values)
    assert decoded.dtype == np.int32


def test_a_sparse_matrix_of_an_old_scipy_is_decoded():
    matrix = sparse.csr_array(np.array([[0, 1.5, 0], [2, 0, 0]], dtype=np.float32))
    decoded = unpickle(python2.dump(python2.csr(matrix)), "ind.cora.x")
    assert isinstance(decoded, sparse.csr_array)
    np.testing.assert_array_equal(decoded.toarray(), matrix.toarray())


def test_a_dictionary_of_lists_is_decoded():
    lists = {0: [1, 2], 1: [0], 2: [0]}
    assert unpickle(python2.dump(python2.neighbours(lists)), "ind.cora.graph") == lists


@pytest.mark.parametrize("content", [b"", b"\x80\x02", b"not a pickle", b"\x80\x02K\x01"])
def test_a_damaged_pickle_ends_in_one_sentence(content):
    with pytest.raises(FileError, match="is not one of Planetoid's files"):
        unpickle(content, "ind.cora.x")


@pytest.mark.parametrize("opcodes", [b"\x80\x02]r\xff\xff\xff\x7f.", b"]p2147483647\n."])
def test_a_pickle_that_would_take_memory_for_a_number_is_refused_at_once(opcodes):
    """Python's own makes room for as many values as the highest number under which one is kept."""
    with pytest.raises(FileError, match="it counts further than it is long"):
        unpickle(opcodes, "ind.cora.x")


def test_a_sparse_matrix_without_its_parts_ends_in_one_sentence():
    bare = python2.name("scipy.sparse.csr", "csr_matrix") + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    with pytest.raises(FileError, match="is not one of Planetoid's files"):
        unpickle(python2.dump(bare), "ind.cora.x")
