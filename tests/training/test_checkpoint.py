"""Training that is interrupted goes on as if nothing had happened, and nothing else goes on from its file."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import clustered_graph
from kernode.errors import FileError, InputError
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


def test_resume_without_a_file_starts_afresh(path):
    resumed = trained(JOINT, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], trained(JOINT).history["loss"])
    assert path.exists()


def test_a_file_that_is_not_to_be_resumed_is_written_anew(path):
    trained(JOINT, seeds=(4,), checkpoint=Checkpoint(path))
    found = trained(JOINT, checkpoint=Checkpoint(path))
    assert np.array_equal(found.history["loss"], trained(JOINT).history["loss"])


def test_resume_may_train_longer_but_not_something_else(path):
    trained(JOINT, checkpoint=Checkpoint(path))
    longer = replace(SHORT, epochs=20)
    resumed = trained(JOINT, longer, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(resumed.history["loss"], trained(JOINT, longer).history["loss"])
    other_loss = replace(JOINT, loss=replace(JOINT.loss, kernel_weight=0.3))
    for method, training, more, differing in (
        (other_loss, SHORT, {}, "method"),
        (JOINT, replace(SHORT, dropout=0.1), {}, "training"),
        (JOINT, SHORT, {"seeds": (4,)}, "seeds"),
        (JOINT, SHORT, {"nodes": labelled_nodes(split_seeds=(3,))}, "data"),
        (JOINT, SHORT, {"graph": clustered_graph(n=120, seed=1)}, "graph"),
    ):
        with pytest.raises(InputError, match=rf"belongs to another run \({differing}.* differ\)"):
            trained(method, training, **more, checkpoint=Checkpoint(path, resume=True))


def test_fewer_epochs_than_a_checkpoint_has_are_refused(path):
    trained(JOINT, checkpoint=Checkpoint(path))
    with pytest.raises(InputError, match="has 12 epochs, more than the 4 asked for"):
        trained(JOINT, replace(SHORT, epochs=4), checkpoint=Checkpoint(path, resume=True))


def test_a_damaged_file_is_named(path):
    path.write_bytes(b"nothing")
    with pytest.raises(FileError, match="is damaged or not a checkpoint file"):
        trained(JOINT, checkpoint=Checkpoint(path, resume=True))


@pytest.mark.parametrize(
    ("seconds", "waited", "due"), [(0.0, 0.0, [3, 5]), (60.0, 59.0, []), (60.0, 61.0, [3])]
)
def test_checkpoints_by_time_are_not_written_for_what_is_done(path, seconds, waited, due):
    checkpoint = Checkpoint(path, every=3, seconds=seconds)
    assert [epoch for epoch in range(1, 6) if checkpoint.due(epoch, 5, waited)] == due


def test_every_is_counted_from_one(path):
    with pytest.raises(InputError, match=r"checkpoint_every must be an integer ≥ 1\. Got 0"):
        Checkpoint(path, every=0)
