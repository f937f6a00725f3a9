import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.compute.adam import Adam
from kernode.compute.place import Place
from kernode.data import random_split
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from kernode.maps import GCN, Free, HopMLP, Smoother
from kernode.metrics.retrieval import retrieval
from kernode.node_classification.method import Method
from kernode.node_classification.model import Model
from kernode.node_classification.task import Lesson
from kernode.node_classification.trainer import Stack, train
from kernode.node_classification.variants import configure
from kernode.training.checkpoint import Checkpoint
from kernode.training.settings import Training

GRAPH = clustered_graph(n=90)
DOUBLE = Place.of(64)
JOINT = Method(HopMLP((8,)), Normalized(Linear()), "joint")
METHODS = {
    "joint": JOINT,
    "softmax": replace(JOINT, objective="softmax"),
    "kernel": Method(HopMLP((8,), 5), Normalized(Linear()), "kernel"),
    "rbf": Method(HopMLP((8,), 5), Normalized(RBF(learned=True)), "kernel"),
    "squared": replace(JOINT, kernel_loss="squared"),
    "logistic": Method(HopMLP((), 4, hop_weights=0.5), Linear(), "kernel", "logistic"),
    "free": Method(Free(), Normalized(Linear()), "joint"),
}
SHORT = Training(epochs=12, triplets=200)


def lesson_of(seeds=(0,), labels=GRAPH.labels):
    splits = [random_split(GRAPH.labels, (0.5, 0.25, 0.25), seed) for seed in seeds]
    nodes, chosen = (np.stack([getattr(s, part) for s in splits]) for part in ("train", "validation"))
    return Lesson(nodes, labels[nodes], chosen, labels[chosen], 3)


def learn(method=JOINT, training=SHORT, lesson=None, seeds=(0,), graph=GRAPH, **more):
    return Model.learn(graph, method, training, lesson or lesson_of(), list(seeds), DOUBLE, (0, 1, 2), **more)


def run(method=JOINT, training=SHORT, lesson=None, seeds=(0,), **more):
    method = method.for_classes(3)
    return train(GRAPH, method, training, lesson or lesson_of(), list(seeds), DOUBLE, **more)


@pytest.mark.parametrize("name", METHODS)
def test_replica_equals_the_run_made_alone_with_its_seed(name):
    method, seeds = METHODS[name], (5, 6, 7)
    lesson = lesson_of()
    stack = learn(method, lesson=lesson, seeds=seeds)
    together = stack.on(GRAPH).probabilities()
    for i, seed in enumerate(seeds):
        alone = learn(method, lesson=lesson, seeds=[seed])
        assert stack.kept_epochs[i] == alone.kept_epochs[0]
        assert np.abs(together[i] - alone.on(GRAPH).probabilities()[0]).max() < 1e-8


def test_replicas_with_their_own_nodes_and_settings_equal_runs_made_alone():
    seeds = (0, 1, 2)
    own = {
        "learning_rate": (0.01, 0.03, 0.002),
        "weight_decay": (0.0, 1e-3, 5e-4),
        "dropout": (0.0, 0.5, 0.8),
        "kernel_weight": (0.0, 1.0, 0.1),
        "margin": (0.1, 0.5, 1.0),
    }
    lesson = lesson_of(seeds)
    stacked = replace(SHORT, **own)
    together = learn(JOINT, stacked, lesson, seeds).on(GRAPH).probabilities()
    for i, seed in enumerate(seeds):
        training = replace(SHORT, **{name: values[i] for name, values in own.items()})
        alone = learn(JOINT, training, lesson_of([seed]), [seed]).on(GRAPH).probabilities()
        assert np.abs(together[i] - alone[0]).max() < 1e-8


def test_wide_replicas_train_in_several_stacks_with_the_same_result(monkeypatch, tmp_path):
    """Two stacks of two and one of one, interrupted and resumed, against one stack of five."""
    seeds, lesson = (0, 1, 2, 3, 4), lesson_of(range(5))
    own = replace(SHORT, margin=(0.1, 0.2, 0.3, 0.4, 0.5))
    whole = run(JOINT, own, lesson, seeds)
    monkeypatch.setattr("kernode.training.loop.STACK_NUMBERS", {"cpu": 2 * 90 * 8})
    path = tmp_path / "c.safetensors"
    run(JOINT, replace(own, epochs=5), lesson, seeds, checkpoint=Checkpoint(path, every=2))
    parts = run(JOINT, own, lesson, seeds, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(parts.epochs, whole.epochs)
    for name, values in whole.history.items():
        assert np.allclose(parts.history[name], values, atol=1e-9)
    for name, values in whole.parameters.items():
        assert torch.allclose(parts.parameters[name], values, atol=1e-9)


def test_learning_learns():
    trained = run(training=replace(SHORT, epochs=100, dropout=0.2), seeds=(0, 1))
    assert (trained.history["loss"][-1] < 0.7 * trained.history["loss"][0]).all()
    assert trained.history["validation_accuracy"].max() > 90


def test_history_has_losses_accuracies_and_hop_weights_per_epoch():
    history = run(seeds=(0, 1)).history
    assert history["hop_weights"].shape == (12, 2, 3)
    for name in ("loss", "kernel_loss", "softmax_loss", "validation_loss", "validation_accuracy"):
        assert history[name].shape == (12, 2)
    assert np.allclose(history["loss"], history["softmax_loss"] + 0.1 * history["kernel_loss"])


def test_kept_epoch_has_the_best_accuracy_and_then_the_lowest_loss():
    trained = run(seeds=(0, 1, 2))
    for i, epoch in enumerate(trained.epochs):
        accuracy = trained.history["validation_accuracy"][:, i]
        loss = np.where(accuracy == accuracy.max(), trained.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1


@pytest.mark.parametrize("name", ["joint", "kernel", "logistic", "rbf"])
def test_epoch_with_the_highest_validation_map_is_kept_when_asked_for(name):
    by_map = run(METHODS[name], replace(SHORT, select_by="map"), seeds=(0, 1, 2))
    for i, epoch in enumerate(by_map.epochs):
        precision = by_map.history["validation_map"][:, i]
        loss = np.where(precision == precision.max(), by_map.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1
    plain = run(METHODS[name], seeds=(0, 1, 2))
    assert "validation_map" not in plain.history
    assert np.array_equal(plain.history["loss"], by_map.history["loss"])
    assert not np.array_equal(plain.epochs, by_map.epochs)


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_validation_map_is_that_of_the_normalised_gram_matrix_among_own_validation_nodes(seeds):
    lesson = lesson_of(seeds)
    training = replace(SHORT, select_by="map", selection="last")
    model = learn(METHODS["logistic"], training, lesson, seeds)  # whose own kernel is not normalised
    g = model.on(GRAPH).g
    for i in range(len(seeds)):
        own = g[i, lesson.validation[i]] / g[i, lesson.validation[i]].norm(dim=1, keepdim=True)
        expected, _ = retrieval((own @ own.T)[None], torch.from_numpy(lesson.validation_labels[i]))
        assert model.history["validation_map"][-1, i] == pytest.approx(expected.item(), abs=1e-9)


def test_replicas_selected_by_map_equal_runs_made_alone():
    seeds, training = (0, 1, 2), replace(SHORT, select_by="map")
    stack = run(METHODS["kernel"], training, lesson_of(seeds), seeds)
    for i, seed in enumerate(seeds):
        alone = run(METHODS["kernel"], training, lesson_of([seed]), [seed])
        assert stack.epochs[i] == alone.epochs[0]
        both = (one.history["validation_map"][:, j] for one, j in ((stack, i), (alone, 0)))
        assert np.allclose(*both, atol=1e-8)


def test_where_no_two_validation_nodes_are_of_one_class_the_loss_selects():
    lesson = replace(lesson_of(), validation=np.arange(3)[None], validation_labels=np.arange(3)[None])
    trained = run(training=replace(SHORT, select_by="map"), lesson=lesson)
    assert trained.epochs[0] == trained.history["validation_loss"][:, 0].argmin() + 1


def test_last_epoch_can_be_kept_instead():
    best, last = run(), run(training=replace(SHORT, selection="last"))
    assert last.epochs.tolist() == [12]
    assert np.array_equal(best.history["loss"], last.history["loss"])


def test_patience_stops_each_replica_as_it_would_alone():
    training = replace(SHORT, epochs=60, patience=4, learning_rate=0.05)
    stack = run(training=training, seeds=(0, 1, 2, 3))
    alone = [run(training=training, seeds=[seed]) for seed in (0, 1, 2, 3)]
    assert stack.epochs.tolist() == [int(one.epochs[0]) for one in alone]
    lengths = [len(one.history["loss"]) for one in alone]
    assert lengths == [int(one.epochs[0]) + 4 for one in alone]
    assert len(stack.history["loss"]) == max(lengths) < 60


def test_same_seed_gives_the_same_bits_and_another_seed_does_not():
    once, again, other = run(), run(), run(seeds=[1])
    for name, value in once.parameters.items():
        assert torch.equal(value, again.parameters[name])
    assert not torch.equal(once.parameters["map.weight_0"], other.parameters["map.weight_0"])


def test_changing_test_labels_changes_nothing_at_all(tmp_path):
    split = random_split(GRAPH.labels, (0.5, 0.25, 0.25), 0)
    labels = GRAPH.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 3
    files = []
    for number, own in enumerate((GRAPH.labels, labels)):
        lesson = lesson_of(labels=own)
        graph = type(GRAPH)(GRAPH.adjacency, GRAPH.features, own, name=GRAPH.name)
        model = learn(lesson=lesson, graph=graph)
        files.append(model.save(tmp_path / f"{number}.safetensors").read_bytes())
    assert files[0] == files[1]


def test_changing_validation_labels_changes_no_trained_weight_only_the_kept_epoch():
    lesson = lesson_of()
    turned = replace(lesson, validation_labels=(lesson.validation_labels + 1) % 3)
    last = replace(SHORT, selection="last")
    weights, other_weights = (run(training=last, lesson=one).parameters for one in (lesson, turned))
    assert all(torch.equal(value, other_weights[name]) for name, value in weights.items())
    kept, other = run(lesson=lesson), run(lesson=turned)
    for name in ("loss", "hop_weights"):
        assert np.array_equal(kept.history[name], other.history[name])
    assert kept.epochs != other.epochs


def test_validation_and_test_labels_never_reach_the_losses():
    """NaN-like labels outside the training nodes would show in any loss they touched."""
    split = random_split(GRAPH.labels, (0.5, 0.25, 0.25), 0)
    labels = np.full_like(GRAPH.labels, -1)
    labels[split.train] = GRAPH.labels[split.train]
    hidden = Lesson(
        split.train[None], labels[split.train][None], np.empty((1, 0), int), np.empty((1, 0), int), 3
    )
    blind = run(training=replace(SHORT, selection="last"), lesson=hidden)
    seeing = run(training=replace(SHORT, selection="last"))
    assert np.array_equal(blind.history["loss"], seeing.history["loss"])


@pytest.mark.parametrize("name", ["joint", "rbf"])
def test_interrupted_training_goes_on_bit_for_bit(name, tmp_path):
    method, path, seeds = METHODS[name], tmp_path / "c.safetensors", (0, 1)
    whole = run(method, seeds=seeds)

    class PowerCutError(Exception):
        pass

    def cut(epoch, values):
        if epoch == 7:
            raise PowerCutError

    with pytest.raises(PowerCutError):
        run(method, seeds=seeds, progress=cut, checkpoint=Checkpoint(path, every=3))
    resumed = run(method, seeds=seeds, checkpoint=Checkpoint(path, every=3, resume=True))
    assert np.array_equal(resumed.epochs, whole.epochs)
    for key, values in whole.history.items():
        assert np.array_equal(resumed.history[key], values)
    for key, values in whole.parameters.items():
        assert torch.equal(resumed.parameters[key], values)
    finished = run(method, seeds=seeds, checkpoint=Checkpoint(path, resume=True))
    assert torch.equal(finished.parameters["map.weight_0"], whole.parameters["map.weight_0"])


def test_resume_without_a_file_starts_afresh(tmp_path):
    path = tmp_path / "c.safetensors"
    resumed = run(checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], run().history["loss"])
    assert path.exists()


def test_resume_may_train_longer_but_not_something_else(tmp_path):
    path = tmp_path / "c.safetensors"
    run(checkpoint=Checkpoint(path))
    longer = replace(SHORT, epochs=20)
    resumed = run(training=longer, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], run(training=longer).history["loss"])
    for changes in ({"training": replace(SHORT, margin=0.3)}, {"seeds": [4]}, {"lesson": lesson_of([3])}):
        with pytest.raises(InputError, match="belongs to another run"):
            run(**changes, checkpoint=Checkpoint(path, resume=True))


def test_stacked_adam_equals_torchs():
    random = torch.Generator().manual_seed(0)
    start = torch.randn(2, 4, 3, dtype=torch.float64, generator=random)
    gradients = torch.randn(9, 2, 4, 3, dtype=torch.float64, generator=random)
    bystander = torch.ones(2, dtype=torch.float64)
    adam = Adam(
        {"w": start.transpose(1, 2), "unused": bystander}, torch.tensor([0.01, 0.1]), torch.tensor([0.0, 0.2])
    )
    theirs = [start[i].clone().requires_grad_() for i in range(2)]
    others = [
        torch.optim.Adam([theirs[i]], lr=lr, weight_decay=decay)
        for i, (lr, decay) in enumerate([(0.01, 0.0), (0.1, 0.2)])
    ]
    for step, gradient in enumerate(gradients, 1):
        adam.step({"w": gradient.transpose(1, 2), "unused": None}, step)
        for i, other in enumerate(others):
            theirs[i].grad = gradient[i].clone()
            other.step()
    for i in range(2):
        assert torch.allclose(adam.parameters["w"][i].T, theirs[i].detach(), atol=1e-8)
    assert torch.equal(adam.parameters["unused"], bystander)


def test_balanced_class_weights_give_every_class_the_same_say():
    nodes = np.array([[0, 3, 6, 9, 12, 1, 4, 2, 5, 8]])  # 5 of class 0, 2 of class 1, 3 of class 2
    lesson = Lesson(nodes, GRAPH.labels[nodes], np.arange(30, 60)[None], GRAPH.labels[None, 30:60], 3)
    stack = Stack(
        JOINT.for_classes(3).map.prepare(GRAPH, DOUBLE), JOINT.for_classes(3),
        replace(SHORT, class_weights="balanced"), lesson, [0], DOUBLE,
    )  # fmt: skip
    expected = torch.tensor([5 * [1 / 15] + 2 * [1 / 6] + 3 * [1 / 9]]).double()
    assert torch.allclose(stack.weights, expected)


@pytest.mark.parametrize("epoch", [1, 4])
def test_kept_parameters_are_those_of_the_kept_epoch(epoch):
    """Training that ends there must leave the same."""
    ended = run(training=replace(SHORT, epochs=epoch, selection="last"), seeds=(0, 1))
    weights = ended.history["hop_weights"][-1]
    assert np.array_equal(ended.parameters["map.hop_weights"].numpy(), weights)
    whole = run(seeds=(0, 1))
    for i, kept in enumerate(whole.epochs):
        assert np.array_equal(
            whole.parameters["map.hop_weights"][i].numpy(), whole.history["hop_weights"][kept - 1, i]
        )


def test_fewer_epochs_than_a_checkpoint_has_are_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    run(checkpoint=Checkpoint(path))
    with pytest.raises(InputError, match="has 12 epochs, more than the 4 asked for"):
        run(training=replace(SHORT, epochs=4), checkpoint=Checkpoint(path, resume=True))


def test_smoother_has_nothing_to_learn_but_classifies():
    method = Method(Smoother(), Normalized(Linear()), "kernel")
    lesson = lesson_of((0, 1))
    trained = learn(method, Training(epochs=50), lesson, (0, 1))
    assert trained.kept_epochs.tolist() == [0, 0]
    found = trained.on(GRAPH).probabilities().argmax(axis=-1)
    assert (found == GRAPH.labels).mean() > 0.8


def test_class_with_a_single_training_node_trains_with_a_warning():
    nodes = np.array([[0, 3, 6, 1, 4, 2]])  # classes 0 0 0 1 1 2
    lesson = Lesson(nodes, GRAPH.labels[nodes], np.arange(30, 60)[None], GRAPH.labels[None, 30:60], 3)
    with pytest.warns(UserWarning, match="class 2 has a single training node"):
        trained = run(lesson=lesson)
    assert np.isfinite(trained.history["loss"]).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epochs": -1}, "epochs must be an integer ≥ 0. Got -1."),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"learning_rate": float("nan")}, "learning_rate must be finite and ≥ 0"),
        ({"margin": (0.1, -0.1)}, "margin must be finite"),
        ({"selection": "first"}, "selection must be 'best' or 'last'"),
        ({"select_by": "loss"}, "select_by must be 'accuracy' or 'map'. Got 'loss'."),
        ({"patience": 0}, "patience must be an integer ≥ 1"),
        ({"triplets": 0}, "triplets must be an integer ≥ 1"),
        ({"class_weights": "rare"}, "class_weights must be 'balanced' or None"),
    ],
)
def test_wrong_settings_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Training(**changes)


def test_settings_must_fit_the_stack_and_best_needs_validation_nodes():
    with pytest.raises(InputError, match="margin must be one number or one per replica"):
        run(training=replace(SHORT, margin=(0.1, 0.2)), seeds=(0, 1, 2))
    empty = replace(lesson_of(), validation=np.empty((1, 0), int), validation_labels=np.empty((1, 0), int))
    with pytest.raises(InputError, match="needs validation nodes"):
        run(lesson=empty)
    with pytest.raises(InputError, match="has no label"):
        replace(lesson_of(), train_labels=np.full_like(lesson_of().train_labels, -1))
    with pytest.raises(InputError, match="patience belongs to"):
        replace(SHORT, patience=3, selection="last")


@pytest.mark.slow
def test_two_processes_with_the_same_threads_write_the_same_model(tmp_path):
    """Float32, two threads, Cora: the same bits from two runs of the command."""
    files = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.safetensors"
        command = [sys.executable, "-m", "kernode", "fit", "cora", "--replicas", "3", "--epochs", "40"]
        subprocess.run([*command, "--threads", "2", "--quiet", "-o", path], check=True, cwd=tmp_path)
        files.append(path.read_bytes())
    assert files[0] == files[1]


@pytest.mark.slow
def test_on_cora_replicas_equal_runs_made_alone_over_200_epochs(cora):
    """K3 with the paper's settings in float64: test probabilities agree to 1e-8."""
    graph, split = cora

    def test_probabilities(seed, replicas):
        model = kn.NodeKernelClassifier(
            "k3", random_state=seed, replicas=replicas, precision=64, device="cpu"
        )
        model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
        return model._answers.probabilities(split.test)

    stack = test_probabilities(0, 10)
    for seed in (0, 4, 9):
        difference = np.abs(stack[seed] - test_probabilities(seed, 1)[0]).max()
        assert difference < 1e-8


def test_what_evaluation_leaves_for_the_next_step_changes_no_bit(monkeypatch):
    def histories():
        return [
            run(method.for_classes(3), seeds=(0, 1)).history for method in (JOINT, replace(JOINT, map=GCN()))
        ]

    shared = histories()
    monkeypatch.setattr(Stack, "_beginning_from_evaluation", lambda self: None)
    for one, other in zip(shared, histories(), strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_what_evaluation_left_is_not_used_after_the_parameters_have_moved():
    method = JOINT.for_classes(3)
    stack = Stack(method.map.prepare(GRAPH, DOUBLE), method, SHORT, lesson_of(), [0], DOUBLE)
    stack.advance(1)
    with torch.no_grad():
        stack.adam.flat.mul_(0.5)
    assert stack._beginning_from_evaluation() is None


def cora_model(cora, kind, precision, epochs, monkeypatch):
    graph, split = cora
    monkeypatch.setattr("kernode.hops.cost.HopCost.kind", kind)
    method, training = configure("k3", "cora", epochs=epochs)
    nodes = split.train[None], split.validation[None]
    lesson = Lesson(nodes[0], graph.labels[nodes[0]], nodes[1], graph.labels[nodes[1]], 7)
    return graph, split, method.for_classes(7), training, lesson, Place.of(precision)


def test_factored_and_explicit_operators_train_the_same_model_on_cora(cora, monkeypatch):
    answers = []
    for kind in ("explicit", "factored"):
        graph, split, method, training, lesson, place = cora_model(cora, kind, 64, 20, monkeypatch)
        model = Model.learn(graph, method, training, lesson, [0, 1], place, tuple(range(7)))
        answers.append(model.on(graph).probabilities(split.test))
    assert np.abs(answers[0] - answers[1]).max() < 1e-8


def test_factored_and_explicit_gradients_of_a_float32_step_agree_on_cora(cora, monkeypatch):
    gradients = []
    for kind in ("explicit", "factored"):
        graph, _, method, training, lesson, place = cora_model(cora, kind, 32, 1, monkeypatch)
        stack = Stack(method.map.prepare(graph, place), method, training, lesson, [0], place)
        loss = stack.losses(1)["loss"]
        gradients.append(torch.autograd.grad(loss, list(stack.parameters.values()), torch.ones_like(loss)))
    for one, other in zip(*gradients, strict=True):
        assert (one - other).norm() <= 1e-5 * one.norm()
