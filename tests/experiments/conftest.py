import sys

import pytest

from experiments.__main__ import main


@pytest.fixture
def experiments(monkeypatch, capsys):
    """Run ``python -m experiments …`` in this process; return status, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["experiments", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
