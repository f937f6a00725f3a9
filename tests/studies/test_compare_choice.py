"""How a method's candidate is chosen in a comparison, and what happens to one that cannot be trained."""

import json
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from kernode.node_classification import halving
from kernode.studies.compare import choice, trials
from kernode.studies.compare.choice import choose
from kernode.studies.compare.contest import contest
from kernode.studies.compare.contestants import CONTESTANTS, Contestant
from kernode.studies.compare.matches import Match, play
from kernode.studies.compare.report import report

from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io import split_nodes
from kernode.maps import HopMLP
from kernode.search.results import Results
from kernode.search.trials import by_structure, candidates_of, stacked
from kernode.tasks.classes.variants import CANDIDATES
from tasks import DOUBLE, SINGLE

pytestmark = pytest.mark.slow  # they train, over and over

SPLIT = "0.5/0.25/0.25"
HARDLY, WELL, NEVER = 1e-6, 0.05, 1e300  # learning rates: the last diverges at once


def small(*rates, **changes):
    """K3 with some learning rates to choose from."""
    return Contestant(
        "small", "small", "k3", {"epochs": 8, "hidden": (8,)} | changes, {"learning_rate": rates}
    )


@dataclass(frozen=True)
class Explicit(Contestant):
    """A contestant that lists its candidates."""

    listed: tuple = ()

    def candidates(self):
        return [dict(one) for one in self.listed]


@pytest.fixture(scope="module")
def graph():
    return clustered_graph(n=60)


@pytest.fixture
def splits(graph):
    return split_nodes(graph, SPLIT, range(5))


@pytest.fixture
def fitted(monkeypatch):
    """The seeds and learning rates of all that is trained, stack by stack."""
    seen, fit = [], trials.fit_method

    def noted(task, method, training, **about):
        rates = np.broadcast_to(training.learning_rate, len(task.run.seeds)).tolist()
        seen.append(list(zip(task.run.seeds, rates, strict=True)))
        return fit(task, method, training, **about)

    monkeypatch.setattr(trials, "fit_method", noted)
    return seen


# The rule


def test_first_splits_choose_one_candidate_for_all_of_them(graph, splits, fitted):
    found = contest(graph, small(HARDLY, WELL), splits, DOUBLE, choose_on=2)
    assert found["chosen"] == [1] * 5
    assert [len(one["validation"]) for one in found["tried"]] == [2, 5]
    assert [one["settings"] for one in found["tried"]] == [{"learning_rate": HARDLY}, {"learning_rate": WELL}]
    first, rest = fitted
    assert first == [(0, HARDLY), (0, WELL), (1, HARDLY), (1, WELL)]
    assert rest == [(2, WELL), (3, WELL), (4, WELL)]  # the first two are not trained again


def test_what_is_trained_in_two_parts_is_what_is_trained_at_once(graph, splits):
    in_parts = contest(graph, small(HARDLY, WELL), splits, DOUBLE, choose_on=2)
    at_once = contest(graph, small(WELL), splits, DOUBLE)
    for name in ("accuracy", "map", "precision_at_10", "validation"):
        assert in_parts[name] == at_once[name]
        assert len(in_parts[name]) == 5


def test_choice_is_by_the_mean_of_the_first_splits_alone(graph, splits, monkeypatch):
    values = np.array([[60, 50, 0], [50, 70, 0], [99, 0, 100]])  # split × candidate
    monkeypatch.setattr(trials.Trials, "validation", lambda self, s, c: float(values[s, c]))
    found = contest(graph, small(0.01, 0.02, 0.03), splits[:3], SINGLE, choose_on=2)
    assert found["chosen"] == [1, 1, 1]


def test_one_candidate_has_nothing_to_choose_and_its_result_is_found_under_any_rule(graph):
    alone, two = small(WELL), small(HARDLY, WELL)
    assert len({Match(graph, alone, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 1
    assert len({Match(graph, two, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 3


# The default


def test_the_default_chooses_on_each_split_alone(graph, splits, monkeypatch):
    auto = Contestant("default", "", "auto", {"epochs": 3})
    seen = []

    def by_turns(histories):
        seen.append([len(history) for history in histories])
        return len(seen) % 2

    monkeypatch.setattr(choice, "choose", by_turns)
    found = contest(graph, auto, splits, SINGLE, choose_on=2)
    assert found["chosen"] == [1, 0, 1, 0, 1]
    assert seen == [[3] * 6] * 5
    assert [one["settings"]["variant"] for one in found["tried"]] == [*CANDIDATES]
    assert all(len(one["validation"]) == 5 for one in found["tried"])
    picked = [found["tried"][c]["validation"][s] for s, c in enumerate(found["chosen"])]
    assert found["validation"] == picked


def test_the_default_is_what_all_trained_to_the_end_would_have_chosen(graph, splits, monkeypatch):
    rungs = ((2, 3), (4, 2), (6, 1))
    monkeypatch.setattr(choice, "RUNGS", rungs)
    monkeypatch.setattr(halving, "RUNGS", rungs)
    auto = Contestant("default", "", "auto", {"epochs": 15, "learning_rate": 0.003})
    found = contest(graph, auto, splits, DOUBLE)
    whole = trials.Trials(graph, candidates_of(auto, graph), splits, DOUBLE)
    whole.run((s, c) for s in range(5) for c in range(6))
    for s, chosen in enumerate(found["chosen"]):
        assert chosen == choose([whole.trained[s, c].history[:, None] for c in range(6)])
        trial = whole.trained[s, chosen]
        assert found["validation"][s] == pytest.approx(trial.validation, abs=1e-3)
        right = trials.accuracies(trial.on, [split.test for split in splits])[trial.replica]
        assert found["accuracy"][s] == pytest.approx(right, abs=1e-3)
        assert all(
            found["tried"][c]["validation"][s] <= whole.validation(s, c) + 1e-3 for c in range(6)
        )  # some were not trained to the end


def test_where_the_default_is_lost_after_the_choice_another_takes_its_place(graph, splits, monkeypatch):
    auto, fit = Contestant("default", "", "auto", {"epochs": 200}), trials.fit_method
    monkeypatch.setattr(choice, "choose", lambda histories: len(histories) - 1)

    def breaks_later(task, method, training, **about):
        if training.epochs == 200 and method.map.teleport == 0.2:  # diffusion-wide, the last
            raise trials.DivergedError(150, range(task.run.replicas))
        return fit(task, method, replace(training, epochs=2), **about)

    monkeypatch.setattr(trials, "fit_method", breaks_later)
    found = contest(graph, auto, splits, SINGLE)
    assert found["chosen"] == [4] * 5
    assert "diverged" in found["tried"][5]["lost"]


def test_auto_keeps_what_reached_most_and_the_first_of_equals():
    assert choose([np.array([1.0, 5.0, 2.0]), np.array([4.0, 6.0, 0.0])]) == 1
    assert choose([np.array([6.0]), np.array([4.0, 6.0])]) == 0


def test_a_replica_that_stopped_has_no_more_history(graph, splits):
    one = small(WELL, HARDLY, epochs=30, patience=2)
    tried = trials.Trials(graph, candidates_of(one, graph), splits, SINGLE)
    tried.run((s, c) for s in range(2) for c in range(2))
    for trial in tried.trained.values():
        kept = trial.on.model.kept_epochs[trial.replica]
        assert len(trial.history) <= kept + 2
        assert trial.history[kept - 1] == trial.validation


# What is lost


@pytest.mark.parametrize("choose_on", [0, 2])
def test_a_diverging_candidate_is_lost_and_the_others_go_on(graph, splits, choose_on):
    found = contest(graph, small(NEVER, HARDLY, WELL), splits, DOUBLE, choose_on=choose_on)
    alone = contest(graph, small(HARDLY, WELL), splits, DOUBLE, choose_on=choose_on)
    assert found["accuracy"] == alone["accuracy"]
    assert found["chosen"] == [c + 1 for c in alone["chosen"]]
    lost, *others = found["tried"]
    assert "training diverged at epoch" in lost["lost"]
    assert set(lost["validation"]) == {None}
    assert all(one["lost"] is None for one in others)


def test_where_the_chosen_candidate_is_lost_later_the_next_best_takes_its_place(graph, splits, monkeypatch):
    fit = trials.fit_method

    def breaks_on_split_3(task, method, training, **about):
        rates = np.broadcast_to(training.learning_rate, len(task.run.seeds))
        lost = [i for i, s in enumerate(task.run.seeds) if s == 3 and rates[i] == WELL]
        if lost:
            raise trials.DivergedError(7, lost)
        return fit(task, method, training, **about)

    monkeypatch.setattr(trials, "fit_method", breaks_on_split_3)
    found = contest(graph, small(HARDLY, WELL), splits, SINGLE, choose_on=2)
    assert found["chosen"] == [0] * 5
    assert found["tried"][1]["validation"][3] is None


def test_a_variant_that_refuses_a_graph_costs_itself_alone(graph, tmp_path, monkeypatch):
    fit = trials.fit_method

    def refuses(task, method, training, **about):
        if about["variant"] == "small":
            raise InputError("small is not for such a graph.")
        return fit(task, method, training, **about)

    monkeypatch.setattr(trials, "fit_method", refuses)
    store = Results(tmp_path, (tmp_path,))
    lost, fine = small(WELL, HARDLY), Contestant("smoother", "smoother", "smoother")
    figures = {one.name: play(Match(graph, one, 3, SPLIT), store, DOUBLE) for one in (lost, fine)}
    values = report({"clusters": figures}, {"small": lost, "smoother": fine}, "smoother")
    row, other = values["data"][0]["variants"]
    assert row["failed"] == "small is not for such a graph"
    assert other["accuracy"]
    assert len(list(tmp_path.rglob("*.json"))) == 1  # another version may not refuse it


def test_where_all_diverge_the_cell_says_so(graph, tmp_path):
    store = Results(tmp_path, (tmp_path,))
    lost, fine = small(NEVER, NEVER / 2), Contestant("smoother", "smoother", "smoother")
    figures = {one.name: play(Match(graph, one, 3, SPLIT), store, DOUBLE) for one in (lost, fine)}
    assert len(list(tmp_path.rglob("*.json"))) == 2  # it would diverge again
    values = report({"clusters": figures}, {"small": lost, "smoother": fine}, "smoother")
    row, _ = values["data"][0]["variants"]
    assert row["failed"] == "every candidate diverged"
    assert not row["accuracy"]
    assert values["data"][0]["splits"] == 3
    assert values["differences"] == []


def test_a_candidate_that_does_not_fit_is_named_and_left_out(graph, splits, monkeypatch, tmp_path):
    def refuse(sizes, method, training, place):
        if method.map.hidden == (9,):
            raise InputError("this run takes at least 3 TB of memory.")

    monkeypatch.setattr(trials, "require_memory", refuse)
    wide = Contestant("wide", "", "k3", {"epochs": 3}, {"hidden": ((9,), (4,))})
    found = contest(graph, wide, splits, SINGLE, choose_on=2)
    assert found["chosen"] == [1] * 5
    assert found["tried"][0]["lost"] == "this run takes at least 3 TB of memory."
    none = Match(graph, Contestant("none", "", "k3", {"hidden": (9,)}), 2, SPLIT)
    assert play(none, Results(tmp_path, (tmp_path,)), SINGLE)["failed"]["why"] == "memory"
    assert not list(tmp_path.rglob("*.json"))  # another machine may have the memory


class CaptureError(RuntimeError):
    """What a capture ends in when memory runs out within it."""


@pytest.mark.parametrize("most", [3, 1, 0])
def test_out_of_memory_fewer_replicas_train_at_a_time(graph, splits, monkeypatch, most):
    splits = splits[:3]
    whole = contest(graph, small(HARDLY, WELL), splits, DOUBLE, choose_on=2)
    fit, sizes = trials.fit_method, []

    def limited(task, method, training, **about):
        if task.run.replicas > most:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory")
            finally:
                if most == 1:
                    raise CaptureError("operation failed due to a previous error during capture")
        sizes.append(task.run.replicas)
        return fit(task, method, training, **about)

    monkeypatch.setattr(trials, "fit_method", limited)
    found = contest(graph, small(HARDLY, WELL), splits, DOUBLE, choose_on=2)
    if most == 0:
        assert found["failed"]["sentence"] == "no candidate fits into memory"
    else:
        assert max(sizes) <= most
        assert found == whole


def test_any_other_error_is_not_taken_for_a_lost_candidate(graph, splits, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(trials, "fit_method", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        contest(graph, small(WELL), splits, SINGLE)


# Candidates as they are listed


LISTED = (
    {},
    {"learning_rate": 0.05},
    {"margin": 0.3, "weight_decay": 0.0},
    {"hidden": (5,), "dropout": 0.2},
    {"map": HopMLP(hops=1)},
    {"variant": "gcn", "hidden": (16,)},
    {"variant": "n1"},
)


def test_listed_candidates_are_stacked_where_only_replicas_settings_differ(graph):
    made = candidates_of(Explicit("listed", "", "k3", {"epochs": 2}, listed=LISTED), graph)
    assert by_structure(made) == [[0, 1, 2], [3], [4], [5], [6]]
    method, training = stacked(made[:3])
    assert training.learning_rate == (0.01, 0.05, 0.01)
    assert training.weight_decay == (5e-4, 5e-4, 0.0)
    assert method.loss.kernel.margin == (0.1, 0.1, 0.3)
    assert type(made[5].method.map).__name__ == "GCN"


def test_listed_candidates_give_what_each_gives_alone(graph, splits):
    listed = LISTED[:3] + LISTED[5:6]
    together = contest(
        graph, Explicit("listed", "", "k3", {"epochs": 5}, listed=listed), splits, DOUBLE, choose_on=0
    )
    for one, tried in zip(listed, together["tried"], strict=True):
        alone = contest(graph, Explicit("one", "", "k3", {"epochs": 5}, listed=(one,)), splits, DOUBLE)
        assert tried["validation"] == pytest.approx(alone["validation"])
    json.dumps(together)


def test_every_contestants_candidates_can_be_stored(graph):
    for one in CONTESTANTS.values():
        json.dumps(Match(graph, one, 2, SPLIT).settings)


# The command


DATA = "synthetic:nodes=120,degree=4,classes=2,features=8,seed=1"


def test_command_says_what_was_lost_and_compares_the_rest(told, monkeypatch):
    """A rival that diverges costs itself its cell, and nobody else theirs."""
    n1 = Contestant("n1", "N1", "n1", {"learning_rate": 1e30, "epochs": 4})
    monkeypatch.setitem(CONTESTANTS, "n1", n1)
    arguments = (
        DATA,
        "--variants",
        "smoother,n1",
        "--splits",
        2,
        "--device",
        "cpu",
        "--split",
        "5-per-class",
    )
    said = " ".join(told("compare", *arguments).split())
    assert "N1: no figures, every candidate diverged." in said
    assert "Student's t-test, over draws of labels" in said
    values = json.loads(told("compare", *arguments, "--json"))
    smoother, n1 = values["data"][0]["variants"]
    assert len(smoother["accuracy"]["runs"]) == 2
    assert n1["tried"][0]["lost"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--choose-on", "few"], "--choose-on must be a number of splits, 1 or more, or all"),
        (["--choose-on", "-1"], "--choose-on must be a number of splits, 1 or more, or all"),
        (["--split", "five-per-class"], "nodes per class are written 20-per-class"),
        (["--split", "5/0-per-class"], "--split must have training, validation and test nodes"),
        (["--split", "50-per-class"], "too few for 50 that train, 30 that validate"),
    ],
)
def test_wrong_use_ends_in_one_sentence(told, arguments, sentence):
    wrong = partial(told, "compare", DATA, "--variants", "smoother,sgc", status=2)
    assert sentence in " ".join(wrong(*arguments).split())
