"""What every story needs: a desk, which is a folder with somebody's files, and the command to type there."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """Its report, where --json was asked for."""
        assert self.status == 0, self.err
        return json.loads(self.out)

    @property
    def refusal(self):
        """Its one sentence about wrong input: status 2, nothing on stdout, no traceback."""
        assert self.status == 2, f"{self.status}: {self.out}{self.err}"
        assert self.out == ""
        assert self.err.startswith("kernode: ")
        assert self.err.count("\n") == 1
        return self.err


class Desk:
    """A folder with somebody's files."""

    def __init__(self, folder, command):
        self.folder, self._command = folder, command

    def write(self, name, text, encoding="utf-8"):
        """A text file, as an editor or a spreadsheet would save it."""
        (self.folder / name).write_bytes(text.encode(encoding))

    def table(self, name, header, rows, encoding="utf-8", separator=","):
        """A table: a header, if there is one, and rows."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerows([*([header] if header else []), *rows])
        self.write(name, text.getvalue(), encoding)

    def kernode(self, line, *words):
        """Type a command; words with blanks in them come after the line."""
        return Answer(*self._command(*line.split(), *words))

    def classes(self, name):
        """Predictions that a command wrote: the class of each node by name."""
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return {row["node"]: row["class"] for row in csv.DictReader(file)}


@pytest.fixture
def desk(tmp_path, monkeypatch, command):
    """An empty desk."""
    folder = Path(tmp_path / "desk")
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))
    return Desk(folder, command)


@dataclass(frozen=True)
class Shop:
    """Customers with a clear answer: who bought together has one taste, and age and spending tell it, too.

    Ids are integers in no order, and none is a row number.
    """

    ids: tuple
    taste: tuple  # the right class of each
    age: tuple
    spent: tuple
    bought_together: tuple  # pairs of ids

    def right(self, classes):
        """The share of customers whose class is right, by id."""
        return np.mean([classes[str(one)] == taste for one, taste in zip(self.ids, self.taste, strict=True)])


@pytest.fixture
def shop():
    """Sixty customers, of whom the first forty have told their taste where a story does not say otherwise."""
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
