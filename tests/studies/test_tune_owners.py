"""Several processes may search in one file: what belongs to one that lives is left alone."""

import json
import os
import subprocess
import sys

from kernode.studies.tune.owners import is_gone

from kernode.search.tune import this_process


def test_a_process_that_lives_keeps_its_trials_until_it_is_gone():
    code = (
        "import json, sys; from kernode.studies.tune.owners import this_process as p; print(json.dumps(p()))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}; sys.stdout.flush(); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        owner = json.loads(other.stdout.readline())
        assert owner["process"] == other.pid
        assert not is_gone(owner)
        assert is_gone(owner | {"began": "1"})  # another process has its number now
        other.stdin.close()
        other.wait()
        assert is_gone(owner)


def test_of_another_machine_nothing_is_known():
    assert not is_gone(this_process() | {"machine": "elsewhere", "process": 1})


def test_what_this_process_left_before_it_searches_again_is_given_up():
    assert is_gone(this_process())
    assert is_gone(None)
    assert this_process()["process"] == os.getpid()
