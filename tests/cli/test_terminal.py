"""What commands print on a terminal of 80 columns."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest

from kernode.cli.console import progress, say
from kernode.progress import report_progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True

    @property
    def shown(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.getvalue())


@pytest.fixture
def terminal(monkeypatch):
    one = Terminal()
    for name, value in {"COLUMNS": "80", "TERM": "xterm", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    return one


def test_a_long_line_goes_on_below_its_value(terminal):
    value = "88.39 ± 8.84 %   (on 56 nodes only: 95 % interval 77 to 94 %)"
    with redirect_stdout(terminal):
        say(f"  [bold]test accuracy[/]        {value}\n{'word ' * 20}")
    first, second, *others = terminal.shown.splitlines()
    assert second == " " * 23 + "94 %)"
    assert f"{first} {second.strip()}" == f"  test accuracy        {value}"
    assert len(others) == 2
    assert not others[1].startswith(" ")
    assert max(map(len, terminal.shown.splitlines())) <= 80


def test_steps_that_are_over_are_not_shown_below_a_training(terminal):
    with redirect_stderr(terminal), progress("cora", quiet=False) as begin:
        report_progress("columns", 1, 2)
        report_progress("reading", 0, 1)
        begin(1000, "diffusion")(3, "")
    shown = terminal.getvalue()
    frame = shown[: shown.rindex("diffusion")].rpartition("\x1b[2K")[2]  # after the last erased line
    assert "columns" not in frame
    assert "reading" not in frame
