"""``kill -9`` at any moment: the run goes on to the same bytes, and every file that is found can be read."""

import os
import random
import re
import signal
import sys
import time

import pytest
from trainings import GRAPH

import kernode as kn
from kernode.io import write_npz
from kernode.storage import read_tensors

KILLS, SEED = 30, 20
SAVING = "--checkpoint run.safetensors --set run.checkpoint_every=1"
RUN = f"clusters.npz --replicas 2 --seed 5 --set run.threads=1 --json {SAVING}"
AVERAGED = "--set training.averaging=0.9 --epochs 15"
COMMANDS = {
    "auto": f"fit {RUN} --epochs 3 --split 0.5/0.25/0.25 --all-labels -o model.safetensors",
    "one variant": f"fit {RUN} --variant k3 {AVERAGED} --with-graph -o model.safetensors",
    "links": f"links {RUN} --variant vgae --epochs 15 -o model.safetensors",
}
BEING_WRITTEN = re.compile(r"\.(.+)\.[0-9a-f]{16}")

pytestmark = pytest.mark.slow


class Killed:
    """A command in a folder that is killed repeatedly."""

    def __init__(self, warm, folder, line):
        self.warm, self.folder, self.words = warm, folder, line.split()
        folder.mkdir()
        write_npz(GRAPH, folder / "clusters.npz")

    def start(self):
        """Start it, or resume from its checkpoints."""
        more = ["--resume"] if list(self.folder.glob("run*.safetensors")) else []
        return self.warm.start(self.folder, *self.words, *more)

    def finish(self):
        """Run it to its end; the model's bytes."""
        status, _, err = self.warm.end(self.start())
        assert status == 0, err
        return (self.folder / "model.safetensors").read_bytes()

    def kill(self, moment):
        """Start it and kill it at a moment; whether it was still running."""
        process = self.start()
        moment(self.folder)
        os.kill(process, signal.SIGKILL)
        status, _, err = self.warm.end(process)
        assert status in (0, -signal.SIGKILL), err
        return status != 0

    def require_readable(self):
        """Every file is whole, or has a temporary name."""
        for path in self.folder.iterdir():
            if path.name == "model.safetensors":
                kn.load_model(path, graph=GRAPH)
            elif path.name.startswith("run"):
                read_tensors(path, "checkpoint")
            else:
                assert path.name == "clusters.npz" or BEING_WRITTEN.fullmatch(path.name), path.name


def after(seconds):
    """The moment after so many seconds."""
    return lambda folder: time.sleep(seconds)


def while_writing(count, seconds):
    """The moment in which so many files have been seen while being written."""

    def wait(folder):
        seen, deadline = set(), time.monotonic() + seconds
        while len(seen) < count and time.monotonic() < deadline:
            seen |= {path.name for path in folder.iterdir() if BEING_WRITTEN.fullmatch(path.name)}

    return wait


@pytest.mark.parametrize(("number", "name"), list(enumerate(COMMANDS)), ids=COMMANDS)
def test_a_run_that_is_killed_at_random_moments_ends_with_the_same_bytes(warm, tmp_path, number, name):
    draw, line = random.Random(SEED + number), COMMANDS[name]
    whole = Killed(warm, tmp_path / "whole", line)
    begun = time.monotonic()
    expected = whole.finish()
    life = time.monotonic() - begun
    kills = written = 0
    while kills < KILLS // len(COMMANDS):
        run = Killed(warm, tmp_path / f"{kills}-{written}", line)
        again = draw.random() < 0.3  # what goes on is killed as well
        for _ in range(1 + again):
            moment = after(draw.uniform(0, life))
            if draw.random() < 0.4:
                moment = while_writing(draw.randint(1, 12), life)
            kills += run.kill(moment)
            written += 1
            run.require_readable()
            assert written < 5 * KILLS, "it ends before it can be killed"
        assert run.finish() == expected
        run.require_readable()
    sys.stdout.write(f"{name}: seed {SEED + number}, killed {kills} of {written} times, {life:.2f} s long\n")
