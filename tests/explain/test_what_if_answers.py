"""What if: what the model says of the graph as it would be, and the fewest things that decide a class."""

from itertools import combinations

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.errors import InputError
from kernode.explain.what_if import _search
from kernode.graph.edits import Edit

GRAPH = clustered_graph(n=60, classes=3)
TRAIN = np.arange(0, 60, 2)


def fitted(variant="n1", **settings):
    model = kn.NodeKernelClassifier(variant, replicas=2, random_state=0, precision=64, epochs=20, **settings)
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=np.arange(1, 60, 4))


def some_edit(node):
    there = GRAPH.adjacency[[node]].indices.tolist()
    away = next(v for v in range(GRAPH.n_nodes) if v not in there and v != node)
    return {"add": [away], "remove": there[:1], "features": {2: 7.5, "feature 0": 0.0}}


@pytest.mark.parametrize("settings", [{}, {"map": kn.maps.Diffusion((8,), hops=4)},
                                      {"map": kn.maps.GCN((4,))}, {"variant": "gcn-tuned"}])  # fmt: skip
def test_the_answer_is_that_of_the_model_on_the_edited_graph(settings):
    model = fitted(**settings)
    for node in (3, 17, 44):
        change = some_edit(node)
        found = model.what_if(node, **change)
        pairs = {name: tuple((node, one) for one in change[name]) for name in ("add", "remove")}
        edited = Edit(**pairs, features={(node, 2): 7.5, (node, 0): 0.0})(GRAPH)
        assert np.allclose(found.after, model.predict_proba([node], graph=edited)[0], atol=1e-10)
        assert np.allclose(found.before, model.predict_proba([node])[0], atol=1e-10)
        assert found.was == model.predict([node])[0]
        assert found.becomes == model.predict([node], graph=edited)[0]


def test_centroids_stay_as_they_were_trained():
    model = fitted("k1")
    found = model.what_if(3, **some_edit(3))
    change = some_edit(3)
    pairs = {name: tuple((3, one) for one in change[name]) for name in ("add", "remove")}
    edited = Edit(**pairs, features={(3, 2): 7.5, (3, 0): 0.0})(GRAPH)
    assert np.allclose(found.after, model.predict_proba([3], graph=edited)[0], atol=1e-10)


def test_an_edge_elsewhere_may_change_as_well():
    model = fitted()
    u = GRAPH.adjacency[[3]].indices.tolist()[0]
    v = next(one for one in GRAPH.adjacency[[u]].indices.tolist() if one != 3)
    after = model.what_if(3, remove=[(u, v)]).after
    edited = Edit(remove=((u, v),))(GRAPH)
    assert np.allclose(after, model.predict_proba([3], graph=edited)[0], atol=1e-10)


@pytest.mark.parametrize("what", ["edges", "features"])
def test_what_is_found_decides_and_none_of_it_can_be_left_out(what):
    model = fitted()

    def becomes(node, chosen):
        if what == "edges":
            return model.what_if(node, remove=list(chosen)).becomes if chosen else model.predict([node])[0]
        return model.what_if(node, features=dict.fromkeys(chosen, 0.0)).becomes

    some = 0
    for node in range(1, 40, 3):
        found = model.smallest_change(node, what)
        own = model.predict([node])[0]
        assert found.result.was == own
        if not found.found:
            assert found.result.becomes == own
            continue
        some += 1
        assert found.result.becomes != own
        assert becomes(node, found.found) == found.result.becomes
        for left_out in found.found:
            assert becomes(node, [one for one in found.found if one != left_out]) == own
    assert some


@pytest.mark.parametrize("seed", range(20))
def test_search_finds_the_fewest_where_it_says_so(seed):
    """Against every choice there is, for a rule at random: enough weight decides."""
    random = np.random.Generator(np.random.PCG64(seed))
    weights = random.random(7)
    needed = random.random() * 4
    decides = lambda chosen: weights[list(chosen)].sum() > needed  # noqa: E731
    order = random.permutation(7).tolist()
    found, proved = _search(order, decides)
    sizes = [k for k in range(8) for some in combinations(range(7), k) if decides(some)]
    if not found:
        assert not sizes
    else:
        assert decides(found)
        assert not proved or len(found) == min(sizes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"remove": [0, 0]}, "edge"),
        ({"features": {"nothing": 1.0}}, "has no feature 'nothing'"),
        ({"features": {99: 1.0}}, "features 0 to 7"),
        ({"add": [(1, 2, 3)]}, "an edge is a node, or two"),
        ({"add": [999]}, "999"),
    ],
)
def test_wrong_changes_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        fitted().what_if(3, **change)


def test_kinds_that_cannot_be_asked_are_refused():
    with pytest.raises(InputError, match="'edges' or 'features'"):
        fitted().smallest_change(3, "nodes")
    model = kn.NodeKernelClassifier("label-propagation").fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH)
    with pytest.raises(InputError, match="train again"):
        model.what_if(3, remove=GRAPH.adjacency[[3]].indices.tolist()[:1])
