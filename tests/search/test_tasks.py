"""Tasks: the same in this process and in workers, yielded as they finish."""

import pickle
import sys
import threading
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager

import pytest
import torch
from joblib import parallel_config

from graphs import clustered_graph
from kernode.errors import InputError, KernodeError, KernodeWarning, warn
from kernode.search import compare, tasks
from kernode.search.baselines import ComparedMethod
from kernode.search.compare import Comparison, run_comparisons
from kernode.search.results import Results
from kernode.search.tasks import Failure, Task, run_tasks, train_stack
from kernode.training.loop import DivergedError
from refusals import refused
from tasks import DOUBLE, SINGLE

# joblib's threads stand for workers where processes would only take longer: a task cannot tell.
WORKERS = {"backend": "threading", "n_jobs": 2}
DATA = "synthetic:nodes=120,degree=4,classes=3,features=30,seed=1"


def double(place, number, done=None):
    if done is not None:
        done.append(number)
    return 2 * number


def seen(place):
    """What a task finds around it."""
    return torch.get_num_threads(), place, threading.current_thread() is threading.main_thread()


def fail(place, number):
    if number == 2:
        raise DivergedError(7, [0])
    return number


def warned(place):
    warn("this is worth less than it seems.")
    return True


DOUBLES = [Task(double, (number,)) for number in range(5)]


def test_in_any_order_each_result_is_its_tasks_and_local_tasks_have_more_arguments():
    begun, done = [], []

    @contextmanager
    def local(number):
        begun.append(number)
        yield {"done": done}

    list(run_tasks(DOUBLES, SINGLE, local=local))
    assert begun == done == [0, 1, 2, 3, 4]
    with parallel_config(**WORKERS):
        assert sorted(run_tasks(DOUBLES, SINGLE, local=local)) == [(n, 2 * n) for n in range(5)]
    assert len(done) == 5


@pytest.mark.parametrize("workers", [{"n_jobs": 1}, WORKERS], ids=["here", "workers"])
def test_threads_place_and_precision_belong_to_the_task(workers):
    before = torch.get_num_threads()
    with parallel_config(**workers):
        ((_, found),) = run_tasks([Task(seen, ())], DOUBLE, threads=before + 2)
    assert found == (before + 2, DOUBLE, workers is not WORKERS)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("workers", [{"n_jobs": 1}, WORKERS], ids=["here", "workers"])
def test_a_tasks_own_error_is_raised_and_what_was_done_before_is_there(workers):
    done = []
    finished = run_tasks([Task(fail, (number,)) for number in range(3)], SINGLE)
    with parallel_config(**workers), pytest.raises(KernodeError, match="diverged at epoch 7"):
        done.extend(finished)
    assert done  # two can run at a time, so that one at least was done before
    assert set(done) <= {(0, 0), (1, 1)}


def test_a_workers_warnings_are_raised_here():
    with parallel_config(**WORKERS), pytest.warns(KernodeWarning, match="worth less") as caught:
        assert sorted(run_tasks([Task(warned, ())] * 2, SINGLE)) == [(0, True), (1, True)]
    assert len(caught) == 2


def test_a_lost_worker_ends_with_an_error(monkeypatch):
    def lost(*_):
        raise BrokenExecutor("the worker is gone. Look at its log")

    monkeypatch.setattr(tasks, "_run", lost)
    with parallel_config(**WORKERS), refused("lost-workers"):
        list(run_tasks(DOUBLES, SINGLE))


# Stacks


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_stack_goes_on_without_the_members_that_diverge(replicas):
    stacks = []

    def train(members):
        stacks.append(list(members))
        if lost := [replicas * i + replicas - 1 for i, one in enumerate(members) if one % 3 == 0]:
            raise DivergedError(7, lost)
        return [-one for one in members]

    found = train_stack(range(8), train, replicas)
    assert [one.why if isinstance(one, Failure) else one for one in found] == [
        "diverged", -1, -2, "diverged", -4, -5, "diverged", -7,
    ]  # fmt: skip
    assert stacks == [[*range(8)], [1, 2, 4, 5, 7]]


def test_a_stack_that_is_refused_is_trained_in_halves_and_another_error_is_raised():
    def train(members):
        if 3 in members:
            raise InputError("not for such a graph.")
        return list(members)

    def broken(members):
        raise RuntimeError("shapes do not match")

    assert train_stack(range(5), train) == [0, 1, 2, Failure("refused", "not for such a graph."), 4]
    with pytest.raises(RuntimeError, match="shapes"):
        train_stack(range(5), broken)


# Comparisons


SMALL = [
    ComparedMethod(f"small-{rate}", "", "k3", {"epochs": 4, "hidden": (4,), "learning_rate": rate})
    for rate in (0.01, 0.02, 0.05)
]


@pytest.fixture
def comparisons():
    graph = clustered_graph(n=40)
    return [Comparison(graph, one, 2, "0.5/0.25/0.25") for one in SMALL]


def test_a_comparison_with_workers_is_the_one_without(comparisons, tmp_path):
    alone = run_comparisons(comparisons, Results(tmp_path / "a"), SINGLE)
    with parallel_config(**WORKERS):
        found = run_comparisons(comparisons, Results(tmp_path / "b"), SINGLE)
    for one, other in zip(alone, found, strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    names = [sorted(path.name for path in (tmp_path / which).rglob("*.json")) for which in "ab"]
    assert names[0] == names[1]


def test_what_is_done_is_kept_when_a_later_one_fails(comparisons, tmp_path, monkeypatch):
    store, measured, evaluate = Results(tmp_path), [], compare.evaluate

    def fails_once(comparison, *rest, **named):
        measured.append(comparison.method.name)
        if comparison.method is SMALL[1] and measured.count(SMALL[1].name) == 1:
            raise RuntimeError("a defect")
        return evaluate(comparison, *rest, **named)

    monkeypatch.setattr(compare, "evaluate", fails_once)
    with pytest.raises(RuntimeError, match="a defect"):
        run_comparisons(comparisons, store, SINGLE)
    assert [store.find(one) is not None for one in comparisons] == [True, False, False]
    watched = []
    run_comparisons(comparisons, store, SINGLE, progress=lambda done, name: watched.append(done))
    assert measured == [SMALL[i].name for i in (0, 1, 1, 2)]
    assert watched == [1, 2]


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
        ("compare", DATA, "--variants", "smoother,label-propagation", "--splits", "2"),
        ("tune", DATA, "--variant", "n1", "--trials", "1", "--epochs", "2"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("deterministic", [False, True])
def test_commands_pass_deterministic_to_their_tasks(words, deterministic, run_command, monkeypatch):
    seen = []

    @contextmanager
    def applied(self):
        seen.append(self.deterministic)
        yield SINGLE

    monkeypatch.setattr(tasks.Environment, "applied", applied)
    option = ("--set", "run.deterministic=true") if deterministic else ()
    run_command(*words, *option, "--set", "run.device=cpu", "--quiet")
    assert set(seen) == {deterministic}
