"""How a method's candidate is chosen in a comparison, and what happens to one that fails."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io import split_nodes
from kernode.maps import HopMLP
from kernode.models import fit as fitting
from kernode.models.fit import choose
from kernode.search import trials
from kernode.search.baselines import METHODS, ComparedMethod
from kernode.search.compare import Comparison, evaluate, report, run_comparisons
from kernode.search.results import Results
from kernode.search.trials import Trials, accuracies, by_structure, candidates_of, stacked
from kernode.tasks.classes.variants import CANDIDATES
from kernode.training.loop import DivergedError
from tasks import DOUBLE, SINGLE

SPLIT = "0.5/0.25/0.25"
HARDLY, WELL, NEVER = 1e-6, 0.05, 1e300  # learning rates: the last diverges at once


def small(*rates, **changes):
    """K3 with some learning rates to choose from."""
    own = tuple({"learning_rate": rate} for rate in rates)
    return ComparedMethod("small", "small", "k3", {"epochs": 8, "hidden": (8,)} | changes, own)


def listed(*candidates, **changes):
    return ComparedMethod("listed", "", "k3", changes, candidates)


def evaluated(graph, method, place=DOUBLE, splits=5, choose_on=5):
    return evaluate(Comparison(graph, method, splits, SPLIT, choose_on), place)


@pytest.fixture(scope="module")
def graph():
    return clustered_graph(n=60)


@pytest.fixture
def splits(graph):
    return split_nodes(graph, SPLIT, range(5))


@pytest.fixture
def training(monkeypatch):
    """Have something done before each stack is trained: it is given the task, the method and the training."""
    fit = trials.fit_candidates

    def before(act):
        def fitting(task, candidates, **about):
            ((name, (method, settings)),) = candidates.items()
            return fit(task, {name: (method, act(task, method, settings) or settings)}, **about)

        monkeypatch.setattr(trials, "fit_candidates", fitting)

    return before


def members(task, training):
    """The split and the learning rate of each replica of a stack."""
    rates = np.broadcast_to(training.learning_rate, len(task.run.seeds)).tolist()
    return list(zip(task.run.seeds, rates, strict=True))


# The rule


def test_first_splits_choose_one_candidate_for_all_of_them(graph, training):
    stacks = []
    training(lambda task, method, settings: stacks.append(members(task, settings)))
    found = evaluated(graph, small(HARDLY, WELL), choose_on=2)
    assert found["chosen"] == [1] * 5
    assert [len(one["validation"]) for one in found["tried"]] == [2, 5]
    assert [one["settings"] for one in found["tried"]] == [{"learning_rate": HARDLY}, {"learning_rate": WELL}]
    first, rest = stacks
    assert first == [(0, HARDLY), (0, WELL), (1, HARDLY), (1, WELL)]
    assert rest == [(2, WELL), (3, WELL), (4, WELL)]  # the first two are not trained again


def test_two_stacks_give_the_figures_of_one(graph):
    in_parts = evaluated(graph, small(HARDLY, WELL), choose_on=2)
    at_once = evaluated(graph, small(WELL))
    for name in ("accuracy", "map", "precision_at_10", "validation"):
        assert in_parts[name] == at_once[name]
        assert len(in_parts[name]) == 5


def test_choice_is_by_the_mean_of_the_first_splits_alone(graph, splits, monkeypatch):
    values = np.array([[60, 50, 0], [50, 70, 0], [99, 0, 100]])  # split × candidate
    own = {c: trials.Trial(None, 0, 0.0, np.zeros(1)) for c in range(3)}
    monkeypatch.setattr(Trials, "run", lambda self, cells: None)
    monkeypatch.setattr(
        Trials,
        "trained",
        lambda self, s: {c: one._replace(validation=values[s, c]) for c, one in own.items()},
    )
    tried = Trials(graph, candidates_of(small(0.01, 0.02, 0.03), graph), splits[:3], SINGLE)
    assert trials.pick_candidates(tried, 2) == [1, 1, 1]


def test_one_candidate_has_nothing_to_choose_and_its_result_is_found_under_any_rule(graph):
    alone, two = small(WELL), small(HARDLY, WELL)
    assert len({Comparison(graph, alone, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 1
    assert len({Comparison(graph, two, 4, SPLIT, n).digest for n in (0, 2, 5)}) == 3


# The default


def test_the_default_chooses_on_each_split_alone(graph, splits, monkeypatch):
    auto = ComparedMethod("default", "", "auto", {"epochs": 3})
    seen = []

    def by_turns(histories):
        seen.append([len(history) for history in histories])
        return len(seen) % 2

    monkeypatch.setattr(trials, "choose", by_turns)
    found = evaluated(graph, auto, SINGLE, choose_on=2)
    assert found["chosen"] == [1, 0, 1, 0, 1]
    assert seen == [[3] * 6] * 5
    assert [one["settings"]["variant"] for one in found["tried"]] == [*CANDIDATES]
    assert all(len(one["validation"]) == 5 for one in found["tried"])
    picked = [found["tried"][c]["validation"][s] for s, c in enumerate(found["chosen"])]
    assert found["validation"] == picked


def test_the_default_is_what_all_trained_to_the_end_would_have_chosen(graph, splits, monkeypatch):
    rungs = ((2, 3), (4, 2), (6, 1))
    monkeypatch.setattr(trials, "RUNGS", rungs)
    monkeypatch.setattr(fitting, "RUNGS", rungs)
    auto = ComparedMethod("default", "", "auto", {"epochs": 15, "learning_rate": 0.003})
    found = evaluated(graph, auto)
    whole = Trials(graph, candidates_of(auto, graph), splits, DOUBLE)
    whole.run([(s, c) for s in range(5) for c in range(6)])
    for s, chosen in enumerate(found["chosen"]):
        assert chosen == choose([whole.done[s, c].history[:, None] for c in range(6)])
        trial = whole.done[s, chosen]
        assert found["validation"][s] == pytest.approx(trial.validation, abs=1e-3)
        right = accuracies(trial.on, [split.test for split in splits])[trial.replica]
        assert found["accuracy"][s] == pytest.approx(right, abs=1e-3)
        assert all(
            found["tried"][c]["validation"][s] <= whole.done[s, c].validation + 1e-3 for c in range(6)
        )  # some were not trained to the end


def test_where_the_default_fails_after_the_choice_another_takes_its_place(graph, training, monkeypatch):
    monkeypatch.setattr(trials, "choose", lambda histories: len(histories) - 1)

    def diverges_later(task, method, settings):
        if settings.epochs == 200 and method.map.unwrapped.teleport == 0.2:  # diffusion-wide, the last
            raise DivergedError(150, range(task.run.replicas))
        return replace(settings, epochs=2)

    training(diverges_later)
    found = evaluated(graph, ComparedMethod("default", "", "auto", {"epochs": 200}), SINGLE)
    assert found["chosen"] == [4] * 5
    assert "diverged" in found["tried"][5]["lost"]


def test_a_replica_that_stopped_has_no_more_history(graph, splits):
    one = small(WELL, HARDLY, epochs=30, patience=2)
    tried = Trials(graph, candidates_of(one, graph), splits, SINGLE)
    tried.run((s, c) for s in range(2) for c in range(2))
    for trial in tried.done.values():
        kept = trial.on.model.kept_epochs[trial.replica]
        assert len(trial.history) <= kept + 2
        assert trial.history[kept - 1] == trial.validation


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
        if lost := [i for i, one in enumerate(members(task, settings)) if one == (3, WELL)]:
            raise DivergedError(7, lost)

    training(diverges_on_split_3)
    found = evaluated(graph, small(HARDLY, WELL), SINGLE, choose_on=2)
    assert found["chosen"] == [0] * 5
    assert found["tried"][1]["validation"][3] is None


SMOOTHER = ComparedMethod("smoother", "smoother", "smoother")


def reported(graph, method, folder):
    """The report's rows of a method and of the smoother, by which others are compared."""
    store, methods = Results(folder), {one.name: one for one in (method, SMOOTHER)}
    found = run_comparisons([Comparison(graph, one, 3, SPLIT) for one in methods.values()], store, DOUBLE)
    values = report({"clusters": dict(zip(methods, found, strict=True))}, methods, "smoother")
    assert values["data"][0]["splits"] == 3
    return values, *values["data"][0]["variants"]


@pytest.mark.slow
def test_a_variant_that_refuses_a_graph_costs_itself_alone(graph, tmp_path, training):
    def refuses(task, method, settings):
        if task.run.name == "small":
            raise InputError("small is not for such a graph.")

    training(refuses)
    _, row, other = reported(graph, small(WELL, HARDLY), tmp_path)
    assert row["failed"] == "small is not for such a graph"
    assert other["accuracy"]
    assert len(list(tmp_path.rglob("*.json"))) == 1  # another version may not refuse it


def test_where_all_diverge_the_report_says_so(graph, tmp_path):
    values, row, _ = reported(graph, small(NEVER, NEVER / 2), tmp_path)
    assert len(list(tmp_path.rglob("*.json"))) == 2  # it would diverge again
    assert row["failed"] == "every candidate diverged"
    assert not row["accuracy"]
    assert values["differences"] == []


@pytest.mark.slow
def test_a_candidate_that_does_not_fit_into_memory_is_left_out(graph, training, tmp_path):
    def refuse(task, method, settings):
        if getattr(method.map, "hidden", ()) == (9,):
            raise InputError("this run takes at least 3 TB of memory.", "too-large")

    training(refuse)
    found = evaluated(graph, listed({"hidden": (9,)}, {"hidden": (4,)}, epochs=3), SINGLE, choose_on=2)
    assert found["chosen"] == [1] * 5
    assert found["tried"][0]["lost"] == "this run takes at least 3 TB of memory."
    none = Comparison(graph, listed({"hidden": (9,)}), 2, SPLIT)
    (figures,) = run_comparisons([none], Results(tmp_path), SINGLE)
    assert figures["failed"]["why"] == "memory"
    assert not list(tmp_path.rglob("*.json"))  # another machine may have the memory


class CaptureError(RuntimeError):
    """What a capture ends in when memory runs out within it."""


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 1, 0])
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
        assert found["failed"]["sentence"] == "no candidate fits into memory"
    else:
        assert max(sizes) <= most
        assert found == whole


def test_any_other_error_is_raised(graph, training):
    def broken(*_):
        raise RuntimeError("shapes do not match")

    training(broken)
    with pytest.raises(RuntimeError, match="shapes"):
        evaluated(graph, small(WELL), SINGLE)


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
    made = candidates_of(listed(*LISTED, epochs=2), graph)
    assert by_structure(made) == [[0, 1, 2], [3], [4], [5], [6]]
    method, training = stacked(made[:3])
    assert training.learning_rate == (0.01, 0.05, 0.01)
    assert training.weight_decay == (5e-4, 5e-4, 0.0)
    assert method.loss.kernel.margin == (0.1, 0.1, 0.3)
    assert type(made[5].method.map).__name__ == "GCN"


def test_listed_candidates_give_what_each_gives_alone(graph):
    some = LISTED[:3] + LISTED[5:6]
    together = evaluated(graph, listed(*some, epochs=5), choose_on=0)
    for one, tried in zip(some, together["tried"], strict=True):
        alone = evaluated(graph, listed(one, epochs=5))
        assert tried["validation"] == pytest.approx(alone["validation"])
    json.dumps(together)


def test_candidates_of_every_method_can_be_stored(graph):
    for one in METHODS.values():
        json.dumps(Comparison(graph, one, 2, SPLIT).settings)


# The command


DATA = "synthetic:nodes=120,degree=4,classes=2,features=8,seed=1"


def test_command_says_what_was_lost_and_compares_the_rest(told, monkeypatch):
    n1 = ComparedMethod("n1", "N1", "n1", {"learning_rate": 1e30, "epochs": 4})
    monkeypatch.setitem(METHODS, "n1", n1)
    arguments = (
        DATA,
        "--variants",
        "smoother,n1",
        "--splits",
        2,
        "--set",
        "run.device=cpu",
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
