"""The search for settings: stacks of trials, what they may see, its file, and the settings it writes."""

import json
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS as GRAPH
from graphs import clustered_graph
from kernode.io import split_nodes, write_npz
from kernode.models.overrides import by_part
from kernode.search.tune import Problem, open_study, search, search_space
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.variants import VARIANTS, configure
from kernode.tasks.links.variants import LINK_VARIANTS, configure_links
from kernode.training.loop import DivergedError
from kernode.training.run import Run
from kernode.training.settings import Training
from refusals import refused
from tasks import DOUBLE, SINGLE

OTHER = clustered_graph(n=120, seed=1)
QUICK = ("--epochs", 3, "--trials", 4)


def problem(graph=GRAPH, variant="k3", metric="accuracy", **options):
    return Problem(graph, variant, metric, **{"epochs": 3, **options})


def fitted(estimator, variant, settings, seed=0, replicas=1):
    """An estimator with the settings of a trial."""
    parameters = by_part(**settings)
    return estimator(variant, random_state=seed, replicas=replicas, **parameters)


def find(posed, path, trials=4, batch=6, options=SINGLE):
    return search(posed, path, trials=trials, batch=batch, options=options)


@pytest.fixture
def kernode(run_command, tmp_path):
    """Run a command in a folder with a graph."""
    write_npz(GRAPH, tmp_path / "clusters.npz")
    run_command.folder = tmp_path
    return run_command


def drawn(space, structure, seed):
    """Settings of one structure, as a search draws them."""
    random = np.random.default_rng(seed)
    return space.settings(
        structure | {name: random.uniform(r.low, r.high) for name, r in space.training.items()}
    )


@pytest.mark.parametrize("posed", [
    problem(), problem(folds=3), problem(variant="k1-gcn", replicas=2),
    Problem(GRAPH, "kernel", "auc", epochs=3), Problem(GRAPH, "vgae", "auc", epochs=3, replicas=2),
], ids=lambda posed: f"{posed.variant}-{len(posed.seeds)}")  # fmt: skip
@pytest.mark.slow
def test_stack_of_trials_equals_each_trained_alone(posed):
    structure = {name: of.choices[0] for name, of in posed.space.structure.items()}
    settings = [drawn(posed.space, structure, seed) | posed.fixed for seed in range(3)]
    together = posed.measure(settings, DOUBLE)
    assert together.shape == (3, len(posed.seeds))
    for one, row in zip(settings, together, strict=True):
        assert np.allclose(posed.measure([one], DOUBLE)[0], row, rtol=0, atol=1e-8)


def test_value_of_a_trial_is_the_mean_validation_accuracy_that_fit_reports(tmp_path):
    posed = problem(replicas=2)
    best = find(posed, tmp_path / "a.db").trials[0]
    # Replicas share the split of the first seed.
    report = (
        fitted(kn.NodeKernelClassifier, "k3", best.settings).fit(graph=GRAPH, split="jk").report().figures
    )
    assert best.runs[0] == pytest.approx(report["validation"]["runs"][0], abs=1e-3)
    assert best.value == pytest.approx(np.mean(best.runs))


@pytest.mark.parametrize("folds", [0, 3])
def test_test_labels_are_never_seen(tmp_path, folds):
    """Wrong ones change nothing: neither values nor what is drawn."""
    test, labels = split_nodes(GRAPH, None, [0])[0].test, GRAPH.labels.copy()
    labels[test] = (labels[test] + 1) % 3
    posed = [problem(graph, "sgc", folds=folds) for graph in (GRAPH, replace(GRAPH, labels=labels))]
    assert posed[0].facts == posed[1].facts
    first, second = (find(one, tmp_path / f"{i}.db") for i, one in enumerate(posed))
    assert first == second


def test_folds_partition_the_nodes():
    (split,) = split_nodes(GRAPH, None, [0])
    seen = np.union1d(split.train, split.validation)  # 96 nodes
    for folds in (2, 5):
        parts = problem(folds=folds).parts
        chosen = np.concatenate([part.validation for part in parts])
        assert len(np.unique(chosen)) == len(chosen) == len(seen) // folds * folds
        for part in parts:
            assert np.array_equal(np.union1d(part.train, part.validation), seen)
            counts = np.bincount(GRAPH.labels[part.validation])
            assert counts.max() - counts.min() <= 2  # as in the whole
        assert len({len(part.train) for part in parts}) == 1
    task = problem(folds=5, replicas=2).task(3, Run(tuple(range(30)), SINGLE))
    assert task.nodes.train.shape == (30, 77)
    with refused("setting", setting="folds", value=49):
        _ = problem(folds=49).parts


@pytest.mark.slow
def test_search_goes_on_where_it_stopped(tmp_path):
    find(problem(), tmp_path / "parts.db", trials=6, batch=6)
    parts = find(problem(), tmp_path / "parts.db", trials=12, batch=6)
    whole = find(problem(), tmp_path / "whole.db", trials=12, batch=6)
    assert parts == whole
    assert len(whole.trials) == 12
    assert len({json.dumps(one.settings) for one in whole.trials}) == 12
    assert find(problem(), tmp_path / "whole.db", trials=5) == whole  # nothing left to do


def test_first_trial_is_the_variant_itself(tmp_path):
    trials = find(problem(), tmp_path / "a.db", trials=1).trials
    method, training = configure("k3", epochs=3)
    assert configure("k3", **trials[0].settings) == (method, training)


def test_highest_validation_wins(tmp_path, monkeypatch):
    def made_up(self, settings, *rest):
        return np.array([[100 * one["learning_rate"]] for one in settings])

    monkeypatch.setattr(Problem, "measure", made_up)
    posed = problem()
    found = find(posed, tmp_path / "a.db", trials=8)
    rates = [100 * one.settings["learning_rate"] for one in found.trials]
    assert [one.value for one in found.trials] == rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]
    with open_study(tmp_path / "a.db", posed.facts) as study:  # what draws the next trials
        assert study.best_value == rates[0]


@pytest.mark.parametrize(("split", "tuned"), [(None, True), ("fastgcn", True), ("jk", False)])
def test_a_search_begins_with_searched_settings_on_their_split_alone(cora, split, tuned):
    found = problem(cora[0], "k3-tuned", epochs=None, split=split).configured({})
    assert found == configure("k3-tuned", "cora", tuned=tuned)
    assert found != configure("k3-tuned", "cora", tuned=not tuned)


def test_what_an_interrupt_leaves_running_is_not_counted(tmp_path, monkeypatch):
    measure, calls = Problem.measure, []

    def interrupted(self, *rest):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(self, *rest)

    monkeypatch.setattr(Problem, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        find(problem(), tmp_path / "a.db", trials=4, batch=4)
    found = find(problem(), tmp_path / "a.db", trials=4, batch=4)
    assert len(found.trials) == 4
    assert {one.number for one in found.trials} == {0, 4, 5, 6}
    assert found.failures == []


def test_trial_that_diverges_fails_alone(tmp_path, monkeypatch):
    measure, bad = Problem.measure, []

    def diverging(self, settings, *rest):
        bad[:] = bad or [settings[-1]]
        if bad[0] in settings:
            raise DivergedError(2, [settings.index(bad[0])])
        return measure(self, settings, *rest)

    monkeypatch.setattr(Problem, "measure", diverging)
    found = find(problem(), tmp_path / "a.db", trials=9, batch=9)
    assert [one.partition(".")[0] for one in found.failures] == ["training diverged at epoch 2"]
    assert len(found.trials) == 8
    assert find(problem(), tmp_path / "a.db", trials=9) == found  # a failure counts


def test_spaces_hold_what_a_method_has_and_its_objective_needs():
    for name, variant in VARIANTS.items():
        if not variant.training.epochs or not isinstance(variant.method, Method):
            with refused("setting", setting="variant"):
                _ = problem(variant=name, epochs=None).space
            continue
        space = search_space(variant.method, variant.training, variant.method.map.search_space)
        objective = variant.method.loss.objective
        assert ("margin" in space.training) == (objective != "softmax")
        assert ("kernel_weight" in space.training) == (objective == "joint")
        assert ("input_dropout" in space.training) == variant.method.map.drops_input
        structure = {key: space.own[key] for key in space.structure}
        configure(name, **drawn(space, structure, 0))
    sgc = VARIANTS["sgc"].method
    assert "dropout" not in search_space(sgc, Training(), sgc.map.search_space).training
    for name, variant in LINK_VARIANTS.items():
        if not variant.search_space:  # nothing is learned
            continue
        space = search_space(variant.method, variant.training, variant.search_space)
        structure = {key: space.own[key] for key in space.structure}
        assert configure_links(name, **drawn(space, structure, 0))[0] == variant.method


def test_file_of_another_problem_is_refused(kernode):
    kernode("tune", "clusters.npz", *QUICK, "--trials", 2, "--set", "run.study=a ?%.db", "-q")
    assert (kernode.folder / "a ?%.db").is_file()
    write_npz(OTHER, kernode.folder / "other.npz")
    call = ("tune", "clusters.npz", *QUICK, "--set", "run.study=a ?%.db")
    sentence = kernode("tune", "other.npz", *QUICK, "--set", "run.study=a ?%.db", "-q", status=2)
    assert "another graph" in sentence
    for option, value, words in [
        ("--set", "run.folds=3", "folds 0, not 3"), ("--replicas", 2, "replicas 1, not 2"),
        ("--seed", 1, "seed 0, not 1"), ("--variant", "n1", "variant k3, not n1"),
        ("--split", "0.5/0.3/0.2", "split jk, not 0.5/0.3/0.2"), ("--epochs", 4, "epochs 3, not 4"),
    ]:  # fmt: skip
        assert words in kernode(*call, option, value, "-q", status=2)
    (kernode.folder / "text.db").write_text("not a database, but long enough to be looked at" * 9)
    assert "text.db" in kernode("tune", "clusters.npz", *QUICK, "--set", "run.study=text.db", "-q", status=2)
    with sqlite3.connect(kernode.folder / "own.db") as own:
        own.execute("CREATE TABLE mine (x)")
    own.close()
    before = (kernode.folder / "own.db").read_bytes()
    assert "own.db" in kernode("tune", "clusters.npz", *QUICK, "--set", "run.study=own.db", "-q", status=2)
    assert (kernode.folder / "own.db").read_bytes() == before


def test_settings_file_gives_fit_the_same_as_configure(kernode):
    report = json.loads(kernode("tune", "clusters.npz", *QUICK, "--json"))
    best = report["best"][0]
    assert report["trials"] == 4
    assert report["settings"] == "clusters-k3-accuracy.toml"
    assert (kernode.folder / "clusters-k3-accuracy.db").is_file()
    text = (kernode.folder / "clusters-k3-accuracy.toml").read_text()
    assert "# Chosen by: kernode tune clusters.npz --epochs 3 --trials 4 --json\n" in text
    assert f"validation accuracy {best['value']:.2f} %" in text
    assert "--seed 0 --replicas 1" in text

    call = ("fit", "clusters.npz", "--set", "clusters-k3-accuracy.toml", "--replicas", 2, "--json")
    report = json.loads(kernode(*call))
    model = fitted(kn.NodeKernelClassifier, "k3", best["settings"], replicas=2)
    expected = model.fit(graph=GRAPH).report().figures["test"]
    assert {name: report["test"][name] for name in expected} == json.loads(json.dumps(expected))
    assert report["validation"]["runs"][0] == pytest.approx(best["value"], abs=1e-3)
    assert json.loads(kernode(*call, "--epochs", 5))["epochs"] == 5  # the command line wins
    assert "n1" in kernode(*call, "--variant", "n1", status=2)
    assert "`kernode fit`" in kernode("links", "clusters.npz", "--set", "clusters-k3-accuracy.toml", status=2)


def test_links_are_tuned_by_auc(kernode):
    report = json.loads(kernode("tune", "clusters.npz", *QUICK, "--metric", "auc", "--json"))
    best = report["best"][0]
    assert report["variant"] == "kernel"
    call = ("links", "clusters.npz", "--set", report["settings"], "--replicas", 1, "--json")
    found = json.loads(kernode(*call))
    expected = fitted(kn.LinkPredictor, "kernel", best["settings"]).fit(GRAPH).report().figures["test"]
    assert found["test"] == expected
    assert found["validation"]["auc_mean"] == pytest.approx(best["value"], abs=1e-3)
    assert "gae" in kernode(*call, "--variant", "gae", status=2)


def test_map_selects_epochs_by_map(kernode):
    report = json.loads(kernode("tune", "clusters.npz", *QUICK, "--metric", "map", "--json"))
    best = report["best"][0]
    assert best["settings"]["select_by"] == "map"
    model = fitted(kn.NodeKernelClassifier, "k3", best["settings"]).fit(graph=GRAPH, split="jk")
    assert best["value"] == pytest.approx(model.model_.history["validation_map"].max(), abs=1e-3)
    kernode("fit", "clusters.npz", "--set", report["settings"], "--replicas", 1, "-q")


@pytest.mark.parametrize(("content", "word"), [
    ('variant = "k3"\n[settings]\nwidth = 3', "'width'"),
    ('variant = "k3"\n[settings]\nlearning_rate = "high"', "learning_rate must be a number"),
    ('variant = "k9"', "'k9'"),
    ('variant = "k3"\nhops = 2', "'hops'"),
    ("variant = k3", "TOML"),
])  # fmt: skip
def test_wrong_settings_file_ends_in_one_sentence(kernode, content, word):
    (kernode.folder / "wrong.toml").write_text(content)
    sentence = kernode("fit", "clusters.npz", "--set", "wrong.toml", status=2)
    assert "wrong.toml" in sentence
    assert word in sentence


@pytest.mark.parametrize(("options", "word"), [
    (("--set", "run.folds=-1"), "run.folds"), (("--set", "run.folds=1"), "folds must be"),
    (("--metric", "auc", "--set", "run.folds=2"), "folds"), (("--variant", "smoother"), "smoother"),
    (("--split", "60/0/30"), "validation nodes"), (("--metric", "auc", "--variant", "k3"), "'k3'"),
])  # fmt: skip
def test_wrong_options_end_in_one_sentence(kernode, options, word):
    assert word in kernode("tune", "clusters.npz", *options, "-q", status=2)


def test_missing_optuna_is_named(kernode, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "optuna.distributions", raising=False)
    monkeypatch.delitem(sys.modules, "kernode.search.tune")
    assert "kernode[tune]" in kernode("tune", "clusters.npz", status=1)
