"""Fixtures for tests of tables and commands: a folder in which commands run, and a small data set."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest


@dataclass(frozen=True)
class Answer:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """The report of --json."""
        assert self.status == 0, self.err
        return json.loads(self.out)

    @property
    def refusal(self):
        """The one sentence about wrong input: status 2, nothing on stdout, no traceback."""
        assert self.status == 2, f"{self.status}: {self.out}{self.err}"
        assert self.out == ""
        assert self.err.startswith("kernode: ")
        assert self.err.count("\n") == 1
        return self.err


class Workspace:
    """A folder of files, in which commands run."""

    def __init__(self, folder, command):
        self.folder, self._command = folder, command

    def write(self, name, text, encoding="utf-8"):
        """Write a text file."""
        (self.folder / name).write_bytes(text.encode(encoding))

    def table(self, name, header, rows, encoding="utf-8", separator=","):
        """Write a CSV table with or without a header."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerows([*([header] if header else []), *rows])
        self.write(name, text.getvalue(), encoding)

    def kernode(self, line, *words):
        """Run a command; arguments with blanks in them come after the line."""
        return Answer(*self._command(*line.split(), *words))

    def classes(self, name):
        """Read predictions that a command wrote: class by node."""
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return {row["node"]: row["class"] for row in csv.DictReader(file)}


@pytest.fixture
def workspace(tmp_path, monkeypatch, command):
    """An empty folder as the current one."""
    folder = Path(tmp_path / "workspace")
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))
    return Workspace(folder, command)


@dataclass(frozen=True)
class Shop:
    """Customers of three classes, separable by edges and by features; ids are integers, none a row number."""

    ids: tuple
    taste: tuple  # class of each
    age: tuple
    spent: tuple
    bought_together: tuple  # pairs of ids

    def right(self, classes):
        """Share of customers whose class is right."""
        return np.mean([classes[str(one)] == taste for one, taste in zip(self.ids, self.taste, strict=True)])


@pytest.fixture
def shop():
    """Sixty customers with integer ids."""
    random = np.random.default_rng(7)
    n, tastes = 60, ("Tee", "Kaffee", "Süßes")
    ids = 1000 + random.permutation(n) * 7
    of = np.arange(n) % 3
    pairs = [
        (int(ids[i]), int(ids[j]))
        for i in range(n)
        for j in range(i)
        if random.random() < (0.3 if of[i] == of[j] else 0.01)
    ]
    age = np.round(25 + 15 * of + random.normal(size=n), 1)
    spent = np.round(1000 + 2000 * of + 100 * random.normal(size=n), 2)
    taste = tuple(tastes[one] for one in of)
    return Shop(tuple(ids.tolist()), taste, tuple(age.tolist()), tuple(spent.tolist()), tuple(pairs))
