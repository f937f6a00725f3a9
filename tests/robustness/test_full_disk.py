"""A disk that is full, a folder that is read-only or gone: one sentence, and what was there stays."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass

import pytest
from trainings import GRAPH

from kernode.io import write_npz

pytestmark = pytest.mark.slow

RUN = "--epochs 3 --replicas 1 --set run.threads=1 --split 0.5/0.25/0.25 --quiet"
FIT = f"fit ../clusters.npz --variant k3 {RUN}"
MODEL = "../model.safetensors"
KINDS = {  # what writes each kind of file, and the file
    "model": (f"{FIT} -o m.safetensors", "m.safetensors"),
    "predictions, csv": (f"predict {MODEL} -o p.csv", "p.csv"),
    "predictions, json": (f"predict {MODEL} -o p.json", "p.json"),
    "vectors, parquet": (f"embed {MODEL} -o g.parquet", "g.parquet"),
    "kernel matrix": (f"embed {MODEL} --gram -o k.npz", "k.npz"),
    "graph": ("data convert ../clusters.npz -o g.npz", "g.npz"),
    "picture": (f"plot {MODEL} losses -o .", "losses.png"),
    "report": (f"report {MODEL} --layout pca -o r.html", "r.html"),
}


@dataclass
class Desk:
    """A folder for files, inside one that has a graph and a model; commands run in it."""

    folder: object
    warm: object

    def run(self, line, **more):
        """Status, stdout and stderr."""
        return self.warm.run(self.folder, *line.split(), **more)

    def fails(self, line, **more):
        """The one sentence in which a command ends."""
        status, out, err = self.run(line, **more)
        assert (status in (1, 2), out) == (True, ""), f"{status} {out} {err}"
        assert "Traceback" not in err
        (sentence,) = [
            one for one in err.splitlines() if one.startswith("kernode: ") and "warning" not in one
        ]
        return sentence

    def files(self):
        """Content by name."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name != "filler"}


@pytest.fixture
def around(tmp_path, warm):
    """A graph and a model of it."""
    write_npz(GRAPH, tmp_path / "clusters.npz")
    (tmp_path / "desk").mkdir()
    desk = Desk(tmp_path / "desk", warm)
    assert desk.run(f"{FIT} --with-graph -o {MODEL}")[0] == 0
    return desk


@pytest.fixture
def small_disk(around):
    """A disk of its own that can be filled to the last byte."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(around.folder)]
    if (
        os.name == "nt"
        or shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("no disk can be mounted here")
    try:
        yield around
    finally:
        subprocess.run(["umount", "-l", str(around.folder)], check=True)


@contextmanager
def full(folder):
    """While this lasts not a byte is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    yield
    filler.unlink()


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_full_disk_the_previous_file_stays_as_it_was(small_disk, kind):
    line, name = KINDS[kind]
    shutil.copy(small_disk.folder.parent / "model.safetensors", small_disk.folder / "m.safetensors")
    (small_disk.folder / name).write_bytes(b"what was there before")
    before = small_disk.files()
    with full(small_disk.folder):
        said = small_disk.fails(line)
    # A matrix is refused before it is computed.
    assert "cannot be written (No space left on device)" in said or "0 B are free" in said
    assert small_disk.files() == before
    assert small_disk.run(line)[0] == 0
    assert small_disk.files()[name] != b"what was there before"


def test_a_run_that_cannot_keep_its_checkpoint_keeps_the_last_one(small_disk):
    line = f"{FIT} --checkpoint c.safetensors --set run.checkpoint_every=1 -o ../other.safetensors"
    assert small_disk.run(line)[0] == 0
    before = small_disk.files()
    with full(small_disk.folder):
        said = small_disk.fails(f"{line} --resume".replace("--epochs 3", "--epochs 9"))
    assert "c.safetensors cannot be written" in said
    assert small_disk.files() == before


def test_a_store_that_had_no_room_is_finished_when_there_is(small_disk):
    with full(small_disk.folder):
        small_disk.fails("data convert ../clusters.npz -o store")
    assert small_disk.run("data convert ../clusters.npz -o store")[0] == 0
    assert not [path for path in (small_disk.folder / "store").iterdir() if path.name.startswith(".")]


def test_results_and_searches_keep_what_they_had(small_disk):
    compare = "compare ../clusters.npz --variants label-propagation,smoother --splits 2 --results ."
    assert small_disk.run(f"{compare} --split 0.5/0.25/0.25")[0] == 0
    tune = "tune ../clusters.npz --variant sgc --epochs 2 --set run.batch=2 --set run.study=s.db -o ../s.toml"
    assert small_disk.run(f"{tune} --trials 2")[0] == 0
    kept = sorted(path.name for path in (small_disk.folder / "compare").iterdir())
    with full(small_disk.folder):
        small_disk.fails(compare)
        said = small_disk.fails(f"{tune} --trials 4")
    assert "s.db cannot be used for a search" in said
    assert sorted(path.name for path in (small_disk.folder / "compare").iterdir()) == kept
    with closing(sqlite3.connect(small_disk.folder / "s.db")) as study:
        done = study.execute("SELECT COUNT(*) FROM trials WHERE state = 'COMPLETE'").fetchone()
    assert done[0] >= 2
    assert small_disk.run(f"{tune} --trials 4")[0] == 0


@pytest.mark.parametrize("kind", ["model", "predictions, csv", "kernel matrix"])
def test_a_file_that_grows_too_large_leaves_the_previous_one(around, kind):
    """As with a quota; needs no right to mount a disk."""
    pytest.importorskip("resource")
    line, _ = KINDS[kind]
    assert around.run(line)[0] == 0
    before = around.files()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))"
    assert "cannot be written (File too large)" in around.fails(line, before=limit)
    assert around.files() == before


READ_ONLY = {  # a command, and what it says
    f"{FIT} -o ro/m.safetensors": "ro is not writable",
    f"plot {MODEL} losses -o ro/new": "{ro} is not writable",
    f"{FIT} --set run.tensorboard=ro/board": "{ro} is not writable",
    "data convert ../clusters.npz -o ro/parts": "{ro} is not writable",
    "compare ../clusters.npz --variants k3,n1 --results ro": "ro is not writable",
    f"predict {MODEL} -o ro/p.csv": "ro is not writable",
    f"--log-file ro/log predict {MODEL}": "ro/log cannot be written (Permission denied)",
}
# zipfile asks for an encoding that only root may be able to read where Python is root's own.
NOT_ROOT = "import os, encodings.cp437; os.setgid(65534); os.setuid(65534)"


@pytest.mark.parametrize("line", READ_ONLY)
def test_a_folder_that_cannot_be_written_to_is_named_before_anything_is_computed(around, line):
    for folder in (around.folder, *around.folder.parents):
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(0o755)
    around.folder.chmod(0o777)
    read_only = around.folder / "ro"
    read_only.mkdir(mode=0o555)
    status, out, err = around.run(line, before=NOT_ROOT if os.getuid() == 0 else "")
    assert (status, out) == (2, ""), err
    assert err.startswith(f"kernode: {READ_ONLY[line].format(ro=read_only)}. Give another ")
    assert err.count("\n") == 1
    assert [*read_only.iterdir()] == []


@pytest.mark.parametrize("how", ["full", "a file"])
def test_a_cache_that_takes_nothing_costs_time_but_no_answer(small_disk, how):
    cache = small_disk.folder / "cache"
    before = f"import os; os.environ['KERNODE_CACHE'] = {str(cache)!r}; "
    if how == "a file":
        cache.write_bytes(b"")
    with full(small_disk.folder) if how == "full" else nullcontext():
        status, _, err = small_disk.run(
            f"plot {MODEL} embedding --layout pca -o {small_disk.folder.parent}/pictures", before=before
        )
        assert status == 0, err
        assert "is not cached" in err
