"""`kernode compare` and others in real processes: on loky, on a local Dask and a local Ray cluster."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import numpy as np
import psutil
import pytest
from joblib import parallel_config

import kernode as kn
from commands import fails
from kernode.search.baselines import ComparedMethod
from kernode.search.compare import Comparison, run_comparisons
from kernode.search.results import Results
from kernode.search.tasks import Task, run_tasks
from refusals import refused
from tasks import SINGLE

DATA = "synthetic:nodes=120,degree=4,classes=3,features=30,seed=1"
# The first is over in a moment; the others take seconds.
VARIANTS = "smoother,n1,k1,label-propagation"
COMPARE = ("compare", DATA, "--variants", VARIANTS, "--splits", "2", "--set", "run.device=cpu", "--json")
BACKENDS = ("loky", "dask", "ray")


def start(folder, *arguments, **environment):
    """A command in a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "kernode", *arguments, "--results", str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **environment},
    )  # fmt: skip


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out)


def without_times(value):
    if isinstance(value, dict):
        return {
            name: without_times(one) for name, one in value.items() if name not in ("seconds", "warnings")
        }
    return [without_times(one) for one in value] if isinstance(value, list) else value


def stored(folder):
    return {path.name: without_times(json.loads(path.read_text())) for path in folder.rglob("*.json")}


def await_first(folder, process, seconds=120):
    """Wait until something is stored while others are on their way."""
    end = time.monotonic() + seconds
    while not (there := list(folder.rglob("*.json"))):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.05)
    return {path: path.stat().st_mtime_ns for path in there}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The comparison in one process, with one thread."""
    folder = tmp_path_factory.mktemp("alone")
    return finish(start(folder, *COMPARE, "--set", "run.threads=1")), stored(folder)


@pytest.fixture
def cluster(request):
    """Options and environment for a backend with two workers, and how to find those that work."""
    with ExitStack() as stack:
        if request.param == "dask":
            from distributed import Client, LocalCluster

            local = stack.enter_context(
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
            )
            client = stack.enter_context(Client(local))

            def workers(_):
                busy = [address for address, tasks in client.processing().items() if tasks]
                return [*client.run(os.getpid, workers=busy).values()] if busy else []

            yield ("--set", "run.backend=dask"), {"DASK_SCHEDULER_ADDRESS": local.scheduler_address}, workers
            return
        mark = {"loky": "loky.backend.popen", "ray": "PoolActor.run"}[request.param]

        def workers(process):
            children = psutil.Process(process.pid).children(recursive=True)
            return [one.pid for one in children if any(mark in word for word in _words(one))]

        options = ("--jobs", "2") if request.param == "loky" else ("--set", "run.backend=ray", "--jobs", "2")
        yield options, {}, workers


def _words(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("cluster", BACKENDS, indirect=True)
def test_a_comparison_is_the_same_to_the_last_bit_whoever_runs_it(cluster, alone, tmp_path):
    options, environment, _ = cluster
    values = finish(start(tmp_path, *COMPARE, *options, **environment))
    assert values["warnings"] == []
    assert without_times(values) == without_times(alone[0])
    assert stored(tmp_path) == alone[1]
    assert len(alone[1]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["loky", "ray"], indirect=True)
def test_after_a_killed_worker_the_same_command_goes_on(cluster, alone, tmp_path):
    options, environment, workers = cluster
    process = start(tmp_path, *COMPARE, *options, **environment)
    before = await_first(tmp_path, process)
    while not (found := workers(process)):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    os.kill(found[0], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "a worker was lost" in err
    values = finish(start(tmp_path, *COMPARE, *options, **environment))
    assert without_times(values) == without_times(alone[0])
    assert stored(tmp_path) == alone[1]
    assert before.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}.items()


def end_the_worker(place):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_task_that_ends_every_worker_of_dask_is_not_waited_for():
    """joblib alone would: of a task that Dask gives up it hears nothing."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as local,
        Client(local),
        parallel_config("dask"),
        refused("lost-workers"),
    ):
        list(run_tasks([Task(end_the_worker, ())], SINGLE))


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["loky", "ray"], indirect=True)
def test_an_interrupt_ends_all_processes_and_keeps_what_is_done(cluster, alone, tmp_path):
    options, environment, _ = cluster
    process = start(tmp_path, *COMPARE, *options, **environment)
    await_first(tmp_path, process)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=60)  # Ray looks now and then whether its own are there
    assert not alive
    assert (
        finish(start(tmp_path, *COMPARE, "--set", "run.threads=1"))["differences"] == alone[0]["differences"]
    )


@pytest.mark.slow
def test_a_search_draws_and_finds_the_same_with_several_jobs(tmp_path):
    found = []
    for jobs in ("1", "2"):
        process = subprocess.run(
            [sys.executable, "-m", "kernode", "tune", DATA, "--variant", "n1", "--trials", "8",
             "--set", "run.batch=4", "--epochs", "5", "--set", "run.folds=2", "--set", "run.device=cpu",
             "--json", "--jobs", jobs,
             "--set", f"run.study={tmp_path / jobs}.db", "-o", str(tmp_path / f"{jobs}.toml")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        values = json.loads(process.stdout)
        found.append(
            {name: one for name, one in values.items() if name not in ("seconds_total", "study", "settings")}
        )
    assert found[0] == found[1]


def kind_of_features(place, graph):
    return type(graph.features).__name__


@pytest.mark.slow
def test_a_large_graph_is_mapped_by_workers_and_gives_the_same_bits(tmp_path):
    random = np.random.default_rng(0)
    features = random.normal(size=(1500, 200)).astype(np.float32)  # above joblib's 1 MB
    graph = kn.Graph.from_edges(random.integers(0, 1500, (4000, 2)), features, random.integers(0, 3, 1500))
    methods = [
        ComparedMethod("n1", "", "n1", {"epochs": 4}),
        ComparedMethod("raw", "", "n1", {"map": kn.maps.MLP(normalize_rows=False), "epochs": 4}),
    ]
    comparisons = [Comparison(graph, one, 2) for one in methods]
    alone = run_comparisons(comparisons, Results(tmp_path / "a"), SINGLE, threads=1)
    with parallel_config("loky", n_jobs=2):
        found = run_comparisons(comparisons, Results(tmp_path / "b"), SINGLE, threads=1)
        assert [*run_tasks([Task(kind_of_features, (graph,))], SINGLE)] == [(0, "memmap")]
    assert without_times(alone) == without_times(found)


# The options


@pytest.mark.parametrize(("backend", "library"), [("dask", "Dask"), ("ray", "Ray")])
def test_a_missing_extra_is_named(command, monkeypatch, tmp_path, backend, library):
    monkeypatch.setitem(sys.modules, "distributed" if backend == "dask" else "ray", None)
    monkeypatch.chdir(tmp_path)
    fails(
        command(*COMPARE[:-1], "--set", f"run.backend={backend}"),
        1,
        f"{library}: pip install 'kernode[{backend}]'",
    )


def test_a_scheduler_that_is_not_there_is_said(command, monkeypatch, tmp_path):
    import dask

    monkeypatch.chdir(tmp_path)
    with dask.config.set(
        {"scheduler-address": "tcp://127.0.0.1:1", "distributed.comm.timeouts.connect": 0.2}
    ):
        fails(command(*COMPARE[:-1], "--set", "run.backend=dask", "--jobs", "2"), 2, "workers of its own")
        fails(
            command(*COMPARE[:-1], "--set", "run.backend=dask"),
            1,
            "no Dask scheduler answers at tcp://127.0.0.1:1",
        )
