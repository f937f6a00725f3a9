import csv

import numpy as np
import pytest
from trained_models import ODD, learned

import kernode as kn
from graphs import clustered_graph


@pytest.fixture(scope="session")
def clusters():
    return clustered_graph(n=90)


@pytest.fixture(scope="session")
def own_splits(clusters):
    """Two runs, each with a split of its own."""
    return learned(clusters, "jk")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def odd_tables(tmp_path_factory):
    """Tables whose nodes and classes have names that pages and pictures could take for something else."""
    folder = tmp_path_factory.mktemp("odd")
    graph = clustered_graph(n=60)
    names = [f"{ODD[i % len(ODD)]} {i}" for i in range(60)]
    classes = ("<b>bold</b>", "$\\alpha$ & co", "_plain_ 'q'")
    coo = graph.adjacency.tocoo()
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    with edges.open("w", newline="", encoding="utf-8") as file:
        pairs = [(names[i], names[j]) for i, j in zip(coo.row, coo.col, strict=True) if i < j]
        csv.writer(file).writerows([("source", "target"), *pairs])
    with nodes.open("w", newline="", encoding="utf-8") as file:
        rows = [
            (name, *np.round(x, 3).tolist(), "" if i % 5 == 4 else classes[label])
            for i, (name, x, label) in enumerate(zip(names, graph.features, graph.labels, strict=True))
        ]
        csv.writer(file).writerows([("id", *(f"<i>x{k}</i>" for k in range(8)), "group"), *rows])
    return edges, nodes


@pytest.fixture(scope="session")
def odd_model(odd_tables):
    """Two runs on these tables, each with a split of its own."""
    edges, nodes = odd_tables
    return learned(kn.read_table(edges, nodes, label="group"), "jk", epochs=5)
