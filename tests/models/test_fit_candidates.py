"""One of several methods by successive halving: which replicas judge, what is kept, what is trained again."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.compute.tensor_options import TensorOptions
from kernode.io.sizes import GraphSizes
from kernode.models import fit as fitting
from kernode.models.fit import (
    JUDGES,
    RUNGS,
    best_validation,
    checkpoint_parts,
    fit_candidates,
    rungs,
    survivors,
)
from kernode.tasks.classes.labels import fit_again
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.task import LabelledNodes
from kernode.tasks.classes.variants import CANDIDATES
from kernode.tasks.links.model import LinkModel
from kernode.training.checkpoint import Checkpoint
from kernode.training.memory import least_needed
from parts import LINK_METHODS, METHODS
from refusals import refused
from tasks import (
    LABELS,
    NO_NODES,
    SHORT,
    SPLIT,
    CutAt,
    PowerCutError,
    fit,
    labelled_nodes,
    link_task,
    node_task,
)

THREE = {
    "one": (METHODS["sum"], SHORT),
    "two": (METHODS["joint"], replace(SHORT, averaging=0.5)),
    "three": (METHODS["rbf"], replace(SHORT, learning_rate=0.1)),
}
LAST = RUNGS[-1][0]


@pytest.fixture
def soon(monkeypatch):
    """Halving after three epochs and after six."""
    monkeypatch.setattr(fitting, "RUNGS", ((3, 2), (6, 1)))


def same(found, expected):
    """Whether two models have learned the same, bit for bit, in the same epochs."""
    assert np.array_equal(found.kept_epochs, expected.kept_epochs)
    for mine, theirs in ((found.history, expected.history), (found.parameters, expected.parameters)):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    return True


def alone(task, candidates=THREE):
    return {name: fit(task, *candidate, name=name).model for name, candidate in candidates.items()}


# the rule


@st.composite
def courses(draw, most=8):
    """Validation accuracies of some candidates, E × r each: of few values, so that many are equal."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    runs = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, LAST + 40), min_size=1, max_size=most))
    return [50.0 + 10 * random.binomial(4, 0.02, size=(length, runs)) for length in lengths]


def choose(validated):
    """Which of some candidates is kept, if every one had trained to its end."""
    left = list(range(len(validated)))
    for epoch, count in rungs(len(left)):
        left = [left[i] for i in survivors([validated[i] for i in left], epoch, count)]
    return left[0]


def one_by_one(validated):
    """The slow way: at every rung the worst leaves, of equals the last, until few enough are left."""
    left = list(range(len(validated)))
    for epoch, count in RUNGS:
        while len(left) > count:
            scores = [np.mean([max(run[:epoch]) for run in validated[i].T]) for i in left]
            left.remove(max(i for i, score in zip(left, scores, strict=True) if score == min(scores)))
    return left[0]


@given(courses())
def test_the_one_kept_is_that_of_dropping_the_worst_one_by_one(validated):
    assert choose(validated) == one_by_one(validated)


@given(courses())
def test_scores_that_are_not_finite_are_kept_only_where_there_are_no_others(validated):
    broken = np.full((LAST, validated[0].shape[1]), -np.inf)
    assert choose([broken, *validated]) != 0
    assert choose([broken, broken]) == 0


# the choice


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("runs", [1, JUDGES + 1])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_the_candidate_with_the_highest_validation_is_kept(order, runs):
    rates = (1e-7, 1e-6, 0.05)  # only the last one learns
    given = {f"{rates[i]}": (METHODS["joint"], replace(SHORT, learning_rate=rates[i])) for i in order}
    model = fit_candidates(node_task(seeds=tuple(range(runs))), given).model
    assert model.variant == "0.05" == max(model.chosen_by_validation, key=model.chosen_by_validation.get)
    assert model.training.learning_rate == 0.05


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("splits", [1, 5])
@pytest.mark.parametrize("runs", [1, JUDGES, 5])
def test_the_one_that_is_kept_has_learned_what_it_learns_alone(runs, splits):
    """Whether its search goes on, or the first three replicas judge for those that share nodes."""
    nodes = labelled_nodes(split_seeds=range(runs if splits > 1 else 1))
    task = node_task(seeds=tuple(range(7, 7 + runs)), nodes=nodes)
    each = alone(task)
    judges = JUDGES if splits == 1 else runs
    judged = [one.history["validation_accuracy"][:, :judges] for one in each.values()]
    best = fit_candidates(task, THREE, split="jk").model
    assert best.variant == list(THREE)[choose(judged)]
    assert (best.split, best.seeds) == ("jk", task.run.seeds)
    assert same(best, each[best.variant])
    expected = {
        name: round(best_validation(values, best.epochs_tried[name]), 4)
        for name, values in zip(THREE, judged, strict=True)
    }
    expected[best.variant] = round(each[best.variant].validated("accuracy"), 4)  # of all replicas
    assert best.chosen_by_validation == expected
    assert sorted(best.epochs_tried.values()) == [3, 6, 12]
    assert best.epochs_tried[best.variant] == 12


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize(("during", "at"), [("one", 2), ("two", 2), ("any", 5), ("kept", 9)])
def test_a_search_that_was_cut_goes_on_to_the_same_model(tmp_path, runs, during, at):
    """In the first candidate, in the second, after the first rung, and when one is left."""
    seeds = tuple(range(runs))
    whole = fit_candidates(node_task(seeds=seeds), THREE).model
    cut = CutAt(at, {"any": None, "kept": whole.variant}.get(during, during))
    path = tmp_path / "c.safetensors"
    written = Checkpoint(path, every=2)
    with pytest.raises(PowerCutError):
        fit_candidates(node_task(seeds=seeds, callbacks=(written, cut)), THREE)
    with refused("conflict", setting="resume"):
        fit_candidates(node_task(seeds=seeds, callbacks=(written,)), THREE)
    for _ in range(2):  # and once more when it is done
        task = node_task(seeds=seeds, callbacks=(replace(written, resume=True),))
        resumed = fit_candidates(task, THREE).model
        assert same(resumed, whole)
        assert resumed.choice == whole.choice
    parts = {path.with_stem(f"c-{part}" if part else "c") for part in checkpoint_parts(THREE)}
    assert {*tmp_path.iterdir()} <= parts


def test_where_settings_differ_between_replicas_all_of_them_judge():
    rates = replace(SHORT, learning_rate=(0.01, 0.02, 0.03, 0.04, 0.05))
    own = {"one": (METHODS["sum"], rates), "two": (METHODS["joint"], rates)}
    task = node_task(seeds=(0, 1, 2, 3, 4))
    each, best = alone(task, own), fit_candidates(task, own).model
    assert best.variant == list(own)[choose([one.history["validation_accuracy"] for one in each.values()])]
    assert same(best, each[best.variant])


def test_links_are_chosen_among_in_the_same_way(tmp_path):
    training = replace(SHORT, weight_decay=0.0)
    candidates = {name: (LINK_METHODS[name], training) for name in ("gae", "rbf")}
    each = alone(link_task(seeds=(0, 1)), candidates)
    best = fit_candidates(link_task(seeds=(0, 1)), candidates).model
    figures = {name: one.history["validation_auc"] for name, one in each.items()}
    assert best.variant == list(candidates)[choose([*figures.values()])]
    assert same(best, each[best.variant])
    assert best.chosen_by_validation[best.variant] == round(best.validated("auc"), 4)
    assert LinkModel.load(best.save(tmp_path / "l.safetensors")).choice == best.choice


def test_without_validation_nodes_the_first_is_taken_with_a_warning():
    nodes = replace(labelled_nodes(), validation=NO_NODES, validation_labels=NO_NODES)
    last = {name: (method, replace(training, selection="last")) for name, (method, training) in THREE.items()}
    with pytest.warns(kn.KernodeWarning, match="two, three"):
        model = fit_candidates(node_task(nodes=nodes), last).model
    assert (model.variant, model.choice) == ("one", {"chosen_by_validation": None, "epochs_tried": None})


def test_what_is_too_large_is_left_out_with_a_warning(monkeypatch):
    wide = replace(METHODS["joint"], map=kn.maps.HopMLP((50_000,))), SHORT
    sizes = GraphSizes.of(CLUSTERS)
    need = least_needed(sizes, *wide, TensorOptions.of(64))
    assert all(least_needed(sizes, *one, TensorOptions.of(64)) < need / 2 for one in THREE.values())
    monkeypatch.setattr("kernode.training.memory.free_at", lambda options: int(need / 2))
    with pytest.warns(kn.KernodeWarning, match="wide is not tried") as warned:
        found = fit_candidates(node_task(), {"wide": wide, **THREE}).model
    assert len(warned) == 1
    assert [*found.chosen_by_validation] == [*THREE]
    with pytest.warns(kn.KernodeWarning, match="wide is not tried"):
        found = fit_candidates(node_task(), {"wide": wide, "one": THREE["one"]}).model
    assert (found.variant, found.chosen_by_validation, found.epochs_tried) == ("one", None, None)
    for candidates in ({"wide": wide, "also": wide}, {"wide": wide}):
        with refused("too-large", free=int(need / 2)):
            fit_candidates(node_task(), candidates)


def test_a_candidate_that_diverges_is_not_chosen(tmp_path):
    broken = METHODS["joint"], replace(SHORT, learning_rate=1e200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning of what was not kept
        model = fit_candidates(node_task(seeds=(0, 1)), {"broken": broken, "one": THREE["one"]}).model
    assert model.variant == "one"
    assert model.chosen_by_validation["broken"] == 0.0
    json.dumps(model.choice, allow_nan=False)
    assert NodeModel.load(model.save(tmp_path / "m.safetensors")).choice == model.choice
    with refused("not-finite"):
        fit_candidates(node_task(), {"broken": broken, "also": broken})


# trained again


def test_what_was_chosen_is_trained_again_for_as_many_epochs_as_were_kept():
    chosen = fit_candidates(node_task(seeds=(0, 1, 2)), THREE).model
    all_nodes = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    again = fit_again(node_task(nodes=all_nodes, seeds=(5,)), chosen).model
    epochs = round(float(np.mean(chosen.kept_epochs)))
    assert again.training == replace(chosen.training, selection="last", epochs=epochs)
    assert again.train.shape == (1, 120)
    assert (again.variant, again.choice) == (chosen.variant, chosen.choice)
    plain = fit(node_task(nodes=all_nodes, seeds=(5,)), chosen.method, again.training)
    assert np.array_equal(again.on(CLUSTERS).probabilities(), plain.probabilities())


def test_it_has_a_checkpoint_of_its_own(tmp_path):
    path = tmp_path / "c.safetensors"
    chosen = fit_candidates(node_task(callbacks=(Checkpoint(path),)), THREE).model
    assert {file.name for file in tmp_path.iterdir()} == {f"c-{name}.safetensors" for name in THREE}
    fit_again(node_task(callbacks=(Checkpoint(path, resume="if there"),)), chosen)
    assert (tmp_path / "c-all.safetensors").exists()


# A choice


def fitted(graph=CLUSTERS, **settings):
    """The best of six, with validation nodes."""
    model = kn.NodeKernelClassifier(**{"variant": "fast", "device": "cpu", "epochs": 8, **settings})
    return model.fit(SPLIT.train, LABELS, graph=graph, validation=SPLIT.validation)


def test_a_choice_is_what_its_candidate_that_validates_best_gives_alone(tmp_path):
    """After eight epochs none has left yet, so that all figures are those of the same epochs."""
    found, each = fitted(), {name: fitted(variant=name) for name in CANDIDATES}
    best = {
        name: 100 * model.score(SPLIT.validation, CLUSTERS.labels[SPLIT.validation])
        for name, model in each.items()
    }
    assert found.model_.chosen_by_validation == pytest.approx(best, abs=1e-3)
    assert found.model_.epochs_tried == dict.fromkeys(CANDIDATES, 8)
    chosen = max(best, key=best.get)
    assert found.model_.variant == chosen
    assert np.array_equal(found.predict_proba(range(120)), each[chosen].predict_proba(range(120)))
    assert kn.load_model(found.save(tmp_path / "m"), graph=CLUSTERS).get_params()["variant"] == chosen


def test_a_choice_by_map_is_by_map_and_warns_where_it_chose_nothing():
    data = {"X": SPLIT.train, "y": LABELS, "graph": CLUSTERS}
    model = kn.NodeKernelClassifier("similarity", epochs=8).fit(**data, validation=SPLIT.validation)
    chosen = model.model_.chosen_by_validation
    assert chosen[model.model_.variant] == pytest.approx(model.model_.validated("map"), abs=1e-3)
    one_each = [SPLIT.validation[CLUSTERS.labels[SPLIT.validation] == c][0] for c in range(3)]
    with pytest.warns(kn.KernodeWarning, match="mAP chose nothing"):
        kn.NodeKernelClassifier("similarity", epochs=8).fit(**data, validation=kn.positions(one_each))


@pytest.mark.parametrize("variant", ["k3", "fast"])
def test_a_map_prepares_the_graph_once_to_train_and_to_answer(variant, monkeypatch):
    """Where several are tried, the best one's serves."""
    graph, prepared = clustered_graph(n=120), []
    for kind in {type(method.map) for method, _ in kn.NodeKernelClassifier(variant).methods().values()}:
        monkeypatch.setattr(kind, "prepare", _counted(kind.prepare, prepared))
    model = fitted(graph, variant=variant, epochs=2, replicas=2)
    model.predict(SPLIT.test)
    model.similar(0)
    assert len(prepared) == len(set(prepared))
    assert prepared


def _counted(prepare, calls):
    return lambda self, *given: calls.append(self) or prepare(self, *given)
