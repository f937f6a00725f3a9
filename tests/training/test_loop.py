"""The loop that every training shares: which epoch is kept, who stops when; a stack changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kernode.errors import KernodeError
from kernode.storage import read_tensors
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import stack_slices
from kernode.training.run import Run
from parts import METHODS
from tasks import DOUBLE, SHORT, labelled_nodes, trained

JOINT = METHODS["joint"]


def test_learning_learns():
    found = trained(JOINT, replace(SHORT, epochs=150, dropout=0.2), seeds=(0, 1))
    assert (found.history["loss"][-1] < 0.7 * found.history["loss"][0]).all()
    assert found.history["validation_accuracy"].max() > 90


def test_kept_epoch_has_the_best_accuracy_and_then_the_lowest_loss():
    found = trained(JOINT, seeds=(0, 1, 2))
    for i, epoch in enumerate(found.epochs):
        accuracy = found.history["validation_accuracy"][:, i]
        loss = np.where(accuracy == accuracy.max(), found.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1


def test_last_epoch_can_be_kept_instead():
    best, last = trained(JOINT), trained(JOINT, replace(SHORT, selection="last"))
    assert last.epochs.tolist() == [12]
    assert np.array_equal(best.history["loss"], last.history["loss"])


@pytest.mark.parametrize("epoch", [1, 4])
def test_kept_parameters_are_those_of_the_kept_epoch(epoch):
    """Training that ends there must leave the same."""
    ended = trained(JOINT, replace(SHORT, epochs=epoch, selection="last"), seeds=(0, 1))
    weights = ended.history["hop_weights"][-1]
    assert np.array_equal(ended.parameters["map.hop_weights"].numpy(), weights)
    whole = trained(JOINT, seeds=(0, 1))
    for i, kept in enumerate(whole.epochs):
        assert np.array_equal(
            whole.parameters["map.hop_weights"][i].numpy(), whole.history["hop_weights"][kept - 1, i]
        )


def test_patience_stops_each_replica_as_it_would_alone():
    training = replace(SHORT, epochs=60, patience=4, learning_rate=0.05)
    stack = trained(JOINT, training, seeds=(0, 1, 2, 3))
    alone = [trained(JOINT, training, seeds=(seed,)) for seed in (0, 1, 2, 3)]
    assert stack.epochs.tolist() == [int(one.epochs[0]) for one in alone]
    lengths = [len(one.history["loss"]) for one in alone]
    assert lengths == [int(one.epochs[0]) + 4 for one in alone]
    assert len(stack.history["loss"]) == max(lengths) < 60


def test_same_seed_gives_the_same_bits_and_another_seed_does_not():
    once, again, other = trained(JOINT), trained(JOINT), trained(JOINT, seeds=(1,))
    for name, value in once.parameters.items():
        assert torch.equal(value, again.parameters[name])
    assert not torch.equal(once.parameters["map.weight_0"], other.parameters["map.weight_0"])


def test_wide_replicas_train_in_several_stacks_with_the_same_result(monkeypatch, tmp_path):
    """Two stacks of two and one of one, interrupted and resumed, against one stack of five."""
    task = {"seeds": (0, 1, 2, 3, 4), "nodes": labelled_nodes(split_seeds=range(5))}
    hinge = replace(JOINT.loss.kernel, margin=(0.1, 0.2, 0.3, 0.4, 0.5))
    own = replace(JOINT, loss=replace(JOINT.loss, kernel=hinge))
    whole = trained(own, **task)
    monkeypatch.setattr("kernode.training.loop.STACK_NUMBERS", {"cpu": 2 * 120 * 8})
    path = tmp_path / "c.safetensors"
    trained(own, replace(SHORT, epochs=5), **task, checkpoint=Checkpoint(path, every=2))
    parts = trained(own, **task, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(parts.epochs, whole.epochs)
    for name, values in whole.history.items():
        assert np.allclose(parts.history[name], values, atol=1e-9)
    for name, values in whole.parameters.items():
        assert torch.allclose(parts.parameters[name], values, atol=1e-9)


def test_stacks_are_as_high_as_the_widest_layer_allows(monkeypatch):
    run = Run(tuple(range(5)), DOUBLE)
    one = {"narrow": torch.zeros(1, 9, 3), "wide": torch.zeros(1, 3, 8)}
    monkeypatch.setattr("kernode.training.loop.STACK_NUMBERS", {"cpu": 2 * 100 * 8})
    assert stack_slices(one, 100, run) == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert stack_slices(one, 10_000, run) == [slice(i, i + 1) for i in range(5)]
    assert stack_slices({}, 1, run) == [slice(0, 1600)]


def test_progress_is_told_the_number_of_epochs_and_then_every_one():
    told = []

    def progress(epochs, name):
        told.append((epochs, name))
        return lambda epoch, values: told.append((epoch, sorted(values), len(values["loss"])))

    found = trained(JOINT, replace(SHORT, epochs=3), seeds=(0, 1), progress=progress, name="k3")
    names = ["hop_weights", "kernel_loss", "loss", "softmax_loss", "validation_accuracy", "validation_loss"]
    assert sorted(found.history) == names
    assert told == [(3, "k3"), *((epoch, names, 2) for epoch in (1, 2, 3))]


def test_training_that_diverges_ends_in_a_sentence():
    with pytest.raises(KernodeError, match=r"training diverged at epoch \d+\. Lower the learning rate"):
        trained(JOINT, replace(SHORT, learning_rate=1e200))


def test_a_loss_that_ends_in_no_number_is_a_warning_where_an_earlier_epoch_was_kept(monkeypatch):
    from kernode.tasks.classes.task import NodeLearner

    losses = NodeLearner.losses

    def breaking(self, epoch):
        found = losses(self, epoch)
        return found if epoch < 5 else found | {"loss": found["loss"] * torch.nan}

    monkeypatch.setattr(NodeLearner, "losses", breaking)
    with pytest.warns(UserWarning, match="the loss was not finite from epoch 5; an earlier one is kept"):
        found = trained(JOINT)
    assert 1 <= found.epochs[0] < 5
    assert all(value.isfinite().all() for value in found.parameters.values())
    assert len(found.history["loss"]) == 5  # what can never be a number again is not gone on with


def test_one_replica_that_diverges_does_not_stop_the_others(monkeypatch):
    from kernode.tasks.classes.task import NodeLearner

    losses = NodeLearner.losses

    def breaking(self, epoch):
        found = losses(self, epoch)
        return found | {"loss": found["loss"] * torch.tensor([1.0, torch.nan if epoch >= 5 else 1.0])}

    whole = trained(JOINT, seeds=(0, 1))
    monkeypatch.setattr(NodeLearner, "losses", breaking)
    with pytest.warns(UserWarning, match="the loss was not finite from epoch 5"):
        found = trained(JOINT, seeds=(0, 1))
    assert found.epochs[0] == whole.epochs[0]
    assert found.epochs[1] < 5
    assert len(found.history["loss"]) == SHORT.epochs
    for name, value in found.parameters.items():
        assert torch.equal(value[0], whole.parameters[name][0])
        assert value.isfinite().all()


def test_a_loss_that_comes_back_is_gone_on_with(monkeypatch):
    """A loss beyond the largest number may have gradients that are not."""
    from kernode.tasks.classes.task import NodeLearner

    step = NodeLearner.step

    def overflowing(self, epoch):
        found = step(self, epoch)
        return found | {"loss": found["loss"] + torch.inf} if epoch == 3 else found

    monkeypatch.setattr(NodeLearner, "step", overflowing)
    with pytest.warns(UserWarning, match="the loss was not finite from epoch 3"):
        assert len(trained(JOINT).history["loss"]) == SHORT.epochs


def test_a_checkpoint_keeps_the_last_state_that_was_good(monkeypatch, tmp_path):
    from kernode.tasks.classes.task import NodeLearner

    losses = NodeLearner.losses

    def breaking(self, epoch):
        found = losses(self, epoch)
        return found if epoch < 5 else found | {"loss": found["loss"] * torch.nan}

    path = tmp_path / "c.safetensors"
    monkeypatch.setattr(NodeLearner, "losses", breaking)
    with pytest.warns(UserWarning, match="the loss was not finite from epoch 5"):
        trained(JOINT, checkpoint=Checkpoint(path, every=1))
    assert Checkpoint(path).epochs() == 4
    tensors, _ = read_tensors(path, "checkpoint")
    assert all(value.isfinite().all() for name, value in tensors.items() if ".parameters." in name)
