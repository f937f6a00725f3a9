"""What-if: answers are those for the edited graph; the smallest change is minimal."""

from itertools import combinations

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.explain.what_if import _search
from kernode.graph.edits import Edit
from kernode.maps import HopMLP
from refusals import refused

GRAPH = clustered_graph(n=60, classes=3)
TRAIN = np.arange(0, 60, 2)


def fitted(variant="n1", **settings):
    training = {"precision": 64, "epochs": 20}
    model = kn.NodeKernelClassifier(variant, replicas=2, random_state=0, training=training, **settings)
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=np.arange(1, 60, 4))


def some_edit(node):
    there = GRAPH.adjacency[[node]].indices.tolist()
    away = next(v for v in range(GRAPH.n_nodes) if v not in there and v != node)
    return {"add": [away], "remove": there[:1], "features": {2: 7.5, "feature 0": 0.0}}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"map": HopMLP((8,), hops=4, powers="plain")},
        {"map": kn.maps.GCN((4,))},
        {"variant": "gcn-tuned"},
        {"variant": "k1"},  # nearest centroids stay as they were trained
        {"variant": "auto"},
    ],
)
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
    u = GRAPH.adjacency[[3]].indices.tolist()[0]  # an edge of other nodes
    v = next(one for one in GRAPH.adjacency[[u]].indices.tolist() if one != 3)
    expected = model.predict_proba([3], graph=Edit(remove=((u, v),))(GRAPH))[0]
    assert np.allclose(model.what_if(3, remove=[(u, v)]).after, expected, atol=1e-10)


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


def test_no_smaller_choice_of_edges_decides_where_it_is_proved():
    """Against every choice there is."""
    model, proved = fitted(), 0
    for node in range(0, 60, 4):
        own = GRAPH.adjacency[[node]].indices.tolist()
        found = model.smallest_change(node)
        if not found.proved or len(own) > 7:
            continue
        proved += 1
        if len(found.found) == 1:  # of those that decide alone, the one that adds most
            alone = [one for one in own if model.what_if(node, remove=[one]).becomes != found.result.was]
            adds = {part.name: part.value for part in model.explain(node, top=100).neighbours.parts}
            assert found.found[0] == max(alone, key=adds.get)
        for k in range(1, len(found.found)):
            for some in combinations(own, k):
                assert model.what_if(node, remove=list(some)).becomes == found.result.was
    assert proved


@pytest.mark.parametrize(
    ("needed", "proved"),
    [({2}, True), ({1, 5}, True), ({0, 2, 4}, True), ({0, 1, 3, 5}, False), ({9}, False)],
)
def test_the_search_finds_what_is_needed_and_says_if_it_is_the_fewest(needed, proved):
    found = _search(list(range(6)), lambda chosen: needed <= set(chosen))
    assert found == (sorted(needed & set(range(6))), proved)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"features": {"nothing": 1.0}}, "unknown"),
        ({"features": {99: 1.0}}, "unknown"),
        ({"features": {0: np.nan}}, "not-finite"),
        ({"features": {0: 1.0, "feature 0": 1.0}}, "duplicate"),
        ({"add": [(1, 2, 3)]}, "shape"),
        ({"add": [3]}, "conflict"),
    ],
)
def test_wrong_changes_are_refused(change, code):
    with refused(code):
        fitted().what_if(3, **change)


def test_what_cannot_change_without_training_is_refused():
    with refused("setting", setting="what", value="nodes"):
        fitted().smallest_change(3, "nodes")
    for settings in ({"variant": "label-propagation"}, {"map": kn.maps.NodeEmbedding(), "epochs": 2}):
        model = kn.NodeKernelClassifier(**settings).fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH)
        with refused("unsupported"):
            model.what_if(3, remove=GRAPH.adjacency[[3]].indices.tolist()[:1])
