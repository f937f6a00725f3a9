from __future__ import annotations

import os
import pickle

import pytest
import python2

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


def test_a_sparse_matrix_without_its_parts_ends_in_one_sentence():
    bare = python2.name("scipy.sparse.csr", "csr_matrix") + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    with pytest.raises(FileError, match="is not one of Planetoid's files"):
        unpickle(python2.dump(bare), "ind.cora.x")
