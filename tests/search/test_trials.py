"""How a method's candidate is chosen in a comparison, and what happens to one that fails."""

import json

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io import split_nodes
from kernode.search import compare
from kernode.search.baselines import METHODS, ComparedMethod
from kernode.search.compare import Comparison, evaluate, report, run_comparisons
from kernode.search.results import Results
from kernode.training.loop import DivergedError
from tasks import DOUBLE, SINGLE, fit_split

SPLIT = "0.5/0.25/0.25"
HARDLY, WELL, NEVER = 1e-6, 0.05, 1e300  # learning rates: the last diverges at once


def small(*rates, **changes):
    """K3 with some learning rates to choose from."""
    own = tuple({"learning_rate": rate} for rate in rates)
    return ComparedMethod("small", "small", "k3", {"epochs": 8, "hidden": (8,)} | changes, own)


def evaluated(graph, method, place=DOUBLE, splits=5, choose_on=5):
    return evaluate(Comparison(graph, method, splits, SPLIT, choose_on), place)


@pytest.fixture(scope="module")
def graph():
    return clustered_graph(n=60)


@pytest.fixture
def training(monkeypatch):
    """Have something done before each stack is trained: it is given the task, the method and the training."""
    fit = compare.fit_candidates

    def before(act):
        def fitting(task, candidates, **about):
            ((method, settings),) = candidates.values()
            act(task, method, settings)
            return fit(task, candidates, **about)

        monkeypatch.setattr(compare, "fit_candidates", fitting)

    return before


# The rule


def test_first_splits_choose_one_candidate_for_all_of_them(graph, training):
    stacks = []
    training(lambda task, method, settings: stacks.append((task.run.seeds, settings.learning_rate)))
    found = evaluated(graph, small(HARDLY, WELL), choose_on=2)
    assert found["chosen"] == [1] * 5
    assert [len(one["validation"]) for one in found["tried"]] == [2, 5]
    assert [one["settings"] for one in found["tried"]] == [{"learning_rate": HARDLY}, {"learning_rate": WELL}]
    assert stacks == [((0, 1), HARDLY), ((0, 1), WELL), ((2, 3, 4), WELL)]  # the first are not trained again


def test_two_stacks_give_the_figures_of_one(graph):
    in_parts = evaluated(graph, small(HARDLY, WELL), choose_on=2)
    at_once = evaluated(graph, small(WELL))
    for name in ("accuracy", "map", "precision_at_10", "validation"):
        assert in_parts[name] == at_once[name]
        assert len(in_parts[name]) == 5


@pytest.mark.parametrize(("choose_on", "chosen"), [(2, [1, 1, 1]), (0, [0, 1, 2])])
def test_highest_validation_wins_in_the_mean_of_the_first_splits_or_on_each(
    graph, monkeypatch, choose_on, chosen
):
    """What the test nodes say has no part in it: here it would choose otherwise."""
    rates, splits = (0.01, 0.02, 0.03), split_nodes(graph, SPLIT, range(3))
    values = np.array([[60, 50, 0], [50, 70, 0], [99, 0, 100]])  # split × candidate

    def made_up(on, nodes):
        candidate = rates.index(on.model.training.learning_rate)
        asked = [
            np.array_equal(splits[s].validation, own) for s, own in zip(on.model.seeds, nodes, strict=True)
        ]
        return np.where(asked, values[list(on.model.seeds), candidate], 100 - values[0, candidate])

    monkeypatch.setattr(compare, "accuracies", made_up)
    found = evaluated(graph, small(*rates, epochs=1), SINGLE, splits=3, choose_on=choose_on)
    assert found["chosen"] == chosen


def test_one_candidate_has_nothing_to_choose_and_its_result_is_found_under_any_rule(graph):
    alone, two = small(WELL), small(HARDLY, WELL)
    assert len({Comparison(graph, alone, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 1
    assert len({Comparison(graph, two, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 3


def test_candidates_give_what_each_gives_alone(graph):
    some = ({}, {"margin": 0.3, "weight_decay": 0.0}, {"hidden": (5,)})
    together = evaluated(graph, ComparedMethod("several", "", "k3", {"epochs": 5}, some), choose_on=0)
    for one, tried in zip(some, together["tried"], strict=True):
        alone = evaluated(graph, ComparedMethod("one", "", "k3", {"epochs": 5}, (one,)))
        assert tried["validation"] == pytest.approx(alone["validation"])
    json.dumps(together)


# Choices


@pytest.mark.parametrize("variant", ["auto", "sum"])
def test_a_choice_is_fitted_on_each_split_as_an_estimator_fits_it(graph, variant):
    found = evaluated(graph, ComparedMethod(variant, "", variant, {"epochs": 5}), splits=2)
    for s in (0, 1):
        model = fit_split(graph, variant, (s,), SPLIT, epochs=5)
        assert found["accuracy"][s] == pytest.approx(model.report().figures["test"]["accuracy_mean"])
        tried = {one["settings"]["variant"]: one["validation"][s] for one in found["tried"]}
        assert tried == pytest.approx(model.model_.chosen_by_validation)


# Failures


@pytest.mark.parametrize("choose_on", [0, 2])
def test_a_diverging_candidate_is_left_out_and_the_others_go_on(graph, choose_on):
    found = evaluated(graph, small(NEVER, HARDLY, WELL), choose_on=choose_on)
    alone = evaluated(graph, small(HARDLY, WELL), choose_on=choose_on)
    assert found["accuracy"] == alone["accuracy"]
    assert found["chosen"] == [c + 1 for c in alone["chosen"]]
    lost, *others = found["tried"]
    assert "diverged" in lost["lost"]
    assert set(lost["validation"]) == {None}
    assert all(one["lost"] is None for one in others)


def test_where_the_chosen_candidate_fails_later_the_next_best_takes_its_place(graph, training):
    def diverges_on_split_3(task, method, settings):
        if settings.learning_rate == WELL and 3 in task.run.seeds:
            raise DivergedError(7, [task.run.seeds.index(3)])

    training(diverges_on_split_3)
    found = evaluated(graph, small(HARDLY, WELL), SINGLE, choose_on=2)
    assert found["chosen"] == [0] * 5
    assert found["tried"][1]["validation"][3] is None


def test_where_all_fail_the_report_says_why_and_only_what_would_fail_again_is_stored(graph, tmp_path):
    smoother, folder = ComparedMethod("smoother", "smoother", "smoother"), tmp_path / "results"
    methods = {one.name: one for one in (small(NEVER, NEVER / 2), smoother)}
    found = run_comparisons(
        [Comparison(graph, one, 3, SPLIT) for one in methods.values()], Results(folder), DOUBLE
    )
    values = report({"clusters": dict(zip(methods, found, strict=True))}, methods, "smoother")
    row, other = values["data"][0]["variants"]
    assert "diverged" in row["failed"]
    assert (row["accuracy"], values["differences"]) == ([], [])
    assert len(other["accuracy"]["runs"]) == 3
    assert len(list(folder.rglob("*.json"))) == 2


@pytest.mark.parametrize(("code", "why"), [("too-large", "memory"), ("setting", "refused")])
def test_what_another_machine_or_version_may_train_is_not_stored(graph, training, tmp_path, code, why):
    def refuse(task, method, settings):
        raise InputError("this run is refused.", code)

    training(refuse)
    (found,) = run_comparisons([Comparison(graph, small(WELL), 2, SPLIT)], Results(tmp_path), SINGLE)
    assert found["failed"] == {"why": why, "sentence": "this run is refused."}
    assert not list(tmp_path.rglob("*.json"))


class CaptureError(RuntimeError):
    """What a capture ends in when memory runs out within it."""


@pytest.mark.parametrize("most", [2, 1, 0])
def test_out_of_memory_fewer_replicas_train_at_a_time(graph, training, most):
    def figures():
        found = evaluated(graph, small(HARDLY, WELL), splits=3, choose_on=2)
        return {name: value for name, value in found.items() if name != "seconds"}

    whole, sizes = figures(), []

    def limited(task, method, settings):
        if task.run.replicas > most:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory")
            finally:
                if most == 1:
                    raise CaptureError("operation failed due to a previous error during capture")
        sizes.append(task.run.replicas)

    training(limited)
    found = figures()
    if most == 0:
        assert found["failed"]["why"] == "memory"
    else:
        assert max(sizes) <= most
        assert found == whole


def test_any_other_error_is_raised(graph, training):
    def broken(*_):
        raise RuntimeError("shapes do not match")

    training(broken)
    with pytest.raises(RuntimeError, match="shapes"):
        evaluated(graph, small(WELL), SINGLE)


def test_the_command_says_what_was_lost_and_compares_the_rest(told, monkeypatch):
    n1 = ComparedMethod("n1", "N1", "n1", {"learning_rate": 1e30, "epochs": 4})
    monkeypatch.setitem(METHODS, "n1", n1)
    data = "synthetic:nodes=120,degree=4,classes=2,features=8,seed=1"
    arguments = (data, "--variants", "smoother,n1", "--splits", 2, "--split", "5-per-class")
    said = " ".join(told("compare", *arguments).split())
    assert "N1: no figures, training diverged" in said
    assert "Student's t-test, over draws of labels" in said
    values = json.loads(told("compare", *arguments, "--json"))
    smoother, n1 = values["data"][0]["variants"]
    assert len(smoother["accuracy"]["runs"]) == 2
    assert n1["tried"][0]["lost"]
