"""Comparison of methods: the same splits for all, validation chooses, paired tests, stored results."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import kernode as kn
from graphs import clustered_graph
from kernode.io import load_graph, split_nodes
from kernode.metrics.significance import holm, paired
from kernode.models.changes import by_part
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
from kernode.tasks.classes.variants import candidates
from refusals import refused
from tasks import DOUBLE, SINGLE

SPLIT = "0.5/0.25/0.25"
RESULTS = Path(__file__).parents[2] / "results"
# The first candidate hardly learns: what picks it does not look at validation.
SMALL = ComparedMethod(
    "small", "small", "k3", {"epochs": 10, "hidden": (8,)}, ({"learning_rate": 1e-6}, {"learning_rate": 0.05})
)


@pytest.fixture(scope="module")
def graph():
    return clustered_graph(n=60)


# Statistics


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=30).filter(lambda d: np.std(d) > 0.01))
def test_without_overlap_the_test_is_students(values):
    ours, theirs = paired(values, test_to_train=0.0), stats.ttest_1samp(values, 0.0)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)
    low, high = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-7)


def test_correction_holds_its_level_where_students_does_not():
    """Means of overlapping resamples of the same numbers: no difference is there to be found."""
    random, naive, corrected = np.random.default_rng(0), 0, 0
    for _ in range(300):
        numbers = random.normal(size=100)  # a node's difference between two equal methods
        resamples = [numbers[random.permutation(100)[:25]].mean() for _ in range(20)]
        naive += paired(resamples, 0.0).p < 0.05
        corrected += paired(resamples, 1 / 3).p < 0.05
    assert naive > 60
    assert corrected < 30


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_nothing_and_bonferroni(p_values):
    corrected = holm(p_values)
    assert all(c >= min(1, p) - 1e-9 for p, c in zip(p_values, corrected, strict=True))
    assert min(corrected) == pytest.approx(min(1, len(p_values) * min(p_values)), abs=1e-9)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= 0).all()


# Comparisons


def test_the_default_is_what_fit_uses_where_nothing_is_set(graph):
    made = candidates_of(METHODS["default"], graph)
    wanted = candidates("auto")  # the graph's features are no words, and no search has seen it
    assert [(one.settings["variant"], one.method, one.training) for one in made] == [
        (name, *parts) for name, parts in wanted.items()
    ]


@pytest.mark.parametrize("name", ["default", "k3-tuned", "similarity"])
def test_settings_searched_for_on_a_data_set_are_not_compared(name, cora):
    """Random splits test nodes that the search has seen."""
    variant = "auto" if name == "default" else name
    found, searched = (candidates(variant, "cora", tuned=tuned) for tuned in (False, True))
    made = [(one.method, one.training) for one in candidates_of(compared_method(name), cora[0])]
    assert made == [*found.values()]
    assert made != [*searched.values()]


def test_any_variant_can_be_compared_and_others_are_refused():
    assert compared_method("k1").candidates == ({},)
    with refused("unknown", setting="variants", name="k9"):
        compared_method("k9")


def test_figures_are_what_single_runs_and_validation_give(graph):
    found = evaluate(Comparison(graph, SMALL, 3, SPLIT, choose_on=0), DOUBLE)
    assert 1 in found["chosen"]
    for s in range(3):
        alone = []
        for values in SMALL.candidates:
            own = by_part(**SMALL.changes, **values, precision=64)
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
    found = evaluate(Comparison(graph, SMALL, 2, SPLIT), DOUBLE)
    hidden = np.setdiff1d(splits[0].test, np.union1d(splits[1].train, splits[1].validation))
    train = graph.labels.copy()
    train[hidden] = (train[hidden] + 1) % graph.n_classes
    other = split_nodes(replace(graph, labels=train), SPLIT, range(2))
    assert all(np.array_equal(a.train, b.train) for a, b in zip(splits, other, strict=True))
    changed = evaluate(Comparison(replace(graph, labels=train), SMALL, 2, SPLIT), DOUBLE)
    assert changed["chosen"] == found["chosen"]
    assert changed["validation"] == found["validation"]


def test_a_comparison_is_measured_once(graph, tmp_path):
    store = Results(tmp_path)
    comparison = Comparison(graph, SMALL, 2, SPLIT)
    first = run_comparisons([comparison], store, SINGLE)
    (path,) = tmp_path.rglob("*.json")
    before = path.stat().st_mtime_ns
    assert run_comparisons([comparison], store, SINGLE) == first
    assert path.stat().st_mtime_ns == before
    assert store.find(Comparison(graph, SMALL, 3, SPLIT)) is None


def test_stored_results_of_cora_are_found():
    store, cora = Results(RESULTS), load_graph("cora")
    missing = [
        name
        for name, method in METHODS.items()
        if not any(store.find(Comparison(cora, method, 30, choose_on=first)) for first in (5, 0))
    ]
    assert missing == ["k3-last", "k3-released"]  # never measured


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
def kernode(told):
    return partial(told, "compare")


DATA = "synthetic:nodes=60,degree=4,classes=3,features=8,seed=1"


@pytest.mark.slow
def test_command_compares_and_goes_on_from_what_is_stored(kernode, tmp_path):
    arguments = (DATA, "--variants", "sgc,smoother", "--splits", 3, "--set", "run.device=cpu")
    values = json.loads(kernode(*arguments, "--json"))
    assert [row["variant"] for row in values["data"][0]["variants"]] == ["sgc", "smoother"]
    assert {entry["against"] for entry in values["differences"]} == {"smoother"}
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.json")}
    assert len(stored) == 2
    said = " ".join(kernode(*arguments).split())
    assert "no clear difference" in said or "better" in said
    assert "Nadeau and Bengio's corrected t-test" in said
    assert stored == {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.json")}


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
