"""Planetoid's files: decoded after their SHA-256 matched, by an allow-list."""

from __future__ import annotations

import os
import pickle

import numpy as np
import planetoid_files
import pytest
import python2

from kernode.errors import FileError
from kernode.io import planetoid
from kernode.io.planetoid import unpickle


@pytest.fixture
def graph(raw_files):
    return planetoid.decode("pubmed", raw_files["pubmed"], "raw")


def test_rows_of_tx_go_to_the_nodes_of_test_index(graph):
    words = graph.features.toarray()
    np.testing.assert_array_equal(words[:4], planetoid_files.WORDS[:4])
    np.testing.assert_array_equal(words[list(planetoid_files.TEST_NODES)], planetoid_files.WORDS[4:])
    assert graph.labels.tolist() == [0, 1, 2, 0, 1, -1, 2, 0]


def test_a_node_missing_from_test_index_stays_without_words_and_label(graph):
    assert graph.n_nodes == 8
    assert graph.labels[5] == -1
    assert not graph.features.toarray()[5].any()
    assert graph.adjacency.toarray()[5].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]  # but keeps its edge


def test_edges_are_merged_and_a_loop_counts_once(graph):
    upper = np.argwhere(np.triu(graph.adjacency.toarray()))
    assert {tuple(edge) for edge in upper.tolist()} == planetoid_files.EDGES
    assert graph.notes == ("merged 2 repeated edges", "dropped 1 self-loop")


@pytest.mark.parametrize("file", planetoid.file_names("pubmed"))
def test_a_tampered_file_is_refused_before_it_is_unpickled(raw_files, file, tmp_path):
    touched = tmp_path / "touched"
    raw_files["pubmed"][file] = pickle.dumps(_Touch(touched), protocol=2)
    with pytest.raises(FileError, match=rf"{file} is not Planetoid's file \(its SHA-256 differs\)"):
        planetoid.decode("pubmed", raw_files["pubmed"], "raw")
    assert not touched.exists()


def test_no_file_is_unpickled_before_every_digest_matched(raw_files, monkeypatch):
    monkeypatch.setattr(planetoid, "unpickle", lambda *_: pytest.fail("unpickled too early"))
    raw_files["pubmed"]["ind.pubmed.test.index"] = b"0\n"  # the last of the eight
    with pytest.raises(FileError, match="SHA-256 differs"):
        planetoid.decode("pubmed", raw_files["pubmed"], "raw")


def test_every_raw_file_has_a_digest_of_its_own():
    files = [file for name in ("cora", "citeseer", "pubmed") for file in planetoid.file_names(name)]
    assert sorted(planetoid.DIGESTS) == sorted(files)
    assert len(set(planetoid.DIGESTS.values())) == 24
    assert all(len(digest) == 64 for digest in planetoid.DIGESTS.values())


class _Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return type(self.path).touch, (self.path,)


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
