"""Training that is interrupted goes on as if nothing had happened, and nothing else goes on from its file."""

import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import FileError, InputError
from kernode.tasks.classes.task import NodeLearner
from kernode.training.checkpoint import Checkpoint
from parts import METHODS
from tasks import SHORT, PowerCutError, cut_at, labelled_nodes, trained

JOINT = METHODS["joint"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "c.safetensors"


@pytest.mark.parametrize("name", ["joint", "rbf"])
def test_interrupted_training_goes_on_bit_for_bit(name, path):
    method, seeds = METHODS[name], (0, 1)
    whole = trained(method, seeds=seeds)
    with pytest.raises(PowerCutError):
        trained(method, seeds=seeds, progress=cut_at(7), checkpoint=Checkpoint(path, every=3))
    resumed = trained(method, seeds=seeds, checkpoint=Checkpoint(path, every=3, resume=True))
    assert np.array_equal(resumed.epochs, whole.epochs)
    for key, values in whole.history.items():
        assert np.array_equal(resumed.history[key], values)
    for key, values in whole.parameters.items():
        assert torch.equal(resumed.parameters[key], values)
    finished = trained(method, seeds=seeds, checkpoint=Checkpoint(path, resume=True))
    assert torch.equal(finished.parameters["map.weight_0"], whole.parameters["map.weight_0"])


def test_resume_without_a_file_is_refused_unless_it_may_be_missing(path):
    with pytest.raises(InputError, match=r"there is no .* to go on from: leave out resume=True"):
        trained(JOINT, checkpoint=Checkpoint(path, resume=True))
    assert not path.exists()
    begun = trained(JOINT, checkpoint=Checkpoint(path, resume="if there"))
    assert np.array_equal(begun.history["loss"], trained(JOINT).history["loss"])
    again = trained(JOINT, checkpoint=Checkpoint(path, resume="if there"))
    assert np.array_equal(again.history["loss"], begun.history["loss"])


def test_a_file_that_is_not_to_be_resumed_is_never_overwritten(path):
    trained(JOINT, seeds=(4,), checkpoint=Checkpoint(path))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"holds 12 epochs of a run: add resume=True to go on"):
        trained(JOINT, checkpoint=Checkpoint(path))
    assert path.read_bytes() == before


def test_a_file_that_is_no_checkpoint_is_left_alone(path):
    path.write_bytes(b"my thesis")
    with pytest.raises(InputError, match="is there already, and is no checkpoint"):
        trained(JOINT, checkpoint=Checkpoint(path))
    assert path.read_bytes() == b"my thesis"


def test_an_interrupted_run_keeps_its_last_whole_epoch(path):
    def pressed(epochs, name):
        return lambda epoch, values: os.kill(os.getpid(), signal.SIGINT) if epoch == 7 else None

    whole = trained(JOINT)
    with pytest.raises(KeyboardInterrupt):
        trained(JOINT, progress=pressed, checkpoint=Checkpoint(path, every=5))
    assert Checkpoint(path).epochs() == 7
    resumed = trained(JOINT, checkpoint=Checkpoint(path, resume=True))
    assert torch.equal(resumed.parameters["map.weight_0"], whole.parameters["map.weight_0"])


def test_ctrl_c_in_the_middle_of_an_epoch_waits_for_its_end_and_a_second_one_does_not(path, monkeypatch):
    step, presses = NodeLearner.step, {4: 1}

    def interrupted(self, epoch):
        for _ in range(presses.pop(epoch, 0)):
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, epoch)

    monkeypatch.setattr(NodeLearner, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(JOINT, checkpoint=Checkpoint(path, every=3))
    assert Checkpoint(path).epochs() == 4
    presses[8] = 2
    with pytest.raises(KeyboardInterrupt):
        trained(JOINT, checkpoint=Checkpoint(path, every=5, resume=True))
    assert Checkpoint(path).epochs() == 5  # what was written last: the eighth was not whole
    resumed = trained(JOINT, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], trained(JOINT).history["loss"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_that_patience_ended_is_in_its_file_to_the_last_epoch(path):
    patient = replace(SHORT, epochs=60, patience=4)
    ended = trained(JOINT, patient, checkpoint=Checkpoint(path, every=50))
    assert Checkpoint(path).epochs() == len(ended.history["loss"]) < 60


def test_resume_may_train_longer_but_not_something_else(path):
    trained(JOINT, checkpoint=Checkpoint(path))
    longer = replace(SHORT, epochs=20)
    resumed = trained(JOINT, longer, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], trained(JOINT, longer).history["loss"])
    other_loss = replace(JOINT, loss=replace(JOINT.loss, kernel_weight=0.3))
    for method, training, more, differing in (
        (other_loss, SHORT, {}, "its method differs"),
        (other_loss, replace(SHORT, dropout=0.1), {}, "its method and training differ"),
        (JOINT, replace(SHORT, dropout=0.1), {}, "its training differs"),
        (
            JOINT,
            SHORT,
            {"seeds": (4,)},
            r"its seeds differ\. Its first seed is 0 \(.*\)",
        ),
        (JOINT, SHORT, {"seeds": (0, 1)}, r"it holds 1 run, not 2 \(replicas=1, --replicas 1\)"),
        (JOINT, SHORT, {"nodes": labelled_nodes(split_seeds=(3,))}, "its data differ"),
        (JOINT, SHORT, {"graph": clustered_graph(n=120, seed=1)}, "its graph differs"),
    ):
        with pytest.raises(
            InputError, match=rf"^{re.escape(str(path))} belongs to another run: {differing}\. "
        ):
            trained(method, training, **more, checkpoint=Checkpoint(path, resume=True))


def test_fewer_epochs_than_a_checkpoint_has_are_refused(path):
    trained(JOINT, checkpoint=Checkpoint(path))
    with pytest.raises(InputError, match="has 12 epochs, more than the 4 asked for"):
        trained(JOINT, replace(SHORT, epochs=4), checkpoint=Checkpoint(path, resume=True))


def test_a_damaged_file_is_named(path):
    path.write_bytes(b"nothing")
    with pytest.raises(FileError, match="is damaged, or no checkpoint file"):
        trained(JOINT, checkpoint=Checkpoint(path, resume=True))


@pytest.mark.parametrize(
    ("seconds", "waited", "due"), [(0.0, 0.0, [3, 5]), (60.0, 59.0, []), (60.0, 61.0, [3])]
)
def test_checkpoints_by_time_are_not_written_for_what_is_done(path, seconds, waited, due):
    checkpoint = Checkpoint(path, every=3, seconds=seconds)
    assert [epoch for epoch in range(1, 6) if checkpoint.due(epoch, 5, waited)] == due


def test_resume_is_one_of_three(path):
    with pytest.raises(InputError, match=r"resume must be True, False or 'if there'\. Got 'maybe'"):
        Checkpoint(path, resume="maybe")


def test_every_is_counted_from_one(path):
    with pytest.raises(InputError, match=r"^every must be an integer ≥ 1\. Got 0"):
        Checkpoint(path, every=0)


def test_replicas_go_on_in_other_stacks(path, monkeypatch):
    """As on a CPU after a GPU, which trains more of them as one; the tenth stack is not the second."""
    seeds = tuple(range(12))
    whole = trained(JOINT, seeds=seeds)
    stacks = [2**22, 1, 5 * 120 * 8]
    for epochs, numbers in zip((4, 8, 12), stacks, strict=True):
        monkeypatch.setattr("kernode.training.loop.STACK_NUMBERS", {"cpu": numbers})
        training = replace(SHORT, epochs=epochs)
        resumed = trained(JOINT, training, seeds=seeds, checkpoint=Checkpoint(path, resume="if there"))
    assert np.array_equal(resumed.epochs, whole.epochs)
    for key, values in whole.history.items():
        assert np.allclose(resumed.history[key], values, atol=1e-9)


def test_a_seed_that_nobody_chose_is_in_the_file(path):
    """random_state=None takes another one each time: whoever wants to go on is told the first."""
    nodes = np.arange(60)
    asked = {"graph": CLUSTERS, "validation": np.arange(60, 90)}

    def fit(random_state, resume):
        model = kn.NodeKernelClassifier(
            "n1", epochs=3, random_state=random_state, checkpoint=Checkpoint(path, resume=resume)
        )
        return model.fit(nodes, CLUSTERS.labels[nodes], **asked)

    seed = fit(None, False).seeds_[0]
    with pytest.raises(InputError, match=rf"seeds differ\. Its first seed is {seed} \(random_state={seed},"):
        fit(None, True)
    assert fit(seed, True).seeds_ == (seed,)
