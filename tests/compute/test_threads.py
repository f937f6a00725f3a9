"""How many CPU threads a training has, and that the process gets its own back."""

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS
from kernode.compute import threads
from kernode.compute.threads import asked_for, cpu_threads

MUCH = threads.WORTH_MEASURING


@pytest.fixture
def torch_has(monkeypatch):
    """A process in which torch has so many threads by default; nothing is remembered of another."""
    before = torch.get_num_threads()
    monkeypatch.setattr(threads, "_measured", None)
    for name in threads._SET_BY:
        monkeypatch.delenv(name, raising=False)

    def has(number):
        torch.set_num_threads(number)
        monkeypatch.setattr(threads, "_own_number", lambda: number)

    yield has
    torch.set_num_threads(before)


@pytest.fixture
def taking(monkeypatch):
    """Trials that take so many seconds with so many threads."""

    def of(seconds):
        clock = [0.0]

        def work():
            clock[0] += seconds[torch.get_num_threads()]

        monkeypatch.setattr(threads, "_step_of_training", lambda: work)
        monkeypatch.setattr(threads.time, "perf_counter", lambda: clock[0])
        return clock

    return of


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({1: 4e-3, 2: 3e-3, 4: 2e-3}, 4),  # time to spare
        ({1: 2e-3, 2: 3e-3, 4: 5e-3}, 1),  # busy
        ({1: 4e-3, 2: 2e-3, 4: 5e-3}, 2),  # half of it is busy
        ({1: 4e-3, 2: 3e-3, 4: 3.5e-3}, 4),  # not clear enough to give up the same bits
    ],
)
def test_fewer_threads_are_taken_where_they_are_clearly_faster(torch_has, taking, seconds, best):
    torch_has(4)
    clock = taking(seconds)
    with cpu_threads("measured", MUCH) as number:
        assert number == torch.get_num_threads() == best
    assert torch.get_num_threads() == 4
    assert clock[0] < 0.3
    measured = clock[0]
    with cpu_threads("measured", MUCH) as number:
        assert number == best
    assert clock[0] == measured  # remembered


def test_what_the_user_set_stays(torch_has, taking, monkeypatch):
    torch_has(4)
    clock = taking({1: 1e-3, 2: 2e-3, 3: 3e-3, 4: 4e-3})
    torch.set_num_threads(3)
    with cpu_threads("measured", MUCH) as number:
        assert number == 3
    torch.set_num_threads(2)  # half of them is nobody's default
    with cpu_threads("measured", MUCH) as number:
        assert number == 2
    torch_has(4)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    with cpu_threads("measured", MUCH) as number:
        assert number == 4
    with cpu_threads(2, MUCH) as number:
        assert number == torch.get_num_threads() == 2
    with cpu_threads(None, MUCH) as number:
        assert number == 4
    assert clock[0] == 0


@pytest.mark.parametrize(("mkl", "own"), [(True, 4), (False, 8)])
def test_torchs_own_number_is_that_of_the_cores(monkeypatch, mkl, own):
    """Eight threads on four cores: MKL counts the cores, other builds the threads."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_siblings", lambda number: f"{number % 4},{number % 4 + 4}")
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    assert threads._own_number() == own


def test_what_is_over_in_a_moment_is_not_measured(torch_has, taking):
    torch_has(2)
    clock = taking({1: 1e-3, 2: 9e-3})
    with cpu_threads("measured", MUCH - 1) as number:
        assert number == 2
    assert clock[0] == 0


def test_a_real_measurement_takes_a_moment(torch_has):
    torch_has(2)
    assert threads._measure(2) in (1, 2)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("number", [0, -1, "two", 1.5])
def test_threads_are_counted_from_one(number):
    with pytest.raises(kn.InputError, match="threads must be an integer"):
        asked_for(number)


def test_an_estimator_gives_the_threads_back(torch_has):
    torch_has(2)
    nodes = np.arange(30)
    model = kn.NodeKernelClassifier("n1", epochs=3, threads=1)
    model.fit(nodes, CLUSTERS.labels[nodes], graph=CLUSTERS, validation=np.arange(30, 60))
    assert (model.threads_, torch.get_num_threads()) == (1, 2)
    links = kn.LinkPredictor(epochs=3, threads=1).fit(CLUSTERS)
    assert (links.threads_, torch.get_num_threads()) == (1, 2)
    with pytest.raises(kn.InputError, match=r"threads must be an integer ≥ 1\. Got 0"):
        kn.LinkPredictor(threads=0).fit(CLUSTERS)
