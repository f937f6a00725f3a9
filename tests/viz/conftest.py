import numpy as np
import pytest
from trained_models import learned

import kernode as kn
from graphs import clustered_graph

ODD = ("<script>alert(1)</script>", 'quo"te & co', "$x_1$", "é中", "a" * 300)


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
def odd_model():
    """Two runs on a graph whose names pages and pictures could take for something else."""
    graph, classes = clustered_graph(n=60), ("<b>bold</b>", "$\\alpha$ & co", "_plain_ 'q'")
    labels = np.where(np.arange(60) % 5 == 4, -1, graph.labels)
    names = [f"{ODD[i % len(ODD)]} {i}" for i in range(60)]
    return learned(kn.Graph(graph.adjacency, graph.features, labels, classes, names), "jk", epochs=5)
