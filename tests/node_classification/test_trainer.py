"""Training on the classes of nodes: what it sees, what it records, what it selects by."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from kernode.node_classification.fitting import fit_method

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import InputError
from kernode.losses import Hinge
from kernode.maps import GCN
from kernode.metrics.ranking import retrieval
from kernode.tasks.classes.configure import configure
from kernode.tasks.classes.task import LabelledNodes, NodeLearner, NodeTask, learners
from kernode.training.run import Run
from parts import METHODS
from tasks import DOUBLE, NO_NODES, SHORT, SINGLE, SPLIT, labelled_nodes, node_task, split_of, trained

JOINT = METHODS["joint"]


def fitted(method=JOINT, training=SHORT, **task):
    return fit_method(node_task(**task), method, training).model


# records


def test_history_has_losses_accuracies_and_hop_weights_per_epoch():
    history = trained(JOINT, seeds=(0, 1)).history
    assert history["hop_weights"].shape == (12, 2, 3)
    for name in ("loss", "kernel_loss", "softmax_loss", "validation_loss", "validation_accuracy"):
        assert history[name].shape == (12, 2)
    assert np.allclose(history["loss"], history["softmax_loss"] + 0.1 * history["kernel_loss"])


def test_what_the_map_prepared_is_handed_on_and_references_are_those_of_nearest_centroids():
    softmax, centroid = trained(JOINT, seeds=(0, 1)), trained(METHODS["kernel"], seeds=(0, 1))
    assert softmax.prepared is not None
    assert softmax.references is None
    assert centroid.references.shape == (2, 3, 5)  # a mean for each class


# selection by mean average precision


@pytest.mark.parametrize("name", ["joint", "kernel", "logistic", "rbf"])
def test_epoch_with_the_highest_validation_map_is_kept_when_asked_for(name):
    by_map = trained(METHODS[name], replace(SHORT, select_by="map"), seeds=(0, 1, 2))
    for i, epoch in enumerate(by_map.epochs):
        precision = by_map.history["validation_map"][:, i]
        loss = np.where(precision == precision.max(), by_map.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1
    plain = trained(METHODS[name], seeds=(0, 1, 2))
    assert "validation_map" not in plain.history
    assert np.array_equal(plain.history["loss"], by_map.history["loss"])
    assert not np.array_equal(plain.epochs, by_map.epochs)


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_validation_map_is_that_of_the_normalised_gram_matrix_among_own_validation_nodes(seeds):
    nodes = labelled_nodes(split_seeds=seeds)
    training = replace(SHORT, select_by="map", selection="last")
    model = fitted(METHODS["logistic"], training, seeds=seeds, nodes=nodes)  # its kernel is not normalised
    g = model.on(CLUSTERS).g
    for i in range(len(seeds)):
        own = g[i, nodes.validation[i]] / g[i, nodes.validation[i]].norm(dim=1, keepdim=True)
        expected, _ = retrieval((own @ own.T)[None], torch.from_numpy(nodes.validation_labels[i]))
        assert model.history["validation_map"][-1, i] == pytest.approx(expected.item(), abs=1e-9)


def test_replicas_selected_by_map_equal_runs_made_alone():
    seeds, training = (0, 1, 2), replace(SHORT, select_by="map")
    stack = trained(METHODS["kernel"], training, seeds=seeds, nodes=labelled_nodes(split_seeds=seeds))
    for i, seed in enumerate(seeds):
        alone = trained(METHODS["kernel"], training, seeds=(seed,), nodes=labelled_nodes(split_seeds=(seed,)))
        assert stack.epochs[i] == alone.epochs[0]
        both = (one.history["validation_map"][:, j] for one, j in ((stack, i), (alone, 0)))
        assert np.allclose(*both, atol=1e-8)


def test_where_no_two_validation_nodes_are_of_one_class_the_loss_selects():
    nodes = replace(
        labelled_nodes(), validation=np.arange(3)[None], validation_labels=CLUSTERS.labels[None, :3]
    )
    assert len(set(nodes.validation_labels[0])) == 3
    found = trained(JOINT, replace(SHORT, select_by="map"), nodes=nodes)
    assert found.epochs[0] == found.history["validation_loss"][:, 0].argmin() + 1


# what labels reach


def test_changing_test_labels_changes_nothing_at_all(tmp_path):
    labels = CLUSTERS.labels.copy()
    labels[SPLIT.test] = (labels[SPLIT.test] + 1) % 3
    files = []
    for number, own in enumerate((CLUSTERS.labels, labels)):
        graph = type(CLUSTERS)(CLUSTERS.adjacency, CLUSTERS.features, own, name=CLUSTERS.name)
        model = fitted(graph=graph, nodes=labelled_nodes(labels=own))
        files.append(model.save(tmp_path / f"{number}.safetensors").read_bytes())
    assert files[0] == files[1]


def test_changing_validation_labels_changes_no_trained_weight_only_the_kept_epoch():
    nodes = labelled_nodes()
    turned = replace(nodes, validation_labels=(nodes.validation_labels + 1) % 3)
    last = replace(SHORT, selection="last")
    weights, other_weights = (trained(JOINT, last, nodes=one).parameters for one in (nodes, turned))
    assert all(torch.equal(value, other_weights[name]) for name, value in weights.items())
    kept, other = trained(JOINT, nodes=nodes), trained(JOINT, nodes=turned)
    for name in ("loss", "hop_weights"):
        assert np.array_equal(kept.history[name], other.history[name])
    assert kept.epochs != other.epochs


def test_validation_and_test_labels_never_reach_the_losses():
    """Labels of −1 outside the training nodes would show in any loss they touched."""
    labels = np.full_like(CLUSTERS.labels, -1)
    labels[SPLIT.train] = CLUSTERS.labels[SPLIT.train]
    hidden = LabelledNodes.without_validation(SPLIT.train, labels[SPLIT.train])
    last = replace(SHORT, selection="last")
    blind, seeing = trained(JOINT, last, nodes=hidden), trained(JOINT, last)
    assert np.array_equal(blind.history["loss"], seeing.history["loss"])


def test_best_needs_validation_nodes():
    none = replace(labelled_nodes(), validation=NO_NODES, validation_labels=NO_NODES)
    with pytest.raises(InputError, match="the selection best needs validation nodes"):
        trained(JOINT, nodes=none)


def test_class_with_a_single_training_node_trains():
    graph = clustered_graph()
    train, validation = np.array([[0, 3, 6, 1, 4, 2]]), np.arange(30, 60)[None]  # classes 0 0 0 1 1 2
    nodes = LabelledNodes(train, graph.labels[train], validation, graph.labels[validation])
    found = trained(JOINT, graph=graph, nodes=nodes, classes=("a", "b", "c"))
    assert np.isfinite(found.history["loss"]).all()


# replicas


def test_replicas_with_their_own_nodes_and_settings_equal_runs_made_alone():
    seeds = (0, 1, 2)
    of_training = {
        "learning_rate": (0.01, 0.03, 0.002), "weight_decay": (0.0, 1e-3, 5e-4), "dropout": (0.0, 0.5, 0.8),
    }  # fmt: skip
    of_loss = {"kernel_weight": (0.0, 1.0, 0.1), "margin": (0.1, 0.5, 1.0)}

    def probabilities(seeds, i=slice(None)):
        method = JOINT.changed({name: values[i] for name, values in of_loss.items()})
        training = replace(SHORT, **{name: values[i] for name, values in of_training.items()})
        nodes = labelled_nodes(split_seeds=seeds)
        return fitted(method, training, seeds=seeds, nodes=nodes).on(CLUSTERS).probabilities()

    together = probabilities(seeds)
    for i, seed in enumerate(seeds):
        assert np.abs(together[i] - probabilities((seed,), i)[0]).max() < 1e-8


def test_settings_must_fit_the_stack():
    method = replace(JOINT, loss=Hinge(margin=(0.1, 0.2)), map=replace(JOINT.map, outputs=3))
    with pytest.raises(InputError, match=r"margin must be one number or one per replica \(3\)\. Got 2"):
        trained(method, seeds=(0, 1, 2))


def test_smoother_has_nothing_to_learn_but_classifies():
    task = {"seeds": (0, 1), "nodes": labelled_nodes(split_seeds=(0, 1))}
    model = fitted(METHODS["smoother"], replace(SHORT, epochs=50), **task)
    assert model.kept_epochs.tolist() == [0, 0]
    found = model.on(CLUSTERS).probabilities().argmax(axis=-1)
    assert (found == CLUSTERS.labels).mean() > 0.8


@pytest.mark.slow
def test_on_cora_replicas_equal_runs_made_alone_over_200_epochs(cora):
    """K3 with the paper's settings in float64: test probabilities agree to 1e-8."""
    graph, split = cora

    def test_probabilities(seed, replicas):
        model = kn.NodeKernelClassifier(
            "k3", random_state=seed, replicas=replicas, precision=64, device="cpu"
        )
        model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
        return model.model_.on(graph).probabilities(split.test)

    stack = test_probabilities(0, 10)
    for seed in (0, 4, 9):
        difference = np.abs(stack[seed] - test_probabilities(seed, 1)[0]).max()
        assert difference < 1e-8


# what evaluation leaves for the next step


def test_what_evaluation_leaves_for_the_next_step_changes_no_bit(monkeypatch):
    def histories():
        return [trained(method, seeds=(0, 1)).history for method in (JOINT, replace(JOINT, map=GCN()))]

    shared = histories()
    monkeypatch.setattr(NodeLearner, "_beginning_from_evaluation", lambda self: None)
    for one, other in zip(shared, histories(), strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_what_evaluation_left_is_not_used_after_the_parameters_have_moved():
    (learner,) = learners(node_task(), JOINT.for_classes(3), SHORT)
    learner.advance(1)
    with torch.no_grad():
        learner.adam.flat.mul_(0.5)
    assert learner._beginning_from_evaluation() is None


# explicit and factored hop operators


def cora_task(cora, kind, place, epochs, monkeypatch):
    graph, split = cora
    monkeypatch.setattr("kernode.hops.cost.HopCost.kind", kind)
    method, training = configure("k3", "cora", epochs=epochs)
    return NodeTask.of_splits(graph, [split], Run((0, 1), place)), method.for_classes(7), training


def test_factored_and_explicit_operators_train_the_same_model_on_cora(cora, monkeypatch):
    answers = []
    for kind in ("explicit", "factored"):
        task, method, training = cora_task(cora, kind, DOUBLE, 20, monkeypatch)
        answers.append(fit_method(task, method, training).probabilities(cora[1].test))
    assert np.abs(answers[0] - answers[1]).max() < 1e-8


def test_factored_and_explicit_gradients_of_a_float32_step_agree_on_cora(cora, monkeypatch):
    gradients = []
    for kind in ("explicit", "factored"):
        (learner,) = learners(*cora_task(cora, kind, SINGLE, 1, monkeypatch))
        loss = learner.losses(1)["loss"]
        gradients.append(torch.autograd.grad(loss, list(learner.parameters.values()), torch.ones_like(loss)))
    for one, other in zip(*gradients, strict=True):
        assert (one - other).norm() <= 1e-5 * one.norm()


def test_splits_of_ones_own_are_rows_of_nodes():
    splits = [split_of(CLUSTERS, seed) for seed in (3, 4)]
    task = NodeTask.of_splits(CLUSTERS, splits, Run((0, 1), DOUBLE))
    model = fit_method(task, JOINT, SHORT).model
    assert np.array_equal(model.train, np.stack([split.train for split in splits]))
