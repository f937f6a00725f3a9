"""Similar nodes, restricted by class, list and column."""

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from refusals import refused

BASE = clustered_graph(n=120)
LABELS = np.where(np.arange(120) % 5 == 0, -1, BASE.labels)
GRAPH = kn.Graph(BASE.adjacency, BASE.features, LABELS, ("a", "b", "c"), name="clusters")
KNOWN = np.flatnonzero(LABELS >= 0)


@pytest.fixture(scope="module")
def model():
    return kn.NodeKernelClassifier("n1", epochs=5, replicas=2, device="cpu").fit(
        KNOWN, LABELS[KNOWN], graph=GRAPH
    )


def test_restrictions_leave_the_order_of_the_rest(model):
    whole = model.similar(3, k=119)
    mask = np.arange(120) % 2 == 0
    allowed = {
        (("of_class", "b"),): LABELS == 1,
        (("of_class", 2),): LABELS == 2,
        (("among", tuple(range(50, 60))),): np.isin(np.arange(120), range(50, 60)),
        (("among", tuple(np.flatnonzero(mask))), ("of_class", "a")): mask & (LABELS == 0),
    }
    for given, kept in allowed.items():
        settings = {name: list(value) if name == "among" else value for name, value in given}
        assert model.similar(3, k=119, **settings) == [one for one in whole if kept[one[0]]]
    assert model.similar(3, k=119, among=mask) == [one for one in whole if mask[one[0]]]


def test_a_list_of_nodes_gives_a_list_of_results(model):
    assert model.similar([3, 9], k=4) == [model.similar(3, k=4), model.similar(9, k=4)]
    assert model.similar([], k=4) == []


def test_wrong_restrictions_are_refused(model):
    with refused("unknown", what="class", name="d"):
        model.similar(0, of_class="d")
    with refused("too-few"):
        model.similar(0, of_class="a", among=np.flatnonzero(LABELS == 1))
    with pytest.raises(kn.InputError):
        model.similar(0, where={"year": 2000})


@pytest.mark.slow
def test_index_finds_98_of_100_on_pubmed():
    graph, split = kn.load("pubmed", split="fastgcn")
    model = kn.NodeKernelClassifier("k3", epochs=30, replicas=3, device="cpu")
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    queries = kn.positions(range(0, graph.n_nodes, 40))
    exact, found = (model.similar(queries, exact=one) for one in (True, False))
    hits = [value >= of[-1][1] for of, one in zip(exact, found, strict=True) for _, value in one]
    assert np.mean(hits) >= 0.98
