"""Progress of long computations."""

from kernode.cli.console import progress
from kernode.progress import report_progress


def test_the_same_step_of_another_graph_counts_to_its_own_end(capsys):
    with progress("reproduce", quiet=False, seconds=0.0):
        report_progress("2 hops", 2708, 2708)
        report_progress("2 hops", 3327, 3327)
    assert capsys.readouterr().err.split("\n") == [
        "reproduce · 2 hops 2708/2708 ",
        "reproduce · 2 hops 3327/3327 ",
        "",
    ]
