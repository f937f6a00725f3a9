"""Comparison of methods: the same splits for all, validation chooses, paired tests, stored results."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io import load_graph, split_nodes
from kernode.models.overrides import by_part
from kernode.search import compare
from kernode.search.baselines import METHODS, ComparedMethod, compared_method
from kernode.search.compare import (
    Comparison,
    candidates_of,
    differences,
    evaluate,
    report,
    run_comparisons,
)
from kernode.search.results import Results, digest_of, read_record
from kernode.tasks.classes.variants import candidates, configure
from kernode.training.loop import DivergedError
from refusals import refused
from tasks import DOUBLE, SINGLE, fit_split

SPLIT = "0.5/0.25/0.25"
RESULTS = Path(__file__).parents[2] / "results"
BASELINES = {name: one for name, one in METHODS.items() if len(one.candidates) == 6}  # as many as "fast" has
HARDLY, WELL, NEVER = 1e-6, 0.05, 1e300  # learning rates: the last diverges at once


def small(*rates, **changes):
    """K3 with some learning rates to choose from."""
    own = tuple({"learning_rate": rate} for rate in rates)
    return ComparedMethod("small", "small", "k3", {"epochs": 8, "hidden": (8,)} | changes, own)


def evaluated(graph, method, options=DOUBLE, splits=5, choose_on=5):
    return evaluate(Comparison(graph, method, splits, SPLIT, choose_on), options)


@pytest.fixture(scope="module")
def graph():
    return clustered_graph(n=60)


@pytest.fixture
def training(monkeypatch):
    """Have something done before each stack is trained: it is given the task and the training."""
    fit = compare.fit_candidates

    def before(act):
        def fitting(task, candidates, **about):
            ((_, settings),) = candidates.values()
            act(task, settings)
            return fit(task, candidates, **about)

        monkeypatch.setattr(compare, "fit_candidates", fitting)

    return before


# Methods


def made(name):
    """A baseline's candidates: methods and how they are trained."""
    one = BASELINES[name]
    return [configure(one.variant, **{**one.changes, **values}) for values in one.candidates]


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_have_different_candidates_with_rows_raw_and_scaled_and_several_rates(name):
    found = made(name)
    assert all(found.count(each) == 1 for each in found)
    if name == "label-propagation":
        return
    trained = [(getattr(method, "base", method), training) for method, training in found]
    assert {method.map.normalize_rows for method, _ in trained} == {True, False}
    assert len({training.learning_rate for _, training in trained}) >= 2
    assert len({training.weight_decay for _, training in trained}) >= 2
    assert all((training.epochs, training.patience) == (1000, 200) for _, training in trained)


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_takes_part(graph, name):
    """Two of its candidates, shortened, on two splits: validation picks, and there is a figure for each."""
    some = [dict(BASELINES[name].candidates[i]) for i in (0, -1)]
    for one in some:
        if "epochs" in one:
            one |= {"epochs": 3, "patience": None}
    short = ComparedMethod(name, name, BASELINES[name].variant, {}, tuple(some))
    figures = evaluated(graph, short, SINGLE, splits=2)
    assert len(figures["accuracy"]) == len(figures["validation"]) == 2
    assert np.isfinite(figures["accuracy"]).all()
    assert min(figures["validation"]) > 0


@pytest.mark.parametrize(("name", "variant"), [("default", "auto"), ("fast", "fast")])
def test_the_default_is_what_fit_uses_where_nothing_is_set(graph, name, variant):
    made = candidates_of(METHODS[name], graph)
    wanted = candidates(variant)  # the graph's features are no words, and no search has seen it
    assert [(one.settings["variant"], one.method, one.training) for one in made] == [
        (name, *parts) for name, parts in wanted.items()
    ]


@pytest.mark.parametrize("name", ["fast", "k3-tuned", "similarity"])
def test_settings_searched_for_on_a_data_set_are_not_compared(name, cora):
    found, searched = (candidates(name, "cora", tuned=tuned) for tuned in (False, True))
    made = [(one.method, one.training) for one in candidates_of(compared_method(name), cora[0])]
    assert made == [*found.values()]
    assert made != [*searched.values()]


def test_any_variant_can_be_compared_and_others_are_refused():
    assert compared_method("k1").candidates == ({},)
    with refused("unknown", setting="variants", name="k9"):
        compared_method("k9")


# Candidates, chosen by validation


def test_figures_are_what_single_runs_and_validation_give(graph):
    method = small(HARDLY, WELL)
    found = evaluated(graph, method, splits=3, choose_on=0)
    assert 1 in found["chosen"]
    assert found["overlap"] == found["nodes"]["test"] / found["nodes"]["train"] < 1
    for s in range(3):
        alone = []
        for values in method.candidates:
            own = by_part(**method.changes, **values, precision=64)
            model = kn.NodeKernelClassifier("k3", random_state=s, replicas=1, **own)
            alone.append(model.fit(graph=graph, split=SPLIT).report().figures)
        picked = int(np.argmax([one["validation"]["accuracy_mean"] for one in alone]))
        assert found["chosen"][s] == picked
        assert found["validation"][s] == pytest.approx(max(o["validation"]["accuracy_mean"] for o in alone))
        assert found["accuracy"][s] == pytest.approx(alone[picked]["test"]["accuracy_mean"], abs=1e-3)
        similar = alone[picked]["test"]["similarity"]
        assert found["map"][s] == pytest.approx(similar["map"], abs=1e-3)


def test_test_labels_choose_nothing(graph):
    splits = split_nodes(graph, SPLIT, range(2))
    found = evaluated(graph, small(HARDLY, WELL), splits=2)
    hidden = np.setdiff1d(splits[0].test, np.union1d(splits[1].train, splits[1].validation))
    train = graph.labels.copy()
    train[hidden] = (train[hidden] + 1) % graph.n_classes
    other = split_nodes(replace(graph, labels=train), SPLIT, range(2))
    assert all(np.array_equal(a.train, b.train) for a, b in zip(splits, other, strict=True))
    changed = evaluated(replace(graph, labels=train), small(HARDLY, WELL), splits=2)
    assert changed["chosen"] == found["chosen"]
    assert changed["validation"] == found["validation"]


def test_first_splits_choose_one_candidate_for_all_of_them(graph, training):
    stacks = []
    training(lambda task, settings: stacks.append((task.run.seeds, settings.learning_rate)))
    found = evaluated(graph, small(HARDLY, WELL), choose_on=2)
    assert found["chosen"] == [1] * 5
    assert [len(one["validation"]) for one in found["tried"]] == [2, 5]
    assert [one["settings"] for one in found["tried"]] == [{"learning_rate": HARDLY}, {"learning_rate": WELL}]
    assert stacks == [((0, 1), HARDLY), ((0, 1), WELL), ((2, 3, 4), WELL)]  # the first are not trained again
    at_once = evaluated(graph, small(WELL))
    assert len(found["accuracy"]) == 5
    assert all(found[name] == at_once[name] for name in ("accuracy", "map", "precision_at_10", "validation"))


@pytest.mark.parametrize(("choose_on", "chosen"), [(2, [1, 1, 1]), (0, [0, 1, 2])])
def test_highest_validation_wins_in_the_mean_of_the_first_splits_or_on_each(
    graph, monkeypatch, choose_on, chosen
):
    """Test nodes have no part in it: here they would choose otherwise."""
    rates, splits = (0.01, 0.02, 0.03), split_nodes(graph, SPLIT, range(3))
    values = np.array([[60, 50, 0], [50, 70, 0], [99, 0, 100]])  # split × candidate

    def made_up(on, nodes):
        candidate = rates.index(on.model.training.learning_rate)
        validates = [
            np.array_equal(splits[s].validation, own) for s, own in zip(on.model.seeds, nodes, strict=True)
        ]
        return np.where(validates, values[list(on.model.seeds), candidate], 100 - values[0, candidate])

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


@pytest.mark.parametrize("variant", ["auto", "fast"])
def test_a_choice_is_fitted_on_each_split_as_an_estimator_fits_it(graph, variant):
    found = evaluated(graph, ComparedMethod(variant, "", variant, {"epochs": 5}), splits=2)
    for s in (0, 1):
        model = fit_split(graph, variant, (s,), SPLIT, epochs=5)
        assert found["accuracy"][s] == pytest.approx(model.report().figures["test"]["accuracy_mean"])
        tried = {one["settings"]["variant"]: one["validation"][s] for one in found["tried"]}
        tried = {name: figure for name, figure in tried.items() if figure is not None}  # not on a CPU
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
    def diverges_on_split_3(task, settings):
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
    def refuse(task, settings):
        raise InputError("this run is refused.", code)

    training(refuse)
    (found,) = run_comparisons([Comparison(graph, small(WELL), 2, SPLIT)], Results(tmp_path), SINGLE)
    assert found["failed"] == {"why": why, "sentence": "this run is refused."}
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("most", [1, 0])
def test_out_of_memory_fewer_replicas_train_at_a_time(graph, training, most):
    def figures():
        found = evaluated(graph, small(HARDLY, WELL), splits=3, choose_on=2)
        return {name: value for name, value in found.items() if name != "seconds"}

    whole, sizes = figures(), []

    def limited(task, settings):
        if task.run.replicas > most:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory")
            finally:
                if most == 1:
                    raise RuntimeError("operation failed due to a previous error during capture")
        sizes.append(task.run.replicas)

    training(limited)
    found = figures()
    if most == 0:
        assert found["failed"]["why"] == "memory"
    else:
        assert max(sizes) <= most
        assert found == whole


# Results


def test_a_comparison_is_measured_once(graph, tmp_path):
    store = Results(tmp_path)
    comparison = Comparison(graph, small(WELL), 2, SPLIT)
    first = run_comparisons([comparison], store, SINGLE)
    (path,) = tmp_path.rglob("*.json")
    before = path.stat().st_mtime_ns
    assert run_comparisons([comparison], store, SINGLE) == first
    assert path.stat().st_mtime_ns == before
    other = Comparison(graph, small(WELL), 3, SPLIT)
    assert store.find(other) is None
    path.rename(path.with_stem(f"{other.name}-{other.digest}"))
    with pytest.raises(kn.KernodeError, match="other settings"):
        Results(tmp_path).find(other)


def test_stored_results_of_cora_are_found():
    store, cora = Results(RESULTS), load_graph("cora")
    missing = [
        name
        for name, method in METHODS.items()
        if not any(store.find(Comparison(cora, method, 30, choose_on=first)) for first in (5, 0))
    ]
    assert {*missing} - {"default"} == {"k3-last", "k3-released"}  # never measured


def test_stored_results_are_named_by_the_digest_of_their_settings():
    for path in RESULTS.glob("compare/*.json"):
        assert digest_of(read_record(path)["settings"]) == path.stem.rpartition("-")[2]


# Report


def result(accuracy, similar=()):
    return {
        "accuracy": accuracy, "map": list(similar), "precision_at_10": list(similar), "validation": accuracy,
        "chosen": [0] * len(accuracy), "overlap": 1 / 3, "seconds": 1.0, "device": "cpu",
    }  # fmt: skip


def test_report_says_better_worse_and_neither():
    noise = np.random.default_rng(0).normal(0, 0.1, 30)
    base = 80 + np.random.default_rng(1).normal(0, 1, 30)
    shifts = {"k3": 0 * noise, "n1": noise - 2, "gcn": noise + 2, "sgc": noise / 9}
    figures = {"g": {name: result((base + shift).tolist()) for name, shift in shifts.items()}}
    found = differences(figures, [("k3", name) for name in ("n1", "gcn", "sgc")], "accuracy")
    verdicts = {entry["against"]: entry["verdict"] for entry in found}
    assert verdicts == {"n1": "better", "gcn": "worse", "sgc": "no clear difference"}
    values = report(figures, {name: compared_method(name) for name in figures["g"]}, "k3")
    assert values["summary"][0] == {"against": "n1", "of": 1, "above": ["g"], "below": []}
    assert [question["without"] for question in values["questions"]] == ["n1"]
    assert all(entry["metric"] == "accuracy" for entry in values["differences"])  # nothing was retrieved


# The command


@pytest.fixture
def kernode(run_command):
    return partial(run_command, "compare")


DATA = "synthetic:nodes=60,degree=4,classes=3,features=8,seed=1"


@pytest.mark.slow
def test_command_compares_and_goes_on_from_what_is_stored(kernode, tmp_path):
    arguments = (DATA, "--variants", "sgc,smoother", "--splits", 3, "--set", "run.device=cpu")
    values = json.loads(kernode(*arguments, "--json"))
    assert [row["variant"] for row in values["data"][0]["variants"]] == ["sgc", "smoother"]
    assert {entry["against"] for entry in values["differences"]} == {"smoother"}
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.json")}
    assert len(stored) == 2
    printed = " ".join(kernode(*arguments).split())
    assert "no clear difference" in printed or "better" in printed
    assert "Nadeau and Bengio's corrected t-test" in printed
    assert stored == {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.json")}


def test_command_says_what_was_lost_and_compares_the_rest(kernode, monkeypatch):
    n1 = ComparedMethod("n1", "N1", "n1", {"learning_rate": 1e30, "epochs": 4})
    monkeypatch.setitem(METHODS, "n1", n1)
    data = "synthetic:nodes=120,degree=4,classes=2,features=8,seed=1"
    arguments = (data, "--variants", "smoother,n1", "--splits", 2, "--split", "5-per-class")
    printed = " ".join(kernode(*arguments).split())
    assert "N1: no figures, training diverged" in printed
    assert "Student's t-test, over draws of labels" in printed
    values = json.loads(kernode(*arguments, "--json"))
    smoother, n1 = values["data"][0]["variants"]
    assert len(smoother["accuracy"]["runs"]) == 2
    assert n1["tried"][0]["lost"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([DATA, "--variants", "k3"], "variants"),
        ([DATA, "--variants", "k3,k9"], "'k9'"),
        ([DATA, "--split", "0.8/0.2/0.0"], "training, validation and test nodes"),
        ([DATA, "--split", "five-per-class"], "20-per-class"),
        ([DATA, "--set", "run.choose_on=0"], "'0'"),
        ([DATA, DATA], "the same name"),
        (["nowhere.npz"], "nowhere.npz"),
    ],
)
def test_wrong_use_ends_in_one_sentence(kernode, arguments, word):
    assert word in kernode(*arguments, status=1 if "nowhere" in word else 2)


def test_splits_of_unequal_sizes_are_trained_as_each_alone(graph):
    """Official splits differ by a few nodes, and cannot be one stack."""
    first, second = split_nodes(graph, "0.5/0.25/0.25", range(2))
    splits = [first, kn.Split(second.train[:-3], second.validation, second.test)]
    names = ("instant", "hops")
    given = [one for one in candidates_of(METHODS["default"], graph) if one.settings["variant"] in names]
    short = [
        replace(one, training=replace(one.training, epochs=min(one.training.epochs, 5))) for one in given
    ]
    trials = compare.Trials(graph, short, splits, DOUBLE)
    assert len(compare.fit_sums(trials).trials) == 2
    for number, split in enumerate(splits):
        alone = compare.Trials(graph, short, splits, DOUBLE)
        alone.run((number, candidate) for candidate in range(2))
        for candidate, one in alone.trained(number).items():
            assert one.on.model.train.shape[1] == len(split.train)
            stacked = trials.trained(number)[candidate].on
            np.testing.assert_allclose(stacked.probabilities(), one.on.probabilities(), atol=1e-8)
