"""Nodes by name, whole or in part."""

import numpy as np

from kernode.viz.explorer.state import matching


def test_the_name_itself_comes_first_then_beginnings_then_parts():
    names = ["xAnn", "annA", "ANN", "ann", "bob", "joann"]
    found = [names[i] for i in matching(names, "ann", 9)]
    assert found == ["ann", "ANN", "annA", "xAnn", "joann"]
    assert [names[i] for i in matching(names, "ann", 2)] == ["ann", "ANN"]


def test_a_part_never_spans_two_names_and_signs_are_signs():
    names = ["ab", "cd", "a.c", "(x", "line\nbreak"]
    assert matching(names, "b\nc", 9) == []
    assert [names[i] for i in matching(names, ".", 9)] == ["a.c"]
    assert [names[i] for i in matching(names, "(", 9)] == ["(x"]
    assert [names[i] for i in matching(names, "LINE\nbreak", 9)] == ["line\nbreak"]


def test_an_empty_search_gives_the_first_nodes():
    assert matching(["a", "b", "c"], "  ", 2) == [0, 1]


def test_search_agrees_with_looking_at_every_name():
    rng = np.random.Generator(np.random.PCG64(0))
    made = list(dict.fromkeys("".join(rng.choice(list("abA "), 4)) for _ in range(300)))
    for part in ("a", "ab", "bA", "aaa", " b"):
        wanted = part.strip().casefold()
        expected = {i for i, name in enumerate(made) if wanted in name.casefold()}
        assert set(matching(made, part, 1000)) == expected
