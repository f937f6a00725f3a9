import csv

import pytest

from graphs import clustered_graph
from kernode.io import write_npz

GRAPH = clustered_graph(n=90)


@pytest.fixture
def graph_file(tmp_path):
    """Three clusters as an .npz file."""
    path = tmp_path / "clusters.npz"
    write_npz(GRAPH, path)
    return str(path)


@pytest.fixture
def tables(tmp_path):
    """The same as two CSV files, with columns whose names nobody could guess: what commands need to know."""
    edges, nodes = tmp_path / "clusters.csv", tmp_path / "people.csv"
    coo = GRAPH.adjacency.tocoo()
    with edges.open("w", newline="") as file:
        pairs = [(f"n{i}", f"n{j}") for i, j in zip(coo.row, coo.col, strict=True) if i < j]
        csv.writer(file).writerows([("one", "other"), *pairs])
    with nodes.open("w", newline="") as file:
        rows = [
            (f"n{i}", *row, f"group {label}")
            for i, (row, label) in enumerate(zip(GRAPH.features.tolist(), GRAPH.labels, strict=True))
        ]
        csv.writer(file).writerows([("who", *(f"x{i}" for i in range(8)), "group"), *rows])
    return (str(edges), "--nodes", str(nodes), "--label", "group", "--set", "table.id=who",
            "--set", "table.source=one", "--set", "table.target=other")  # fmt: skip


@pytest.fixture
def kernode(tmp_path, monkeypatch, command):
    """Run a command inside an empty folder; give status, stdout and stderr."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))

    command.folder = folder
    return command
