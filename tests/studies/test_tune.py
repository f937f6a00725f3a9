"""The search for settings: stacks of trials, what they may see, its file, and the settings it writes."""

import json
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pytest
from kernode.link_prediction.experiment import run_link_variant
from kernode.node_classification.experiment import run_variant
from kernode.studies.tune import search as searching
from kernode.studies.tune.problem import LinkProblem, NodeProblem
from kernode.studies.tune.search import search
from kernode.studies.tune.space import link_space, node_space

from graphs import CLUSTERS as GRAPH
from graphs import clustered_graph
from kernode.cli.settings_file import read_settings, write_settings
from kernode.errors import InputError, KernodeError
from kernode.io import load_graph, split_nodes, write_npz
from kernode.search.space import fold_splits
from kernode.tasks.classes.configure import configure
from kernode.tasks.classes.variants import VARIANTS
from kernode.tasks.links.variants import LINK_VARIANTS, configure_links
from kernode.training.run import Run
from kernode.training.settings import Training
from tasks import DOUBLE, SINGLE

OTHER = clustered_graph(n=120, seed=1)
QUICK = ("--epochs", 3, "--trials", 4)


def problem(graph=GRAPH, variant="k3", metric="accuracy", **options):
    return NodeProblem(graph, variant, metric, **{"epochs": 3, **options})


def find(posed, path, trials=4, batch=6, place=SINGLE):
    return search(posed, path, trials=trials, batch=batch, place=place)


@pytest.fixture
def kernode(told, tmp_path):
    """Run a command in a folder with a graph."""
    write_npz(GRAPH, tmp_path / "clusters.npz")
    told.folder = tmp_path
    return told


def drawn(space, structure, seed):
    """Settings of one structure, as a search draws them."""
    random = np.random.default_rng(seed)
    ranges = space.ranges(structure)
    return space.settings(structure, {name: random.uniform(r.low, r.high) for name, r in ranges.items()})


@pytest.mark.parametrize("posed", [
    problem(), problem(folds=3), problem(variant="k1-gcn", replicas=2),
    LinkProblem(GRAPH, "kernel", "auc", epochs=3), LinkProblem(GRAPH, "vgae", "auc", epochs=3, replicas=2),
], ids=lambda posed: f"{posed.variant}-{len(posed.seeds)}")  # fmt: skip
@pytest.mark.slow
def test_stack_of_trials_equals_each_trained_alone(posed):
    structure = {name: choices[0] for name, choices in posed.space.structure.items()}
    settings = [drawn(posed.space, structure, seed) | posed.fixed for seed in range(3)]
    together = posed.measure(settings, DOUBLE)
    assert together.shape == (3, len(posed.seeds))
    for one, row in zip(settings, together, strict=True):
        assert np.allclose(posed.measure([one], DOUBLE)[0], row, rtol=0, atol=1e-8)


def test_value_of_a_trial_is_the_mean_validation_accuracy_that_fit_reports(tmp_path):
    posed = problem(replicas=2)
    best = find(posed, tmp_path / "a.db").trials[0]
    report = run_variant(
        GRAPH, "k3", Run((0,), SINGLE), changes=best.settings
    ).report  # runs share the first seed's split
    assert best.runs[0] == pytest.approx(report["validation"]["runs"][0], abs=1e-3)
    assert best.value == pytest.approx(np.mean(best.runs))


@pytest.mark.slow
@pytest.mark.parametrize("folds", [0, 3])
def test_test_labels_are_never_seen(tmp_path, folds):
    """Wrong ones change nothing: neither values nor what is drawn."""
    (split,) = split_nodes(GRAPH, None, [0])
    labels = GRAPH.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 3
    first = find(problem(folds=folds), tmp_path / "a.db")
    assert find(problem(replace(GRAPH, labels=labels), folds=folds), tmp_path / "b.db") == first


def test_test_labels_may_be_hidden(tmp_path):
    cora = load_graph("cora")
    labels = cora.labels.copy()
    labels[split_nodes(cora, None, [0])[0].test] = -1
    posed = [problem(graph, "sgc", epochs=2) for graph in (cora, replace(cora, labels=labels))]
    assert posed[0].facts == posed[1].facts
    results = [find(one, tmp_path / f"{i}.db", trials=2) for i, one in enumerate(posed)]
    assert results[0] == results[1]


def test_folds_partition_the_nodes():
    (split,) = split_nodes(GRAPH, None, [0])
    seen = np.union1d(split.train, split.validation)  # 96 nodes
    for folds in (2, 5):
        parts = fold_splits(seen, GRAPH.labels[seen], folds, seed=0)
        chosen = np.concatenate([part.validation for part in parts])
        assert len(np.unique(chosen)) == len(chosen) == len(seen) // folds * folds
        for part in parts:
            assert np.array_equal(np.union1d(part.train, part.validation), seen)
            counts = np.bincount(GRAPH.labels[part.validation])
            assert counts.max() - counts.min() <= 2  # as in the whole
        assert len({len(part.train) for part in parts}) == 1
    task = problem(folds=5, replicas=2).task(3, Run(tuple(range(30)), SINGLE))
    assert task.nodes.train.shape == (30, 77)
    with pytest.raises(InputError, match="from 2 to 48"):
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


@pytest.mark.slow
def test_batch_has_at_most_four_structures(tmp_path, monkeypatch):
    stacks, measure = [], NodeProblem.measure

    def counting(self, settings, *rest):
        stacks.append(len(settings))
        return measure(self, settings, *rest)

    monkeypatch.setattr(NodeProblem, "measure", counting)
    find(problem(), tmp_path / "a.db", trials=12, batch=12)
    assert len(stacks) <= searching.MOST_STRUCTURES
    assert sum(stacks) == 12


def test_what_an_interrupt_leaves_running_is_not_counted(tmp_path, monkeypatch):
    measure, calls = NodeProblem.measure, []

    def interrupted(self, *rest):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(self, *rest)

    monkeypatch.setattr(NodeProblem, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        find(problem(), tmp_path / "a.db", trials=4, batch=4)
    found = find(problem(), tmp_path / "a.db", trials=4, batch=4)
    assert len(found.trials) == 4
    assert {one.number for one in found.trials} == {0, 4, 5, 6}
    assert found.failures == []


def test_trial_that_diverges_fails_alone(tmp_path, monkeypatch):
    measure, bad = NodeProblem.measure, []

    def diverging(self, settings, *rest):
        bad[:] = bad or [settings[-1]]
        if bad[0] in settings:
            raise KernodeError("training diverged at epoch 2. Lower the learning rate.")
        return measure(self, settings, *rest)

    monkeypatch.setattr(NodeProblem, "measure", diverging)
    found = find(problem(), tmp_path / "a.db", trials=9, batch=9)
    assert found.failures == ["training diverged at epoch 2. Lower the learning rate."]
    assert len(found.trials) == 8
    assert find(problem(), tmp_path / "a.db", trials=9) == found  # a failure counts


def test_spaces_hold_what_a_method_has_and_its_objective_needs():
    for name, variant in VARIANTS.items():
        if name in ("kled", "label-propagation", "correct-and-smooth", "smoother"):
            with pytest.raises(InputError, match="nothing to search"):
                _ = problem(variant=name, epochs=None).space
            continue
        space = node_space(variant.method, variant.training)
        objective = variant.method.loss.objective
        assert ("margin" in space.training) == (objective != "softmax")
        assert ("kernel_weight" in space.training) == (objective == "joint")
        assert ("input_dropout" in space.training) == variant.method.map.drops_input
        structure = {key: space.own[key] for key in space.structure}
        configure(name, **drawn(space, structure, 0))
    assert "dropout" not in node_space(VARIANTS["sgc"].method, Training()).ranges({})
    for name, variant in LINK_VARIANTS.items():
        space = link_space(variant.method, variant.training, variant.search_space)
        structure = {key: space.own[key] for key in space.structure}
        assert configure_links(name, **drawn(space, structure, 0))[0] == variant.method


def test_file_of_another_problem_is_refused(kernode):
    kernode("tune", "clusters.npz", *QUICK, "--trials", 2, "--study", "a ?%.db", "-q")
    assert (kernode.folder / "a ?%.db").is_file()
    write_npz(OTHER, kernode.folder / "other.npz")
    call = ("tune", "clusters.npz", *QUICK, "--study", "a ?%.db")
    sentence = kernode("tune", "other.npz", *QUICK, "--study", "a ?%.db", "-q", status=2)
    assert "holds a search with another graph" in sentence
    for option, value, words in [
        ("--folds", 3, "folds 0, not 3"), ("--replicas", 2, "replicas 1, not 2"),
        ("--seed", 1, "seed 0, not 1"), ("--variant", "n1", "variant k3, not n1"),
        ("--split", "0.5/0.3/0.2", "split jk, not 0.5/0.3/0.2"), ("--epochs", 4, "epochs 3, not 4"),
    ]:  # fmt: skip
        assert words in kernode(*call, option, value, "-q", status=2)
    (kernode.folder / "text.db").write_text("not a database, but long enough to be looked at" * 9)
    assert "not a search's file" in kernode("tune", "clusters.npz", "--study", "text.db", "-q", status=2)
    with sqlite3.connect(kernode.folder / "own.db") as own:
        own.execute("CREATE TABLE mine (x)")
    own.close()
    assert "not a search's" in kernode("tune", "clusters.npz", "--study", "own.db", "-q", status=2)


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

    call = ("fit", "clusters.npz", "--settings", "clusters-k3-accuracy.toml", "--replicas", 2, "--json")
    fitted = json.loads(kernode(*call))
    expected = run_variant(GRAPH, "k3", Run((0, 1), SINGLE), changes=best["settings"]).report
    assert {name: fitted["test"][name] for name in expected["test"]} == expected["test"]
    assert fitted["validation"]["runs"][0] == pytest.approx(best["value"], abs=1e-3)
    assert json.loads(kernode(*call, "--epochs", 5))["epochs"] == 5  # the command line wins
    assert "of k3, not of n1" in kernode(*call, "--variant", "n1", status=2)
    assert "is for `kernode fit`" in kernode(
        "links", "clusters.npz", "--settings", "clusters-k3-accuracy.toml", status=2
    )


def test_a_person_is_told_the_best_trials_and_what_to_do_next(kernode):
    out = kernode("tune", "clusters.npz", *QUICK, "--variant", "n1", "--folds", 3)
    assert "clusters · n1 · 4 trials" in out
    assert "validation accuracy" in out
    assert "Next: kernode fit clusters.npz --settings clusters-n1-accuracy.toml --seed 0 --replicas 1" in out


def test_links_are_tuned_by_auc(kernode):
    report = json.loads(kernode("tune", "clusters.npz", *QUICK, "--metric", "auc", "--json"))
    best = report["best"][0]
    assert report["variant"] == "kernel"
    call = ("links", "clusters.npz", "--settings", report["settings"], "--replicas", 1, "--json")
    fitted = json.loads(kernode(*call))
    expected = run_link_variant(GRAPH, "kernel", Run((0,), SINGLE), changes=best["settings"]).report
    assert fitted["test"] == expected["test"]
    assert fitted["validation"]["auc_mean"] == pytest.approx(best["value"], abs=1e-3)
    assert "Leave --variant out" in kernode(*call, "--variant", "gae", status=2)


def test_map_selects_epochs_by_map(kernode):
    report = json.loads(kernode("tune", "clusters.npz", *QUICK, "--metric", "map", "--json"))
    best = report["best"][0]
    assert best["settings"]["select_by"] == "map"
    model = run_variant(GRAPH, "k3", Run((0,), SINGLE), changes=best["settings"]).model
    assert best["value"] == pytest.approx(model.history["validation_map"].max(), abs=1e-3)
    kernode("fit", "clusters.npz", "--settings", report["settings"], "--replicas", 1, "-q")


@pytest.mark.parametrize(("content", "words"), [
    ('variant = "k3"\n[settings]\nwidth = 3', "'width'"),
    ('variant = "k3"\n[settings]\nlearning_rate = "high"', "learning_rate must be a number"),
    ('variant = "k3"\n[settings]\nhops = "two"', "wrong.toml: "),
    ('variant = "k3"\n[settings]\nnormalize_rows = "no"', "normalize_rows must be true or false"),
    ('variant = "k9"', "'k9' is not a variant"),
    ('[settings]\nhops = 2', "must have a line variant ="),
    ('variant = "k3"\nhops = 2', "'hops' is neither variant nor [settings]"),
    ("variant = k3", "is not TOML"),
])  # fmt: skip
def test_wrong_settings_file_ends_in_one_sentence(kernode, content, words):
    (kernode.folder / "wrong.toml").write_text(content)
    sentence = kernode("fit", "clusters.npz", "--settings", "wrong.toml", status=2)
    assert "wrong.toml" in sentence
    assert words in sentence


def test_wrong_options_end_in_one_sentence(kernode):
    for options, words in [
        (("--metric", "loss"), "--metric must be one of"), (("--trials", 0), "--trials must be"),
        (("--folds", -1), "--folds must be"), (("--folds", 1), "--folds must be"),
        (("--metric", "auc", "--folds", 2), "Leave them out"), (("--variant", "k9"), "not a variant"),
        (("--variant", "smoother"), "nothing to search"), (("--split", "60/0/30"), "needs validation nodes"),
        (("--metric", "auc", "--variant", "k3"), "not a link variant"),
        (("--epochs", 0), "nothing to search"),
    ]:  # fmt: skip
        assert words in kernode("tune", "clusters.npz", *options, "-q", status=2)
    assert "none.toml does not exist" in kernode("fit", "clusters.npz", "--settings", "none.toml", status=1)


def test_missing_optuna_is_named(kernode, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "kernode[tune]" in kernode("tune", "clusters.npz", status=1)


def test_settings_file_reads_back_what_was_written(tmp_path):
    settings = {"hidden": [], "powers": "plain", "normalize_rows": False, "weight_decay": 1e-05, "hops": 3}
    write_settings(tmp_path / "a.toml", "links", "kernel", settings, ["two\nlines"])
    assert read_settings(tmp_path / "a.toml", "links") == ("kernel", settings)
