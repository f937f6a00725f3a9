"""Seconds by name: nothing is counted twice, and nothing is lost."""

import time

import pytest

from kernode import progress
from kernode.cli import console
from kernode.progress import Stopwatch, tell, timed, timed_by


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when it is told to."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def test_a_part_within_a_part_interrupts_it_and_all_parts_are_the_whole(clock):
    watch = Stopwatch()
    clock(1)
    with timed_by(watch):
        with timed("training"):
            clock(2)
            with timed("hops"):
                clock(4)
            clock(8)
        with timed("hops"):
            clock(16)
    clock(32)
    assert watch.seconds() == {"training": 10, "hops": 20, "other": 33}


def test_what_fails_is_counted_until_then(clock):
    watch = Stopwatch()

    def fail():
        with watch.part("reading"):
            clock(3)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    clock(1)
    assert watch.seconds() == {"reading": 3, "other": 1}


def test_nobody_need_measure():
    before = time.perf_counter()
    with timed("anything"):
        pass
    assert time.perf_counter() >= before


def test_the_same_step_of_another_graph_counts_to_its_own_end(capsys, monkeypatch):
    monkeypatch.setattr(console, "_now_and_then", lambda: lambda: True)
    with console.progress("reproduce", quiet=False):
        tell("2 hops", 2708, 2708)
        tell("2 hops", 3327, 3327)
    assert capsys.readouterr().err.split("\n") == ["2 hops 2708/2708 ", "2 hops 3327/3327 ", ""]
