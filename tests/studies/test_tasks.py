"""Tasks: the same whoever runs them, kept as they get done, run again where a worker is lost."""

import pickle
import sys
import threading
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager

import pytest
import torch
from joblib import parallel_config
from kernode.studies import tasks as room
from kernode.studies.compare.contestants import Contestant
from kernode.studies.compare.matches import Match, measure, play_all

from graphs import clustered_graph
from kernode.errors import InputError, KernodeError, KernodeWarning, warn
from kernode.search.results import Results
from kernode.search.tasks import Task, run_tasks
from kernode.training.loop import DivergedError
from tasks import DOUBLE, SINGLE

# joblib's threads stand for workers where processes would only take longer: a task cannot tell.
WORKERS = {"backend": "threading", "n_jobs": 2}
DATA = "synthetic:nodes=120,degree=4,classes=3,features=30,seed=1"


def double(place, number, told=None):
    if told is not None:
        told.append(number)
    return 2 * number


def seen(place):
    """What a task finds around it."""
    products = torch.get_float32_matmul_precision()
    return torch.get_num_threads(), place, products, threading.current_thread() is threading.main_thread()


def fail(place, number):
    if number == 2:
        raise DivergedError(7, [0])
    return number


def warned(place):
    warn("this is worth less than it seems.")
    return True


DOUBLES = [Task(double, (number,)) for number in range(5)]


def test_tasks_run_here_in_their_order_where_nobody_else_is_asked():
    assert list(run_tasks(DOUBLES, SINGLE)) == [(n, 2 * n) for n in range(5)]


def test_in_any_order_each_result_is_its_tasks():
    with parallel_config(**WORKERS):
        assert sorted(run_tasks(DOUBLES, SINGLE)) == [(n, 2 * n) for n in range(5)]


def test_a_task_in_this_process_can_tell_how_far_it_is():
    begun, told = [], []

    @contextmanager
    def here(number):
        begun.append(number)
        yield {"told": told}

    list(run_tasks(DOUBLES, SINGLE, here=here))
    assert begun == told == [0, 1, 2, 3, 4]
    with parallel_config(**WORKERS):
        assert sorted(run_tasks(DOUBLES, SINGLE, here=here)) == [(n, 2 * n) for n in range(5)]
    assert len(told) == 5  # nobody hears a worker


@pytest.mark.parametrize("workers", [{"n_jobs": 1}, WORKERS], ids=["here", "workers"])
def test_threads_place_and_precision_belong_to_the_task(workers):
    before = torch.get_num_threads()
    torch.set_float32_matmul_precision("high")
    try:
        with parallel_config(**workers):
            ((_, found),) = run_tasks([Task(seen, ())], DOUBLE, threads=before + 2)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert found == (before + 2, DOUBLE, "high", workers is not WORKERS)
    assert torch.get_num_threads() == before


def test_without_a_number_a_task_has_the_threads_of_whoever_asked():
    with parallel_config(**WORKERS):
        ((_, found),) = run_tasks([Task(seen, ())], SINGLE)
    assert found[0] == torch.get_num_threads()


@pytest.mark.parametrize("workers", [{"n_jobs": 1}, WORKERS], ids=["here", "workers"])
def test_a_tasks_own_error_is_raised_and_what_was_done_before_is_there(workers):
    done = []
    finished = run_tasks([Task(fail, (number,)) for number in range(3)], SINGLE)
    with parallel_config(**workers), pytest.raises(KernodeError, match="diverged at epoch 7"):
        done.extend(finished)
    assert done  # two can run at a time, so that one at least was done before
    assert set(done) <= {(0, 0), (1, 1)}


def test_an_error_comes_home_as_what_it_is():
    known = room._portable(InputError("no such column."))
    assert type(known) is InputError
    diverged = room._portable(DivergedError(7, [0]))  # cannot be read elsewhere: it takes two arguments
    assert "diverged at epoch 7" in str(pickle.loads(pickle.dumps(diverged)))
    other = room._portable(type("LocalError", (RuntimeError,), {})("what happened"))
    assert "LocalError: what happened" in str(other)
    assert "LocalError" in "".join(pickle.loads(pickle.dumps(other)).__notes__)


def test_a_workers_warnings_are_heard():
    with parallel_config(**WORKERS), pytest.warns(KernodeWarning, match="worth less") as heard:
        assert sorted(run_tasks([Task(warned, ())] * 2, SINGLE)) == [(0, True), (1, True)]
    assert len(heard) == 2


def lose(monkeypatch, when):
    """End a worker in a task whenever ``when`` says so."""
    run = room._run

    def ending(number, *rest):
        if when(number):
            raise BrokenExecutor("the worker is gone. Look at its log")
        return run(number, *rest)

    monkeypatch.setattr(room, "_run", ending)


def test_what_a_lost_worker_had_is_run_again_and_nothing_else(monkeypatch):
    ran = []
    lose(monkeypatch, lambda number: ran.append(number) or ran.count(3) == 1)
    with pytest.warns(KernodeWarning, match=r"a worker was lost \(BrokenExecutor: the worker is gone\)"):
        assert sorted(run_tasks(DOUBLES, SINGLE)) == [(n, 2 * n) for n in range(5)]
    assert ran == [0, 1, 2, 3, 3, 4]


def test_a_task_that_ends_every_worker_ends_with_a_sentence(monkeypatch):
    ran = []
    lose(monkeypatch, lambda number: ran.append(number) or number == 2)
    with pytest.warns(KernodeWarning), pytest.raises(KernodeError, match="2 of 5 tasks are done"):
        list(run_tasks(DOUBLES, SINGLE))
    assert ran.count(2) == 2 + room.RETRIES
    assert ran.count(0) == 1


def test_an_error_of_nobody_is_no_lost_worker():
    assert not room._of_a_worker(RuntimeError("shapes do not match"))
    assert not room._of_a_worker(pickle.PicklingError("a lambda"))


# Comparisons


SMALL = [
    Contestant(f"small-{rate}", "", "k3", {"epochs": 4, "hidden": (4,)}, {"learning_rate": (rate, 1e-6)})
    for rate in (0.01, 0.02, 0.05)
]


@pytest.fixture
def matches():
    graph = clustered_graph(n=40)
    return [Match(graph, one, 2, "0.5/0.25/0.25") for one in SMALL]


def test_a_comparison_with_workers_is_the_one_without(matches, tmp_path):
    alone = play_all(matches, Results(tmp_path / "a", (tmp_path / "a",)), SINGLE)
    with parallel_config(**WORKERS):
        found = play_all(matches, Results(tmp_path / "b", (tmp_path / "b",)), SINGLE)
    for one, other in zip(alone, found, strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    names = [sorted(path.name for path in (tmp_path / which).rglob("*.json")) for which in "ab"]
    assert names[0] == names[1]


def test_a_match_that_is_done_is_kept_when_a_later_one_fails_and_only_the_others_are_played(
    matches, tmp_path, monkeypatch
):
    store, played = Results(tmp_path, (tmp_path,)), []

    def noted(place, graph, method, *rest, **named):
        played.append(method.name)
        if method is SMALL[1] and played.count(method.name) == 1:
            raise RuntimeError("a defect")
        return measure(place, graph, method, *rest, **named)

    monkeypatch.setattr("kernode.studies.compare.matches.measure", noted)
    with pytest.raises(RuntimeError, match="a defect"):
        play_all(matches, store, SINGLE)
    assert [store.find(match) is not None for match in matches] == [True, False, False]
    watched = []
    play_all(matches, store, SINGLE, watch=lambda done, name: watched.append(done))
    assert played == [SMALL[i].name for i in (0, 1, 1, 2)]
    assert watched == [1, 2]


def test_equal_matches_are_played_once(matches, tmp_path):
    watched = []
    found = play_all(
        [matches[0], *matches[:2]],
        Results(tmp_path, (tmp_path,)),
        SINGLE,
        watch=lambda done, name: watched.append(name),
    )
    assert len(watched) == 2
    assert found[0] == found[1] != found[2]


def test_a_graph_says_how_large_it_is():
    """Dask and Ray ask ``sys.getsizeof`` whether to send something to each worker once."""
    graph = clustered_graph(n=40)
    assert sys.getsizeof(graph) > graph.features.nbytes
    assert sys.getsizeof(pickle.loads(pickle.dumps(graph))) == sys.getsizeof(graph)


def test_leaving_early_ends_the_others():
    started = []
    with (
        parallel_config(**WORKERS),
        closing(run_tasks([Task(double, (n, started)) for n in range(50)], SINGLE)) as some,
    ):
        next(some)
    assert len(started) < 50


@pytest.mark.parametrize(
    "words",
    [
        ("compare", DATA, "--variants", "smoother,n1", "--splits", "2", "--results", "results"),
        ("tune", DATA, "--variant", "n1", "--trials", "1", "--epochs", "2"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("option", [(), ("--deterministic",)])
def test_studies_repeat_themselves_on_a_gpu_where_that_is_asked_for(words, option, told, monkeypatch):
    seen = []
    monkeypatch.setattr(
        room.Surroundings,
        "here",
        contextmanager(lambda self: (yield seen.append(self.deterministic) or SINGLE)),
    )
    told(*words, *option, "--device", "cpu", "--quiet")
    assert seen
    assert set(seen) == {bool(option)}
