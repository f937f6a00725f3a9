"""One of several methods by successive halving: who judges, what the kept one has learned, what is told."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.compute.place import Place
from kernode.data.sizes import GraphSizes
from kernode.errors import InputError, KernodeError
from kernode.hops import HopOperator, cost
from kernode.maps.layers import features
from kernode.node_classification import halving
from kernode.node_classification.choosing import checkpoint_parts, fit_best
from kernode.node_classification.fitting import fit_method
from kernode.models.halving import JUDGES, choose, reached
from kernode.tasks.classes.model import NodeModel
from kernode.training.checkpoint import Checkpoint
from kernode.training.memory import least_needed
from parts import METHODS
from tasks import LABELS, NO_NODES, SHORT, SPLIT, PowerCutError, labelled_nodes, node_task

THREE = {
    "one": (METHODS["sum"], SHORT),
    "two": (METHODS["joint"], replace(SHORT, averaging=0.5)),
    "three": (METHODS["rbf"], replace(SHORT, learning_rate=0.1)),
}
SEARCHED = 3 * 3 + 2 * 3  # epochs until one of three is left, below


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Halving after three epochs and after six."""
    monkeypatch.setattr(halving, "RUNGS", ((3, 2), (6, 1)))


def same(found, expected):
    """Whether two models have learned the same, bit for bit, in the same epochs."""
    assert np.array_equal(found.kept_epochs, expected.kept_epochs)
    assert found.history.keys() == expected.history.keys()
    assert all(np.array_equal(found.history[name], expected.history[name]) for name in found.history)
    assert found.parameters.keys() == expected.parameters.keys()
    assert all(torch.equal(found.parameters[name], expected.parameters[name]) for name in found.parameters)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("splits", [1, 5])
@pytest.mark.parametrize("runs", [1, JUDGES, 5])
def test_the_one_that_is_kept_has_learned_what_it_learns_alone(runs, splits):
    """Whether its search goes on, or the first three of runs that share nodes judged and all train then."""
    nodes = labelled_nodes(split_seeds=range(runs if splits > 1 else 1))
    task = node_task(seeds=tuple(range(7, 7 + runs)), nodes=nodes)
    alone = {name: fit_method(task, *candidate).model for name, candidate in THREE.items()}
    judges = JUDGES if splits == 1 else runs
    judged = [one.history["validation_accuracy"][:, :judges] for one in alone.values()]
    best = fit_best(task, THREE, split="jk").model
    assert best.variant == list(THREE)[choose(judged)]
    assert (best.split, best.seeds) == ("jk", task.run.seeds)
    assert same(best, alone[best.variant])
    expected = {
        name: round(reached(values, best.epochs_tried[name]), 4)
        for name, values in zip(THREE, judged, strict=True)
    }
    expected[best.variant] = round(alone[best.variant].validation_accuracy(), 4)  # of all runs
    assert best.chosen_by_validation == expected
    assert sorted(best.epochs_tried.values()) == [3, 6, 12]
    assert best.epochs_tried[best.variant] == 12


def test_a_choice_is_the_same_every_time_and_in_its_file(tmp_path):
    models = [fit_best(node_task(seeds=(0, 1)), THREE).model for _ in range(2)]
    files = [model.save(tmp_path / f"{i}.safetensors") for i, model in enumerate(models)]
    assert files[0].read_bytes() == files[1].read_bytes()
    read = NodeModel.load(files[0])
    assert read.chosen_by_validation == models[0].chosen_by_validation
    assert read.epochs_tried == models[0].epochs_tried
    assert {*read.epochs_tried} == {*read.chosen_by_validation} == {*THREE}


def cut(during, at):
    """A run's ``progress`` that ends it at an epoch of whatever is called so."""

    def begin(epochs, name):
        def tell(epoch, values):
            if (name, epoch) == (during, at):
                raise PowerCutError

        return tell

    return begin


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize(("during", "at"), [("search", 2), ("search", 5), ("search", 11), ("kept", 9)])
def test_a_search_that_was_cut_goes_on_to_the_same_model(tmp_path, runs, during, at):
    """In the first candidate, in the second, after the first rung, and when one is left."""
    seeds = tuple(range(runs))
    whole = fit_best(node_task(seeds=seeds), THREE).model
    name = "choosing among 3" if during == "search" else whole.variant
    path = tmp_path / "c.safetensors"
    kept = Checkpoint(path, every=2)
    with pytest.raises(PowerCutError):
        fit_best(node_task(seeds=seeds, progress=cut(name, at), checkpoint=kept), THREE)
    with pytest.raises(InputError, match=r"of a run: add resume=True"):
        fit_best(node_task(seeds=seeds, checkpoint=kept), THREE)
    for _ in range(2):  # and once more when it is done
        resumed = fit_best(node_task(seeds=seeds, checkpoint=replace(kept, resume=True)), THREE).model
        assert same(resumed, whole)
        assert resumed.choice == whole.choice
    parts = {path.with_stem(f"c-{part}" if part else "c") for part in checkpoint_parts(THREE)}
    assert {*tmp_path.iterdir()} <= parts


def test_whoever_waits_hears_of_all_epochs_of_a_search_as_one_count():
    told = {}

    def begin(epochs, name):
        told[name] = (epochs, [])
        return lambda epoch, values: told[name][1].append(epoch)

    chosen = fit_best(node_task(progress=begin), THREE).model.variant
    assert told["choosing among 3"] == (SEARCHED, [*range(1, SEARCHED + 1)])
    assert told[chosen] == (12, [*range(7, 13)])
    told.clear()
    short = {name: (method, replace(training, epochs=2)) for name, (method, training) in THREE.items()}
    fit_best(node_task(progress=begin), short)
    assert told["choosing among 3"] == (6, [*range(1, 7)])


def test_what_is_too_large_is_said_and_the_others_are_tried(monkeypatch):
    wide = replace(METHODS["joint"], map=kn.maps.HopMLP((50_000,))), SHORT
    sizes = GraphSizes.of(CLUSTERS)
    need = least_needed(sizes, *wide, Place.of(64))
    assert all(least_needed(sizes, *one, Place.of(64)) < need / 2 for one in THREE.values())
    monkeypatch.setattr("kernode.training.memory.free_at", lambda place: int(need / 2))
    with pytest.warns(
        kn.KernodeWarning, match="wide is not tried: this run takes at least .* are free"
    ) as said:
        found = fit_best(node_task(), {"wide": wide, **THREE}).model
    assert len(said) == 1
    assert [*found.chosen_by_validation] == [*THREE]
    with pytest.warns(kn.KernodeWarning, match="wide is not tried"):
        found = fit_best(node_task(), {"wide": wide, "one": THREE["one"]}).model
    assert (found.variant, found.chosen_by_validation, found.epochs_tried) == ("one", None, None)
    with pytest.raises(InputError, match="this run takes at least"):
        fit_best(node_task(), {"wide": wide, "also": wide})


def test_a_candidate_that_diverges_is_not_chosen(tmp_path):
    broken = METHODS["joint"], replace(SHORT, learning_rate=1e200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of what was not kept nobody is warned
        model = fit_best(node_task(seeds=(0, 1)), {"broken": broken, "one": THREE["one"]}).model
    assert model.variant == "one"
    assert model.chosen_by_validation["broken"] == 0.0
    json.dumps(model.choice, allow_nan=False)
    assert NodeModel.load(model.save(tmp_path / "m.safetensors")).choice == model.choice
    with pytest.raises(KernodeError, match="training diverged at epoch"):
        fit_best(node_task(), {"broken": broken, "also": broken})


def test_patience_ends_a_candidate_within_the_search():
    hasty = {
        name: (method, replace(training, epochs=40, patience=2)) for name, (method, training) in THREE.items()
    }
    task = node_task(seeds=(0, 1, 2))
    alone = {name: fit_method(task, *candidate).model for name, candidate in hasty.items()}
    best = fit_best(task, hasty).model
    assert same(best, alone[best.variant])
    lengths = {name: len(one.history["loss"]) for name, one in alone.items()}
    assert best.epochs_tried[best.variant] == lengths[best.variant] < 40
    assert all(best.epochs_tried[name] <= lengths[name] for name in hasty)


def test_where_settings_differ_between_runs_all_of_them_judge():
    rates = replace(SHORT, learning_rate=(0.01, 0.02, 0.03, 0.04, 0.05))
    own = {"one": (METHODS["sum"], rates), "two": (METHODS["joint"], rates)}
    task = node_task(seeds=(0, 1, 2, 3, 4))
    alone = {name: fit_method(task, *candidate).model for name, candidate in own.items()}
    best = fit_best(task, own).model
    assert best.variant == list(own)[choose([one.history["validation_accuracy"] for one in alone.values()])]
    assert same(best, alone[best.variant])


def test_what_selects_the_epochs_also_chooses_the_method():
    by_map = {
        name: (method, replace(training, select_by="map")) for name, (method, training) in THREE.items()
    }
    best = fit_best(node_task(seeds=(0, 1)), by_map).model
    assert (
        best.chosen_by_validation[best.variant]
        == round(best.validated("map"), 4)
        != best.validated("accuracy")
    )
    assert best.chosen_by_validation[best.variant] == round(
        float(best.history["validation_map"].max(axis=0).mean()), 4
    )


def test_without_validation_nodes_the_first_is_taken_and_the_others_are_named():
    nodes = replace(labelled_nodes(), validation=NO_NODES, validation_labels=NO_NODES)
    last = {name: (method, replace(training, selection="last")) for name, (method, training) in THREE.items()}
    with pytest.warns(
        kn.KernodeWarning, match=r"one trains, and two, three are not tried\. Name one as variant"
    ):
        model = fit_best(node_task(nodes=nodes), last).model
    assert (model.variant, model.choice) == ("one", {"chosen_by_validation": None, "epochs_tried": None})


# "auto" itself


def auto(graph=CLUSTERS, **settings):
    """The default, with validation nodes."""
    model = kn.NodeKernelClassifier(device="cpu", **{"epochs": 8, **settings})
    return model.fit(SPLIT.train, LABELS, graph=graph, validation=SPLIT.validation)


def test_what_is_set_is_what_the_kept_one_has():
    model = auto(hops=3, margin=0.4, patience=6, kernel=kn.kernels.RBF()).model_
    assert (model.method.map.hops, model.method.loss.kernel.margin) == (3, 0.4)
    assert (model.training.epochs, model.training.patience) == (8, 6)
    assert model.method.kernel == kn.kernels.RBF()
    assert [*model.chosen_by_validation] == ["diffusion", "hops", "hops-standardized"]


def test_a_map_of_ones_own_is_trained_alone():
    model = auto(map=kn.maps.GCN((8,))).model_
    assert (model.variant, model.method.map.hidden, model.chosen_by_validation) == ("k3-tuned", (8,), None)


def test_no_epochs_or_the_last_one_leave_nothing_to_choose():
    assert auto(epochs=0).model_.variant == "diffusion"
    model = auto(selection="last").model_
    assert (model.variant, model.chosen_by_validation, model.kept_epochs.tolist()) == ("diffusion", None, [8])


def test_features_and_operators_are_made_once_for_all_that_are_tried(monkeypatch):
    """X as it is and with scaled rows, two exact hops and ten plain ones, and what exact hops cost."""
    graph = clustered_graph(n=120)  # of its own: what was counted of a graph is kept as long as it lives
    made = []

    def counting(owner, name, what):
        real = getattr(owner, name)

        def counted(*given, **more):
            made.append(what(*given, **more))
            return real(*given, **more)

        monkeypatch.setattr(owner, name, staticmethod(counted) if isinstance(owner, type) else counted)

    counting(features, "placed_features", lambda x, place, *, normalize_rows: ("X", normalize_rows))
    counting(HopOperator, "_built", lambda graph, hops, *_: ("hops", hops))
    counting(cost, "_count", lambda graph, hops, *_: ("cost", hops))
    auto(graph, epochs=2, replicas=4)
    expected = [("X", False), ("X", True), ("cost", 2), ("cost", 10), ("hops", 2), ("hops", 10)]
    assert sorted(made) == expected


@pytest.mark.filterwarnings("ignore:the best epoch was the last")
def test_a_choice_by_map_is_by_map_and_says_where_it_chose_nothing():
    data = {"X": SPLIT.train, "y": CLUSTERS.labels[SPLIT.train], "graph": CLUSTERS}
    model = kn.NodeKernelClassifier("similarity", epochs=8).fit(**data, validation=SPLIT.validation)
    chosen = model.model_.chosen_by_validation
    assert model.model_.variant in chosen
    assert chosen[model.model_.variant] == pytest.approx(model.model_.validated("map"), abs=1e-3)
    one_each = [SPLIT.validation[CLUSTERS.labels[SPLIT.validation] == c][0] for c in range(3)]
    with pytest.warns(
        kn.KernodeWarning, match="no two validation nodes share a class, so that mAP chose nothing"
    ):
        kn.NodeKernelClassifier("similarity", epochs=8).fit(**data, validation=kn.positions(one_each))
