"""Which of several methods is kept, and what is trained again on more nodes."""

from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import InputError
from kernode.hops import cost
from kernode.node_classification.choosing import fit_best
from kernode.node_classification.fitting import fit_again, fit_method
from kernode.node_classification.task import LabelledNodes
from kernode.training.checkpoint import Checkpoint
from parts import METHODS
from tasks import LABELS, NO_NODES, SHORT, SPLIT, PowerCutError, cut_at, labelled_nodes, node_task

CANDIDATES = {"one": (METHODS["joint"], SHORT), "other": (METHODS["sum"], replace(SHORT, epochs=5))}


def test_auto_keeps_the_candidate_that_validates_better(tmp_path):
    auto, *others = (
        kn.NodeKernelClassifier(variant, epochs=8).fit(
            SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation
        )
        for variant in ("auto", "k3-tuned", "diffusion")
    )
    validated = auto.model_.chosen_by_validation
    best = {
        model.variant: 100 * model.score(SPLIT.validation, CLUSTERS.labels[SPLIT.validation])
        for model in others
    }
    assert validated == pytest.approx(best, abs=1e-3)
    chosen = max(validated, key=validated.get)
    kept = next(model for model in others if model.variant == chosen)
    assert np.array_equal(auto.predict_proba(range(120)), kept.predict_proba(range(120)))
    assert kn.load_model(auto.save(tmp_path / "m"), graph=CLUSTERS).get_params()["variant"] == chosen


def test_auto_with_a_worse_first_candidate_takes_the_second(monkeypatch):
    from kernode.node_classification import variants

    monkeypatch.setattr(variants, "CANDIDATES", ("smoother", "k3-tuned"))
    good = kn.NodeKernelClassifier().fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    monkeypatch.setattr(variants, "CANDIDATES", ("k3-tuned", "smoother"))
    same = kn.NodeKernelClassifier().fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    assert np.array_equal(good.predict_proba(range(120)), same.predict_proba(range(120)))


def test_the_best_is_the_one_that_validates_best_alone():
    task = node_task(seeds=(0, 1))
    alone = {name: fit_method(task, *candidate) for name, candidate in CANDIDATES.items()}
    values = {name: one.model.validation_accuracy() for name, one in alone.items()}
    best = fit_best(task, CANDIDATES, split="jk")
    assert best.model.chosen_by_validation == pytest.approx(values, abs=1e-4)
    assert (best.model.variant, best.model.split) == (max(values, key=values.get), "jk")
    assert np.array_equal(best.probabilities(), alone[best.model.variant].probabilities())


def test_validation_accuracy_is_that_of_the_kept_epochs():
    model = fit_method(node_task(seeds=(0, 1)), METHODS["joint"], SHORT).model
    kept = [model.history["validation_accuracy"][epoch - 1, i] for i, epoch in enumerate(model.kept_epochs)]
    assert model.validation_accuracy() == pytest.approx(np.mean(kept))
    assert replace(model, history={}).validation_accuracy() == 0


def test_without_validation_nodes_the_first_candidate_is_taken():
    nodes = replace(labelled_nodes(), validation=NO_NODES, validation_labels=NO_NODES)
    last = {name: (method, replace(SHORT, selection="last")) for name, (method, _) in CANDIDATES.items()}
    with pytest.warns(kn.KernodeWarning, match="no node validates: one trains, and other is not tried"):
        model = fit_best(node_task(nodes=nodes), last).model
    assert (model.variant, model.chosen_by_validation) == ("one", None)


def test_what_was_chosen_is_trained_again_for_as_many_epochs_as_were_kept():
    chosen = fit_best(node_task(seeds=(0, 1, 2)), CANDIDATES).model
    everyone = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    again = fit_again(node_task(nodes=everyone, seeds=(5,)), chosen).model
    epochs = round(float(np.mean(chosen.kept_epochs)))
    assert again.training == replace(chosen.training, selection="last", epochs=epochs)
    assert again.train.shape == (1, 120)
    assert (again.variant, again.chosen_by_validation) == (chosen.variant, chosen.chosen_by_validation)
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
    monkeypatch.setattr("kernode.training.memory_check.free_at", lambda place: 1)
    monkeypatch.setattr(type(METHODS["joint"]), "train", lambda *_: pytest.fail("something was trained"))
    with pytest.raises(InputError, match="this run takes at least"):
        fit_best(node_task(), CANDIDATES)


@pytest.mark.parametrize("variant", ["k3", "auto"])
def test_in_fit_and_predict_a_map_prepares_once_and_hops_are_counted_once(variant, monkeypatch):
    """What a map made of the graph for training answers, too; where several are tried, that of the best."""
    graph = clustered_graph(n=120)  # of its own: what was counted of a graph is kept as long as it lives
    prepared, counted, count = [], [], cost._count
    for kind in (kn.maps.HopMLP, kn.maps.APPNP):

        def preparing(self, *given, prepare=kind.prepare):
            prepared.append(type(self).__name__)
            return prepare(self, *given)

        monkeypatch.setattr(kind, "prepare", preparing)
    monkeypatch.setattr(cost, "_count", lambda *given: counted.append(1) or count(*given))
    model = kn.NodeKernelClassifier(variant, epochs=2, triplets=50, replicas=2, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=graph, validation=SPLIT.validation)
    model.predict(SPLIT.test)
    model.predict_proba([0])
    model.similar(0)
    assert prepared == (["HopMLP", "APPNP"] if variant == "auto" else ["HopMLP"])
    assert len(counted) == 1
