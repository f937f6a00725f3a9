"""Ctrl-C at the moment in which a file is renamed: the message is true, and nothing is lost."""

import re

import pytest
from trainings import GRAPH

import kernode as kn
from kernode.io import write_npz

RUN = "--epochs 3 --replicas 1 --seed 5 --set run.threads=1 --quiet"
FIT = f"fit clusters.npz --variant k3 {RUN} -o m.safetensors"
KEPT = f"{FIT} --checkpoint run.safetensors --set run.checkpoint_every=2"
# Ctrl-C, as a terminal sends it, in one of the moments around these calls.
PRESS = """
import itertools, os, signal, time
moments = itertools.count()
def around(act):
    def acted(*given, **more):
        press_if_due()
        found = act(*given, **more)
        press_if_due()
        return found
    return acted
def press_if_due():
    if next(moments) == {moment}:
        os.killpg(0, signal.SIGINT)
        time.sleep(0.5)
os.fsync, os.replace = around(os.fsync), around(os.replace)
"""
# A file is synced and renamed: four moments.
MOMENTS = {"before the sync": 0, "before the rename": 2, "after it": 3}
# What writes a file, and which of its files that is.
WRITTEN = {"checkpoint": (KEPT, 0), "next checkpoint": (KEPT, 1), "model": (KEPT, 2), "only file": (FIT, 0)}


@pytest.fixture(scope="module")
def expected(warm, tmp_path_factory):
    """The model of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    write_npz(GRAPH, folder / "clusters.npz")
    for line, files in (FIT, 1), (KEPT, 3):  # and no other, so that no moment is left out
        status, _, err = warm.run(folder, *line.split(), before=PRESS.format(moment=4 * files))
        assert status == 0, err
    return (folder / "m.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("which", WRITTEN)
def test_files_named_in_the_message_are_kept_and_the_run_continues(warm, tmp_path, expected, which, moment):
    line, number = WRITTEN[which]
    write_npz(GRAPH, tmp_path / "clusters.npz")
    press = PRESS.format(moment=4 * number + MOMENTS[moment])
    status, out, err = warm.run(tmp_path, *line.split(), before=press)
    assert (status, out) == (130, ""), err
    (said,) = err.splitlines()
    checkpoint, is_checkpoint = tmp_path / "run.safetensors", "checkpoint" in which
    assert said.startswith("kernode: interrupted. ")
    there = {path.name for path in tmp_path.iterdir()} - {"clusters.npz"}
    assert there == set(re.findall(r"\w+\.safetensors", said))  # and nothing half-written
    assert ("Nothing was" in said) == (not there)
    if is_checkpoint:
        assert f"run.safetensors holds {2 + number} epochs" in said
        assert kn.Checkpoint(checkpoint).epochs() == 2 + number
    if "m.safetensors" in there:
        assert (tmp_path / "m.safetensors").read_bytes() == expected
    status, _, err = warm.run(tmp_path, *line.split(), *["--resume"] * checkpoint.exists())
    assert status == 0, err
    assert (tmp_path / "m.safetensors").read_bytes() == expected
