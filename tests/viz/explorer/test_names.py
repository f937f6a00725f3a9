"""Nodes by name, whole or in part."""

import numpy as np

import kernode as kn
from kernode.viz.explorer.state import NodeNames, search
from refusals import refused


def names_of(*names):
    return NodeNames(kn.Graph.from_edges([(0, 1)], np.eye(len(names)), node_names=names))


def test_the_name_itself_comes_first_then_beginnings_then_parts():
    names = names_of("xAnn", "annA", "ANN", "ann", "bob", "joann")
    found = [names.texts[i] for i in search(names.texts, "ann", 9)]
    assert found == ["ann", "ANN", "annA", "xAnn", "joann"]
    assert [names.texts[i] for i in search(names.texts, "ann", 2)] == ["ann", "ANN"]


def test_a_part_never_spans_two_names_and_signs_are_signs():
    names = names_of("ab", "cd", "a.c", "(x", "line\nbreak")
    assert search(names.texts, "b\nc", 9) == []
    assert [names.texts[i] for i in search(names.texts, ".", 9)] == ["a.c"]
    assert [names.texts[i] for i in search(names.texts, "(", 9)] == ["(x"]
    assert [names.texts[i] for i in search(names.texts, "LINE\nbreak", 9)] == ["line\nbreak"]


def test_an_empty_search_gives_the_first_nodes():
    assert search(["a", "b", "c"], "  ", 2) == [0, 1]


def test_a_name_that_is_not_there_is_said():
    with refused("unknown", what="node", name="eve"):
        names_of("ann", "bob").find("eve")


def test_search_agrees_with_looking_at_every_name():
    rng = np.random.Generator(np.random.PCG64(0))
    made = list(dict.fromkeys("".join(rng.choice(list("abA "), 4)) for _ in range(300)))
    names = names_of(*made)
    for part in ("a", "ab", "bA", "aaa", " b"):
        wanted = part.strip().casefold()
        expected = {i for i, name in enumerate(made) if wanted in name.casefold()}
        assert set(search(names.texts, part, 1000)) == expected
