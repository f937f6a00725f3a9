"""Baselines of a comparison: as many candidates each, published settings among them, and all train."""

import numpy as np
import pytest

from graphs import clustered_graph
from kernode.search.baselines import METHODS, ComparedMethod
from kernode.search.compare import Comparison, evaluate
from kernode.tasks.classes.variants import configure
from tasks import SINGLE

CANDIDATES = 6  # as many as "auto" has
BASELINES = {name: one for name, one in METHODS.items() if len(one.candidates) == CANDIDATES}
every_baseline = pytest.mark.parametrize("name", BASELINES)


def made(name):
    """A baseline's candidates: methods and how they are trained."""
    one = BASELINES[name]
    return [configure(one.variant, **{**one.changes, **values}) for values in one.candidates]


@every_baseline
def test_no_candidate_is_listed_twice(name):
    found = made(name)
    assert all(found.count(each) == 1 for each in found)


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "label-propagation"])
def test_rows_raw_and_scaled_and_several_learning_rates_are_tried(name):
    trained = [(getattr(method, "base", method), training) for method, training in made(name)]
    assert {method.map.normalize_rows for method, _ in trained} == {True, False}
    assert len({training.learning_rate for _, training in trained}) >= 2
    assert len({training.weight_decay for _, training in trained}) >= 2
    assert all((training.epochs, training.patience) == (1000, 200) for _, training in trained)


@every_baseline
def test_every_baseline_takes_part(name):
    """Two of its candidates, shortened, on two splits: validation picks, and there is a figure for each."""
    graph = clustered_graph(n=60)
    some = [dict(BASELINES[name].candidates[i]) for i in (0, -1)]
    for one in some:
        if "epochs" in one:
            one |= {"epochs": 3, "patience": None}
    short = ComparedMethod(name, name, BASELINES[name].variant, {}, tuple(some))
    figures = evaluate(Comparison(graph, short, 2, "0.5/0.25/0.25"), SINGLE)
    assert len(figures["accuracy"]) == len(figures["validation"]) == 2
    assert np.isfinite(figures["accuracy"]).all()
    assert min(figures["validation"]) > 0
