"""Models to explore: one of Cora, one of tables with odd names, and clients of their servers."""

import pytest
from fastapi.testclient import TestClient

import kernode as kn
from kernode.viz.explorer import app

ODD = ("<b>bold</b>", "a/b", "../../etc", "naïve ☃", "two words", "x&name=y", "50%", "a,b", '"quoted"')


def served(model):
    """A client of the explorer of a model."""
    return TestClient(app(model._on(None), layout="pca"), base_url="http://127.0.0.1:8765")


@pytest.fixture(name="served", scope="session")
def _served():
    return served


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A folder for layouts, so that nobody's own is touched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def model(cora, cache):
    graph, split = cora
    model = kn.NodeKernelClassifier("k3", hidden=8, epochs=8, replicas=2)
    return model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)


@pytest.fixture(scope="session")
def client(model):
    with served(model) as client:
        yield client


@pytest.fixture(scope="session")
def tables():
    """A graph from tables, whose nodes are called all kinds of things."""
    names = [*ODD, *(f"node {i}" for i in range(len(ODD), 40))]
    nodes = {
        "id": names,
        "year": [1990 + i % 7 + 10 * (i % 2) for i in range(40)],
        "venue": [("ICML", "KDD")[i % 2] for i in range(40)],
        "title": [("kernel methods on graphs", "deep learning of images")[i % 2] for i in range(40)],
        "topic": [("kernels", "networks")[i % 2] for i in range(40)],
    }
    edges = [(i, (i + step) % 40) for i in range(40) for step in (2, 4)]
    pairs = {"source": [names[i] for i, _ in edges], "target": [names[j] for _, j in edges]}
    kinds = {"year": "number", "venue": "category", "title": "text"}
    return kn.read_table(pairs, nodes, label="topic", features=kinds)


@pytest.fixture(scope="session")
def table_model(tables, cache):
    model = kn.NodeKernelClassifier("k3", hidden=8, epochs=8)
    known = kn.positions(range(30))
    return model.fit(known, tables.labels[:30], graph=tables, validation=kn.positions(range(30, 40)))


@pytest.fixture(scope="session")
def table_client(table_model):
    with served(table_model) as client:
        yield client
