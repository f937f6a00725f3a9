"""The training loop: which epoch is kept, averages, diverging replicas; a stack changes nothing."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import kernode as kn
from kernode.storage import read_tensors
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import STACK_NUMBERS
from parts import METHODS
from refusals import refused
from tasks import SHORT, labelled_nodes, node_task, trained

JOINT = METHODS["joint"]
AVERAGED = replace(SHORT, averaging=0.7)


def same(found, expected, atol=0.0):
    """Whether two trainings have learned the same in the same epochs."""
    assert np.array_equal(found.epochs, expected.epochs)
    assert found.history.keys() == expected.history.keys()
    for name, values in expected.history.items():
        assert np.allclose(found.history[name], values, rtol=0, atol=atol), name
    for name, value in expected.parameters.items():
        assert torch.allclose(found.parameters[name], value, rtol=0, atol=atol), name
    return True


# which epoch is kept


def test_kept_epoch_has_the_best_accuracy_and_then_the_lowest_loss():
    found = trained(JOINT, seeds=(0, 1, 2))
    for i, epoch in enumerate(found.epochs):
        accuracy = found.history["validation_accuracy"][:, i]
        loss = np.where(accuracy == accuracy.max(), found.history["validation_loss"][:, i], np.inf)
        assert epoch == loss.argmin() + 1


@pytest.mark.parametrize("epoch", [1, 4])
def test_kept_parameters_are_those_of_the_kept_epoch(epoch):
    """Training that ends there leaves the same."""
    ended = trained(JOINT, replace(SHORT, epochs=epoch, selection="last"), seeds=(0, 1))
    weights = ended.history["hop_weights"][-1]
    assert np.array_equal(ended.parameters["map.hop_weights"].numpy(), weights)
    whole = trained(JOINT, seeds=(0, 1))
    for i, kept in enumerate(whole.epochs):
        assert np.array_equal(
            whole.parameters["map.hop_weights"][i].numpy(), whole.history["hop_weights"][kept - 1, i]
        )


def test_a_loop_that_pauses_ends_as_one_that_does_not():
    loop = node_task(seeds=(0, 1)).begin(JOINT.for_classes(3), SHORT)
    for until, reached in ((3, 3), (2, 3), (8, 8), (None, 12)):
        loop.run(until)
        assert loop.epoch == reached
    assert same(loop.trained(), trained(JOINT, seeds=(0, 1)))


# stacks


def test_wide_replicas_train_in_several_stacks_with_the_same_result(monkeypatch, tmp_path):
    """Two stacks of two and one of one, interrupted and resumed, against one stack of five."""
    task = {"seeds": (0, 1, 2, 3, 4), "nodes": labelled_nodes(split_seeds=range(5))}
    hinge = replace(JOINT.loss.kernel, margin=(0.1, 0.2, 0.3, 0.4, 0.5))
    own = replace(JOINT, loss=replace(JOINT.loss, kernel=hinge))
    whole = trained(own, **task)
    monkeypatch.setitem(STACK_NUMBERS, "cpu", 2 * 120 * 8)
    path = tmp_path / "c.safetensors"
    trained(own, replace(SHORT, epochs=5), **task, callbacks=(Checkpoint(path, every=2),))
    assert same(trained(own, **task, callbacks=(Checkpoint(path, resume=True),)), whole, 1e-9)


# an average of the parameters


def test_the_average_is_that_by_hand():
    """θ̄ after each epoch, from trainings that end there and have no average."""
    task = {"seeds": (0, 1)}
    best = trained(JOINT, replace(SHORT, averaging=0.5), **task)
    average = trained(JOINT, replace(SHORT, epochs=0, selection="last"), **task).parameters
    for epoch in range(1, 13):
        last = replace(SHORT, epochs=epoch, selection="last")
        parameters = trained(JOINT, last, **task).parameters
        kept = min(0.5, epoch / (epoch + 9))  # at first it forgets the start
        average = {name: kept * average[name] + (1 - kept) * parameters[name] for name in parameters}
        found = trained(JOINT, replace(last, averaging=0.5), **task).parameters
        for name, value in average.items():
            assert torch.allclose(found[name], value, atol=1e-12), name
            for i in np.flatnonzero(best.epochs == epoch):  # what is kept is the average of the kept epoch
                assert torch.allclose(best.parameters[name][i], value[i], atol=1e-12), name


def test_each_replica_of_a_stack_has_the_average_that_it_has_alone(monkeypatch):
    seeds, nodes = (3, 4, 5), labelled_nodes(split_seeds=range(3))
    rates = (0.01, 0.02, 0.05)
    stack = trained(JOINT, replace(AVERAGED, learning_rate=rates), seeds=seeds, nodes=nodes)
    for i, seed in enumerate(seeds):
        own = labelled_nodes(split_seeds=(i,))
        alone = trained(JOINT, replace(AVERAGED, learning_rate=rates[i]), seeds=(seed,), nodes=own)
        assert stack.epochs[i] == alone.epochs[0]
        for name, value in alone.parameters.items():
            assert torch.allclose(stack.parameters[name][i], value[0], atol=1e-10), name
    monkeypatch.setitem(STACK_NUMBERS, "cpu", 1)
    apart = trained(JOINT, replace(AVERAGED, learning_rate=rates), seeds=seeds, nodes=nodes)
    assert np.array_equal(apart.epochs, stack.epochs)


# numbers that are not finite


@dataclass(frozen=True)
class BreakingLoss(kn.losses.Softmax):
    """L_Y that is not finite from an epoch on, in some replicas; its gradient, too, unless ``comes_back``."""

    first: int = 5
    broken: tuple[bool, ...] = (True,)
    comes_back: bool = False

    def __call__(self, prepared, kernel, parameters, g, draws):
        losses = super().__call__(prepared, kernel, parameters, g, draws)
        if self.comes_back:
            return losses | ({"loss": losses["loss"] + torch.inf} if draws.epoch == self.first else {})
        broken = torch.tensor(self.broken) & torch.tensor(draws.epoch >= self.first)
        return losses | {"loss": losses["loss"] * torch.where(broken, torch.nan, 1.0)}


def breaking(**settings):
    return replace(METHODS["softmax"], loss=BreakingLoss(**settings))


def test_training_that_diverges_is_an_error():
    with refused("not-finite") as caught:
        trained(JOINT, replace(SHORT, learning_rate=1e200))
    assert caught.value.replicas == [0]


def test_where_an_earlier_epoch_was_kept_a_loss_that_is_not_finite_is_a_warning(tmp_path):
    path = tmp_path / "c.safetensors"
    with pytest.warns(kn.KernodeWarning, match="epoch 5"):
        found = trained(breaking(), callbacks=(Checkpoint(path, every=1),))
    assert 1 <= found.epochs[0] < 5
    assert all(value.isfinite().all() for value in found.parameters.values())
    assert len(found.history["loss"]) == 5  # what can never be a number again does not go on
    assert Checkpoint(path).epochs() == 4  # the last state that was good
    tensors, _ = read_tensors(path, "checkpoint")
    assert all(value.isfinite().all() for name, value in tensors.items() if ".parameters." in name)


def test_one_replica_that_diverges_does_not_stop_the_others():
    whole = trained(METHODS["softmax"], seeds=(0, 1))
    with pytest.warns(kn.KernodeWarning, match="epoch 5"):
        found = trained(breaking(broken=(False, True)), seeds=(0, 1))
    assert found.epochs[0] == whole.epochs[0]
    assert found.epochs[1] < 5
    assert len(found.history["loss"]) == SHORT.epochs
    for name, value in found.parameters.items():
        assert torch.equal(value[0], whole.parameters[name][0])
        assert value.isfinite().all()


def test_a_loss_that_comes_back_goes_on():
    """A loss beyond the largest number may have finite gradients."""
    with pytest.warns(kn.KernodeWarning, match="epoch 3"):
        assert len(trained(breaking(first=3, comes_back=True)).history["loss"]) == SHORT.epochs
