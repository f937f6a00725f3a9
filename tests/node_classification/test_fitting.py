"""Which of several methods is kept, and what is trained again on more nodes."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from kernode.node_classification import variants
from kernode.node_classification.choosing import fit_best
from kernode.node_classification.fitting import fit_method

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import InputError
from kernode.hops import cost
from kernode.tasks.classes.folds import fit_again
from kernode.tasks.classes.task import LabelledNodes, NodeLearner
from kernode.training.checkpoint import Checkpoint
from parts import METHODS
from tasks import LABELS, SHORT, SPLIT, PowerCutError, cut_at, node_task

CANDIDATES = {"one": (METHODS["joint"], SHORT), "other": (METHODS["sum"], replace(SHORT, epochs=5))}


def test_auto_is_what_its_candidate_that_validates_best_gives_alone(tmp_path):
    """After eight epochs none has left yet, so that all figures are those of the same epochs."""
    fit = partial(
        kn.NodeKernelClassifier.fit, X=SPLIT.train, y=LABELS, graph=CLUSTERS, validation=SPLIT.validation
    )
    auto = fit(kn.NodeKernelClassifier(epochs=8))
    alone = {name: fit(kn.NodeKernelClassifier(name, epochs=8)) for name in variants.CANDIDATES}
    best = {
        name: 100 * model.score(SPLIT.validation, CLUSTERS.labels[SPLIT.validation])
        for name, model in alone.items()
    }
    assert auto.model_.chosen_by_validation == pytest.approx(best, abs=1e-3)
    assert auto.model_.epochs_tried == dict.fromkeys(variants.CANDIDATES, 8)
    chosen = max(best, key=best.get)
    assert auto.model_.variant == chosen
    assert np.array_equal(auto.predict_proba(range(120)), alone[chosen].predict_proba(range(120)))
    assert kn.load_model(auto.save(tmp_path / "m"), graph=CLUSTERS).get_params()["variant"] == chosen


def test_validation_accuracy_is_that_of_the_kept_epochs():
    model = fit_method(node_task(seeds=(0, 1)), METHODS["joint"], SHORT).model
    kept = [model.history["validation_accuracy"][epoch - 1, i] for i, epoch in enumerate(model.kept_epochs)]
    assert model.validation_accuracy() == pytest.approx(np.mean(kept))
    assert replace(model, history={}).validation_accuracy() == 0


def test_what_was_chosen_is_trained_again_for_as_many_epochs_as_were_kept():
    chosen = fit_best(node_task(seeds=(0, 1, 2)), CANDIDATES).model
    everyone = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    again = fit_again(node_task(nodes=everyone, seeds=(5,)), chosen).model
    epochs = round(float(np.mean(chosen.kept_epochs)))
    assert again.training == replace(chosen.training, selection="last", epochs=epochs)
    assert again.train.shape == (1, 120)
    assert (again.variant, again.choice) == (chosen.variant, chosen.choice)
    assert [*again.epochs_tried] == [*CANDIDATES]
    plain = fit_method(node_task(nodes=everyone, seeds=(5,)), chosen.method, again.training)
    assert np.array_equal(again.on(CLUSTERS).probabilities(), plain.probabilities())


def test_every_training_of_a_choice_goes_on_from_a_file_of_its_own(tmp_path):
    whole = fit_best(node_task(), CANDIDATES)
    path = tmp_path / "c.safetensors"
    with pytest.raises(PowerCutError):
        fit_best(node_task(progress=cut_at(8), checkpoint=Checkpoint(path, every=4)), CANDIDATES)
    assert [file.name for file in tmp_path.iterdir()] == ["c-one.safetensors"]
    resumed = fit_best(node_task(checkpoint=Checkpoint(path, every=4, resume=True)), CANDIDATES)
    assert np.array_equal(resumed.probabilities(), whole.probabilities())
    fit_again(node_task(checkpoint=Checkpoint(path)), whole.model)
    assert {file.name for file in tmp_path.iterdir()} == {
        "c-one.safetensors", "c-other.safetensors", "c-all.safetensors",
    }  # fmt: skip


def test_what_cannot_fit_is_refused_before_any_candidate_is_trained(monkeypatch):
    monkeypatch.setattr("kernode.training.memory.free_at", lambda place: 1)
    monkeypatch.setattr(NodeLearner, "step", lambda *_: pytest.fail("something was trained"))
    with pytest.raises(InputError, match="this run takes at least"):
        fit_best(node_task(), CANDIDATES)


@pytest.mark.parametrize("variant", ["k3", "auto"])
def test_in_fit_and_predict_a_map_prepares_once_and_hops_are_counted_once(variant, monkeypatch):
    """What a map made of the graph for training answers, too; where several are tried, that of the best."""
    graph = clustered_graph(n=120)  # of its own: what was counted of a graph is kept as long as it lives
    prepared, counted, count, prepare = [], [], cost._count, kn.maps.HopMLP.prepare
    monkeypatch.setattr(
        kn.maps.HopMLP, "prepare", lambda self, *given: prepared.append(self) or prepare(self, *given)
    )
    monkeypatch.setattr(cost, "_count", lambda *given: counted.append(given[1:]) or count(*given))
    model = kn.NodeKernelClassifier(variant, epochs=2, replicas=2, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=graph, validation=SPLIT.validation)
    model.predict(SPLIT.test)
    model.predict_proba([0])
    model.similar(0)
    assert len(prepared) == len(set(prepared)) == (6 if variant == "auto" else 1)
    assert sorted(counted) == ([(2, "each"), (10, "plain")] if variant == "auto" else [(2, "each")])
