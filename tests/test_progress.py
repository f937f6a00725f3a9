"""Progress of long computations, and their durations in the log."""

import logging

from kernode.cli.console import progress
from kernode.progress import report_progress, timed


def test_a_part_is_in_the_log_with_its_seconds(caplog):
    with caplog.at_level(logging.DEBUG, "kernode"), timed("hops"):
        pass
    assert [(record.event, record.fields["what"]) for record in caplog.records] == [("part", "hops")]


def test_the_same_step_of_another_graph_counts_to_its_own_end(capsys):
    with progress("reproduce", quiet=False, seconds=0.0):
        report_progress("2 hops", 2708, 2708)
        report_progress("2 hops", 3327, 3327)
    assert capsys.readouterr().err.split("\n") == ["2 hops 2708/2708 ", "2 hops 3327/3327 ", ""]
