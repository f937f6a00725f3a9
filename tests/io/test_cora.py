from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from kernode.io import datasets, load_graph, write_npz
from kernode.io.registry import find

CORA_NPZ_SHA256 = "be899c75c93f8f1f1955b0d4975f91541d80bedb534ff33c4d77c6cd40047ca0"
SCRIPT = Path(__file__).parents[2] / "scripts" / "build_cora.py"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_file_in_the_package_is_the_one_that_was_built():
    assert sha256(find("cora").path) == CORA_NPZ_SHA256
    assert find("cora").path.stat().st_size < 135_000


def test_cora_is_as_large_as_the_registry_says():
    graph, entry = load_graph("cora"), datasets()[0]
    assert (graph.n_nodes, graph.n_edges) == (entry.nodes, entry.edges) == (2708, 5278)
    assert (graph.n_features, graph.n_classes) == (entry.features, entry.classes) == (1433, 7)
    assert (graph.labels < 0).sum() == entry.unlabelled == 0
    assert graph.fingerprint == entry.fingerprint
    assert graph.class_names == entry.class_names
    assert entry.available


def test_planetoids_order_is_the_committed_one():
    order = SCRIPT.with_name("cora_order.txt").read_text().split()
    assert load_graph("cora").node_names.tolist() == order


def test_writing_cora_again_gives_the_same_bytes(tmp_path):
    write_npz(load_graph("cora"), tmp_path / "again.npz")
    assert sha256(tmp_path / "again.npz") == CORA_NPZ_SHA256


@pytest.mark.slow
def test_the_script_rebuilds_cora_bit_for_bit_from_the_wheel(wheel, tmp_path):
    command = [sys.executable, SCRIPT, wheel, "--out", tmp_path / "cora.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sha256(tmp_path / "cora.npz") == CORA_NPZ_SHA256
    assert done.stdout == f"{CORA_NPZ_SHA256} cora.npz\n"


@pytest.mark.slow
def test_the_script_downloads_the_wheel_when_none_is_given(wheel, no_index, tmp_path):
    (no_index / wheel.name).symlink_to(wheel)
    command = [sys.executable, SCRIPT, "--out", tmp_path / "cora.npz"]
    subprocess.run(command, capture_output=True, check=True)
    assert sha256(tmp_path / "cora.npz") == CORA_NPZ_SHA256
