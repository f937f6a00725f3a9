"""Same seed, same threads: same bytes, whatever ran before and however often it was interrupted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trainings
from trainings import LINKS, NODES, TRAININGS

from kernode.tasks.classes.variants import VARIANTS

# What does not learn epoch by epoch has nothing to keep, and refuses a checkpoint.
AT_ONCE = {
    f"fit {name}" for name, one in VARIANTS.items() if one.training.epochs == 0 or not one.method.has_kernel
}
LEARNING = [name for name in (*NODES, *LINKS) if name not in AT_ONCE]


class Apart:
    """Trainings in a process of their own, which has another order of sets and began with something else."""

    def __init__(self, folder, hash_seed, *words):
        folder.mkdir()
        self.folder = folder
        tests = Path(__file__).parents[1]
        own = {"PYTHONHASHSEED": str(hash_seed), "KERNODE_CACHE": str(folder / ".cache")}
        own["PYTHONPATH"] = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, trainings.__file__, str(folder), *words],
            env=os.environ | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def files(self):
        """What they left, by path."""
        said, _ = self._process.communicate(timeout=600)
        assert self._process.returncode == 0, said
        return files_in(self.folder)


def files_in(folder):
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path): (folder / path).read_bytes() for path in paths if path.parts[0] != ".cache"}


def require_same(found, expected):
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


@pytest.mark.slow
def test_every_variant_and_every_baseline_gives_the_same_bytes_whole_backwards_and_cut_off(tmp_path):
    """Three processes at a time; the last is interrupted again and again, and goes on from its checkpoint."""
    with (
        Apart(tmp_path / "whole", 1) as one,
        Apart(tmp_path / "backwards", 2, "--backwards") as other,
        Apart(tmp_path / "interrupted", 3, "--interrupted", *LEARNING) as cut,
    ):
        whole = one.files()
        assert {Path(name).parts[0] for name in whole} == {name.replace(" ", "_") for name in TRAININGS}
        require_same(other.files(), whole)
        learning = {name.replace(" ", "_") for name in LEARNING}
        require_same(
            cut.files(), {name: file for name, file in whole.items() if Path(name).parts[0] in learning}
        )
