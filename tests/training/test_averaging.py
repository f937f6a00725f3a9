"""A moving average of the parameters: what it is by hand, in stacks, and across an interruption."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kernode.training.checkpoint import Checkpoint
from parts import METHODS
from tasks import SHORT, PowerCutError, cut_at, labelled_nodes, trained

JOINT = METHODS["joint"]
AVERAGED = replace(SHORT, averaging=0.7)


def by_hand(share, epochs, **task):
    """θ̄ after each epoch, from trainings that end there and know of no average."""
    averages = []
    average = trained(JOINT, replace(SHORT, epochs=0, selection="last"), **task).parameters
    for epoch in range(1, epochs + 1):
        parameters = trained(JOINT, replace(SHORT, epochs=epoch, selection="last"), **task).parameters
        kept = min(share, epoch / (epoch + 9))  # at first it forgets the start
        average = {name: kept * average[name] + (1 - kept) * parameters[name] for name in parameters}
        averages.append(average)
    return averages


def equal(found, expected):
    return all(torch.equal(found.parameters[name], expected.parameters[name]) for name in expected.parameters)


def test_the_average_is_that_by_hand():
    task = {"seeds": (0, 1)}
    averages = by_hand(0.5, 12, **task)
    for epochs in (1, 5, 12):
        last = replace(SHORT, averaging=0.5, epochs=epochs, selection="last")
        found = trained(JOINT, last, **task).parameters
        for name, value in averages[epochs - 1].items():
            assert torch.allclose(found[name], value, atol=1e-12), name
    best = trained(JOINT, replace(SHORT, averaging=0.5), **task)
    for i, epoch in enumerate(best.epochs):  # what is kept is the average of the kept epoch
        for name, value in averages[epoch - 1].items():
            assert torch.allclose(best.parameters[name][i], value[i], atol=1e-12), name


def test_steps_are_those_without_an_average_and_only_what_is_evaluated_differs():
    plain, averaged = trained(JOINT), trained(JOINT, AVERAGED)
    assert np.allclose(plain.history["loss"], averaged.history["loss"], atol=1e-12)
    assert not np.allclose(plain.history["validation_loss"], averaged.history["validation_loss"])


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
    monkeypatch.setattr("kernode.training.loop.STACK_NUMBERS", {"cpu": 1})
    apart = trained(JOINT, replace(AVERAGED, learning_rate=rates), seeds=seeds, nodes=nodes)
    assert np.array_equal(apart.epochs, stack.epochs)


@pytest.mark.parametrize("at", [1, 7])
def test_an_average_goes_on_bit_for_bit(tmp_path, at):
    path, seeds = tmp_path / "c.safetensors", (0, 1)
    whole = trained(JOINT, AVERAGED, seeds=seeds)
    with pytest.raises(PowerCutError):
        trained(JOINT, AVERAGED, seeds=seeds, progress=cut_at(at), checkpoint=Checkpoint(path, every=1))
    resumed = trained(JOINT, AVERAGED, seeds=seeds, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.epochs, whole.epochs)
    assert all(np.array_equal(resumed.history[name], whole.history[name]) for name in whole.history)
    assert equal(resumed, whole)


def test_patience_stops_averaged_replicas_as_it_would_alone():
    training = replace(AVERAGED, epochs=60, patience=3, learning_rate=0.05)
    stack = trained(JOINT, training, seeds=(0, 1, 2, 3))
    alone = [trained(JOINT, training, seeds=(seed,)) for seed in (0, 1, 2, 3)]
    assert stack.epochs.tolist() == [int(one.epochs[0]) for one in alone]
    assert len(stack.history["loss"]) == max(len(one.history["loss"]) for one in alone) < 60
