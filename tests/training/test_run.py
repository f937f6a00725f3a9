"""What one run is: its replicas, its numbers, and a file of its own for each of its trainings."""

import torch

from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run
from tasks import DOUBLE, SINGLE


def test_trainings_of_one_run_have_checkpoint_files_of_their_own(tmp_path):
    run = Run((3,), DOUBLE, checkpoint=Checkpoint(tmp_path / "long.name.safetensors", every=7, resume=True))
    first, second = run.named("k3-tuned"), run.named("all")
    assert first.checkpoint.path == tmp_path / "long.name-k3-tuned.safetensors"
    assert second.checkpoint.path == tmp_path / "long.name-all.safetensors"
    assert (first.checkpoint.every, first.checkpoint.resume, first.seeds) == (7, "if there", (3,))
    assert first.named("all").checkpoint.path == tmp_path / "long.name-k3-tuned-all.safetensors"
    assert run.checkpoint.path == tmp_path / "long.name.safetensors"


def test_without_a_checkpoint_there_is_nothing_to_name():
    run = Run((0, 1), DOUBLE)
    assert run.named("all") is run


def test_replicas_and_precision_follow_from_seeds_and_place():
    run = Run((4, 9), SINGLE)
    assert (run.replicas, run.precision, Run((0,), DOUBLE).precision) == (2, 32, 64)
    assert run.with_seeds((1, 2, 3)) == Run((1, 2, 3), SINGLE)


def test_draws_of_some_replicas_are_theirs_among_all():
    run, index = Run((4, 9, 2), DOUBLE), torch.arange(5)
    assert torch.equal(run.draws().words(7, index)[:, 1:], run.draws(slice(1, None)).words(7, index))
    assert run.draws().seeds.tolist() == [4, 9, 2]
