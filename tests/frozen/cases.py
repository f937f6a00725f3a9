"""Small graphs, the commands that are run on them (commands.toml), and what is compared of an answer."""

import csv
import io
import json
import math
import re
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from kernode.cli import main

HERE = Path(__file__).parent
_LINES = tomllib.loads((HERE / "commands.toml").read_text(encoding="utf-8"))
WORDS, COMMANDS = _LINES["words"], _LINES["right"]
WRONG = [(int(status), line) for status, lines in _LINES["wrong"].items() for line in lines]
_WRITERS = {line.partition(" -o ")[2]: name for name, line in COMMANDS.items() if " -o " in line}

_VOLATILE = re.compile("seconds|_mb$|^threads$|^versions$|^bytes$|^predicted_from$")
_COUNTED = ("notes", "warnings", "repairs", "input", "facts")


def write_files(folder):
    """Write the graphs that are not synthetic: an .npz file with a split, and two pairs of tables."""
    random, n = np.random.default_rng(0), 60
    classes = np.arange(n) % 3
    linked = np.triu(random.random((n, n)) < np.where(classes[:, None] == classes, 0.2, 0.03), 1)
    edges, both = np.argwhere(linked), linked | linked.T
    np.savez(
        folder / "graph.npz",
        adj_data=np.ones(both.sum()), adj_indices=np.nonzero(both)[1], adj_shape=both.shape,
        adj_indptr=np.append(0, both.sum(axis=1).cumsum()), labels=classes,
        attr_matrix=np.abs(random.normal(size=(n, 6)) + np.eye(3, 6)[classes]).round(3),
    )  # fmt: skip
    split = {"train": [*range(36)], "validation": [*range(36, 48)], "test": [*range(48, n)]}
    (folder / "split.json").write_text(json.dumps(split))

    def write(name, *rows):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    def paper(i, labelled):
        words = random.choice(["deep", "gene", "graph", "kernel", "long", "proof", "study", "wide"], 4)
        year = 1990 + 3 * i % 25 if i % 11 else ""
        topic = ("ai", "bio", "logic")[classes[i]] if labelled else ""
        return f"p{i}", year, "abc"[i % 3 if i % 4 else 0], " ".join([*words, f"number{i}"]), topic

    header = "id", "year", "venue", "title", "topic"
    write("papers.csv", ("source", "target"), *((f"p{u}", f"p{v}") for u, v in edges))
    write("papers-nodes.csv", header, *(paper(i, i % 7 > 0) for i in range(n)))
    write("few-nodes.csv", header, *(paper(i, i < 15) for i in range(n)))
    write("new.csv", ("source", "target"), ("new1", "p3"), ("new1", "p6"), ("new2", "new1"), ("new2", "p1"))
    write("new-nodes.csv", header[:4], ("new1", 2001, "a", "deep gene study"), ("new2", "", "z", "other"))
    write("roads.csv", ("a", "b", "km"), *((100 + 7 * u, 100 + 7 * v, 1 + (u + v) % 5) for u, v in edges))
    write("towns.csv", ("town", "region"), *((100 + 7 * i, "nms"[classes[i]]) for i in range(n)))


def run(line, done):
    """Run ``kernode …`` in this process, after the commands that write its files.

    ``done`` holds the answers of commands that have been run. Give status, stdout and stderr.
    """
    for file in _WRITERS.keys() & line.partition(" -o ")[0].split():
        answer(_WRITERS[file], done)
    for word, meaning in WORDS.items():
        line = line.replace(word, meaning)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with patch.object(sys, "argv", ["kernode", *line.split()]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return status, out.getvalue(), err.getvalue()


def answer(name, done):
    """Return what a command prints with --json and the values it writes."""
    if name not in done:
        status, out, err = run(f"{COMMANDS[name]} --json", done)
        assert status == 0, err
        target = Path(COMMANDS[name].partition(" -o ")[2])
        done[name] = plain({"printed": json.loads(out), "written": _written(target)})
    return done[name]


def _written(path):
    """Return the first rows of a table, the first columns of arrays, or settings."""
    if path.suffix == ".csv":
        return json.loads(pd.read_csv(path).head(8).to_json(double_precision=15))
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))[:8]
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text(encoding="utf-8"))
    if path.suffix == ".npz" and path.stem != "converted":
        with np.load(path) as arrays:
            return {name: array[..., :12] for name, array in arrays.items()}
    return None


def plain(value):
    """Return what must not change: no times, memory or versions, no sentences, only the number of notes."""
    if isinstance(value, dict):
        kept = {str(key): one for key, one in value.items() if not _VOLATILE.search(str(key))}
        return {key: len(one) if key in _COUNTED else plain(one) for key, one in kept.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, str):
        return "…" if len(value.split()) > 3 else value
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.10g}") if isinstance(value, float) else value


def differences(old, new, path="", tolerance=1e-6):
    """Paths at which a stored answer is not found again; keys may be added."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from differences(value, new[key], f"{path}.{key}", tolerance)
            else:
                yield f"{path}.{key} is gone"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}[{at}]", tolerance)
    elif type(old) in (int, float) and type(new) in (int, float):
        if not math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance / 10):
            yield f"{path}: {old} became {new}"
    elif old != new:
        yield f"{path}: {old!r} became {new!r}"
