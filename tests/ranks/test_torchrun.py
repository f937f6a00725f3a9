"""``torchrun -m kernode`` on a sharded store: any number of processes, killed or not, gives the same."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from launch import environment, free_port, torchrun

from kernode.io import load_graph, write_store
from kernode.tasks.classes.model import NodeModel

pytestmark = pytest.mark.slow
QUICK = ("--variant", "k3", "--replicas", "2", "--set", "run.precision=64", "--json")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Cora."""
    folder = tmp_path_factory.mktemp("stores") / "cora"
    write_store(load_graph("cora"), folder)
    return folder


def fit(size, store, folder, *more, **how):
    """A model and what was printed."""
    done = torchrun(size, "fit", store, *QUICK, *more, cwd=folder, **how)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def probabilities(path):
    table = pd.read_csv(path)
    return table[[column for column in table if column.startswith("p_")]].to_numpy()


def parameters(path):
    return {name: value.numpy() for name, value in NodeModel.load(path).parameters.items()}


def require_same(one, other, atol=1e-8):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], atol=atol, err_msg=name)


def test_one_two_and_four_processes_give_the_same_probabilities(store, tmp_path):
    found = []
    for size in (1, 2, 4):
        files = ("-o", f"{size}.safetensors", "--predictions", f"{size}.csv")
        assert fit(size, store, tmp_path, "--epochs", "20", *files)["dataset"] == "cora"
        found.append(probabilities(tmp_path / f"{size}.csv"))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-8)
    again = torchrun(2, "predict", "4.safetensors", "--graph", store, "-o", "again.csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    np.testing.assert_allclose(probabilities(tmp_path / "again.csv"), found[0], atol=1e-8)


def test_a_job_goes_on_with_another_number_of_processes(store, tmp_path):
    fit(2, store, tmp_path, "--epochs", "20", "-o", "whole.safetensors")
    saving = ("--checkpoint", "c.safetensors", "-o", "on.safetensors")
    fit(2, store, tmp_path, "--epochs", "8", *saving)
    fit(3, store, tmp_path, "--epochs", "20", *saving, "--resume")
    require_same(parameters(tmp_path / "on.safetensors"), parameters(tmp_path / "whole.safetensors"))


def test_alike_nodes_are_those_that_one_process_finds(store, tmp_path):
    fit(1, store, tmp_path, "--epochs", "20", "-o", "m.safetensors")
    words = ("similar", "m.safetensors", "35", "1033", "-k", "5", "--graph", store, "--json")
    answers = [json.loads(torchrun(size, *words, cwd=tmp_path).stdout)["similar"] for size in (1, 3)]
    for one, other in zip(*answers, strict=True):
        assert [pair["node"] for pair in one["similar"]] == [pair["node"] for pair in other["similar"]]


def test_a_damaged_array_is_named(store, tmp_path):
    broken = tmp_path / "broken"
    write_store(load_graph("cora"), broken)
    path = broken / "features.data.npy"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    done = torchrun(2, "fit", broken, *QUICK, cwd=tmp_path)
    assert done.returncode
    assert not done.stdout
    assert "features.data.npy is damaged" in done.stderr


def test_what_several_processes_cannot_share_is_refused_once(store, tmp_path):
    for words, sentence in (
        (("fit", "cora"), "kernode: cora is not a store, which several processes can share."),
        (("links", store), "kernode links is for one process: start it without torchrun"),
        (("fit", store, *QUICK, "--with-graph"), "kernode: a model with its graph needs the whole graph"),
    ):
        done = torchrun(2, *words, cwd=tmp_path)
        assert " ".join(done.stderr.split()).count(sentence) == 1
    assert not list(tmp_path.iterdir())


def begin(size, store, folder, *more, restarts=0):
    """A job in the background, of epochs enough to be disturbed."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(size)]
    port = ["--master-port", str(free_port()), "--max-restarts", str(restarts), "--monitor-interval", "0.2"]
    words = ["fit", str(store), *QUICK, "--epochs", "300", "--checkpoint", "c.safetensors", *more]
    return subprocess.Popen(
        [*launcher, *port, "-m", "kernode", *words, "--set", "run.checkpoint_every=5"],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ranks_of(job):
    """Its processes that compute, by rank."""
    children = psutil.Process(job.pid).children()
    return {int(one.environ()["RANK"]): one.pid for one in children if "RANK" in one.environ()}


@pytest.fixture(scope="module")
def undisturbed(store, tmp_path_factory):
    """The model that a job leaves in peace."""
    folder = tmp_path_factory.mktemp("undisturbed")
    fit(2, store, folder, "--epochs", "300", "-o", "m.safetensors")
    return parameters(folder / "m.safetensors")


@pytest.mark.parametrize("restarts", [0, 3])
def test_a_killed_process_loses_nothing(restarts, store, undisturbed, tmp_path):
    """It is begun again, or ends the job and leaves a checkpoint."""
    job = begin(2, store, tmp_path, "-o", "m.safetensors", restarts=restarts)
    while not (tmp_path / "c.safetensors").exists():
        assert job.poll() is None, job.stderr.read()
        time.sleep(0.05)
    os.kill(ranks_of(job)[1], signal.SIGKILL)
    stdout, stderr = job.communicate(timeout=240 if restarts else 30)
    if not restarts:
        assert job.returncode
        assert not stdout
        assert "the same checkpoint" in " ".join(stderr.split())
        job = begin(2, store, tmp_path, "-o", "m.safetensors", "--resume")
        _, stderr = job.communicate(timeout=240)
    assert job.returncode == 0, stderr
    require_same(parameters(tmp_path / "m.safetensors"), undisturbed)


def test_what_one_process_must_refuse_two_can_train(tmp_path):
    """Features and edges of 1.15 GB, and processes that may hold 1.05 GB each, Python and torch included."""
    graph = load_graph("synthetic:nodes=12000,degree=10,features=24000")
    limit, size = 1_050_000_000, graph.features.nbytes + 12 * graph.adjacency.nnz
    write_store(graph, tmp_path / "store")
    del graph
    assert size > 1.05 * limit
    model = ("--variant", "diffusion-wide", "--set", "map.hidden=16")
    words = (*model, "--replicas", "1", "--epochs", "2", "--json")
    how = {"cwd": tmp_path, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))}
    alone = torchrun(1, "fit", tmp_path / "store", *words, **how)
    assert alone.returncode
    assert re.search(r"takes at least [\d.]+ GB of memory and [\d.]+ MB are free", alone.stderr)
    both = torchrun(2, "fit", tmp_path / "store", *words, **how)
    assert both.returncode == 0, both.stderr
    assert json.loads(both.stdout)["test"]["accuracy_mean"] > 0
