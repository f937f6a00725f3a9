"""Splits that people bring along: an .npz file with three parts, or a table of nodes and parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph, positions
from kernode.io.archive import open_archive
from kernode.io.node_split import PARTS, Split
from kernode.io.tables import is_table
from kernode.io.tables.edges import id_sql
from kernode.io.tables.source import database, open_table
from kernode.io.tables.table import IDS, Reading, choose
from kernode.storage import complete

# What the parts are called elsewhere: PyG's train_mask, OGB's valid, and the like.
_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
_ENDINGS = ("_mask", "_masks", "_idx", "_index", "_indices", "_nodes", "_ids", "_set")
_COLUMNS = ("part", "split", "set", "subset")  # usual names of a table's column of parts


def is_split_file(how: Any) -> bool:
    """Whether a split is the name of a file.

    >>> is_split_file("mine.npz"), is_split_file("parts.csv"), is_split_file("0.6/0.2/0.2")
    (True, True, False)
    """
    return isinstance(how, os.PathLike) or Path(how).suffix.lower() == ".npz" or is_table(how)


def read_split(path: str | os.PathLike[str], graph: Graph, seed: int = 0) -> Split:
    """Read the split of a graph's nodes from a file.

    - ``.npz``: arrays train, valid (or validation, val) and test, of positions, names or booleans (masks).
    - A table (.csv, .parquet, …): a column of nodes by name, and one that says train, validation or test.

    A mask of several columns (n × k) holds k splits; ``seed`` counts them from 0.
    """
    return read_splits(path, graph, [seed])[0]


def read_splits(path: str | os.PathLike[str], graph: Graph, seeds: Iterable[int]) -> list[Split]:
    """Read the split of every seed: the same object for all, unless the file has masks of several columns."""
    path, seeds = Path(path), list(seeds)
    if path.suffix.lower() == ".npz":
        with open_archive(path) as archive:
            arrays = {part: archive.read(name) for part, name in _part_names(path, archive.names).items()}
    elif is_table(path):
        arrays = _read_parts(path, graph)
    else:
        sentence = f"{path} is not a split. Give an .npz file, or a table such as .csv."
        raise InputError(sentence, "wrong-file", path=str(path))
    parts = {part: _columns(path, part, array, graph) for part, array in arrays.items()}
    count = max(map(len, parts.values()))
    if any(len(columns) not in (1, count) for columns in parts.values()):
        raise _wrong(path, "its masks have different numbers of columns. Give all of them as many", "shape")
    if max(seeds, default=0) >= count > 1:
        sentence = (
            f"{path.name} has {count} splits, for seeds 0 to {count - 1}, and none for seed {max(seeds)}. "
            "Train fewer runs, or start from a smaller seed."
        )
        raise InputError(sentence, "too-few", setting="random_state")
    splits = {
        at: _checked(path, graph, {part: columns[at % len(columns)] for part, columns in parts.items()})
        for at in {seed % count for seed in seeds}
    }
    if len({tuple(len(getattr(split, part)) for part in PARTS) for split in splits.values()}) > 1:
        what = "the parts of its splits differ in size. Train one at a time, its column as the seed"
        raise _wrong(path, what, "shape")
    return [splits[seed % count] for seed in seeds]


def _wrong(path: Path, what: str, code: str = "wrong-file") -> InputError:
    return InputError(f"{path.name}: {what}.", code, path=str(path))


def _read_parts(path: Path, graph: Graph) -> dict[str, np.ndarray]:
    """Read the parts of a table."""
    with database() as con:
        table = open_table(con, path, "split", Reading())
        names = table.columns
        part_column = choose(table, None, "part", _COLUMNS) or (names[1] if len(names) == 2 else None)
        node_column = choose(table, None, "node", IDS) or (names[0] if len(names) == 2 else None)
        if part_column is None or node_column is None or part_column == node_column:
            raise _wrong(path, "call the column of the nodes 'node' and that of the parts 'part'", "missing")
        ids = table.values(id_sql(table, [node_column])[0])
        words = [str(word or "").strip() for word in table.values(f"{table.sql(part_column)}::VARCHAR")]
    rows = table.numbers(np.arange(len(ids)))
    lacking = [row for row, id in zip(rows, ids, strict=True) if id is None]
    if lacking:
        raise _wrong(path, f"row {lacking[0]} has no node in {node_column!r}. Fill the gap", "missing")
    nodes = np.array(ids, str)
    parts = np.array([_part_of(word) or "" for word in words], str)
    for row, word, part in zip(rows, words, parts, strict=True):
        if word and not part:  # a gap is a node in no part
            what = f"row {row} has {word!r} as the part. Write train, validation or test, or leave it empty"
            raise _wrong(path, what, "unknown")
    if graph.node_names is None:
        try:
            nodes = nodes.astype(np.int64)
        except ValueError:
            raise _wrong(path, "the graph's nodes have no names. Write integers from 0", "unknown") from None
    if "test" not in parts:
        raise _wrong(path, "no row says test. Add the nodes to test on", "missing")
    return {part: nodes[parts == part] for part in PARTS}


def _part_names(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """What each part is called in a file."""
    found: dict[str, str] = {}
    for name in names:
        part = _part_of(name)
        if part in found:
            raise _wrong(path, f"it has both {found[part]} and {name}. Keep one of them", "duplicate")
        if part is not None:
            found[part] = name
    for part in PARTS:
        if part not in found:
            has = f"It has {', '.join(names) or 'nothing'}"
            what = f"it has no {part} nodes. {has}. Leave the array empty if there are none"
            raise _wrong(path, what, "missing")
    return {part: found[part] for part in PARTS}


def _part_of(name: str) -> str | None:
    """The part that a name stands for.

    >>> _part_of("train_mask"), _part_of("Valid"), _part_of("edge_index")
    ('train', 'validation', None)
    """
    word = name.lower().strip()
    for ending in _ENDINGS:
        word = word.removesuffix(ending)
    return next((part for part, usual in _WORDS.items() if word in usual), None)


def _columns(path: Path, part: str, array: np.ndarray, graph: Graph) -> list[np.ndarray]:
    """Return positions of a part given as positions, names, a mask of n booleans or n × k of them: 1 or k."""
    n = graph.n_nodes
    integers = array.dtype.kind in "iu"
    if integers and array.ndim and len(array) == n > 2 and set(np.unique(array)) <= {0, 1}:
        array = array.astype(bool)  # as positions, so many zeros and ones would repeat
    if array.dtype == bool and array.ndim in (1, 2) and len(array) == n:
        return [positions(column) for column in array.reshape(n, -1).T]
    if array.dtype == bool or array.ndim != 1:
        what = f"{part} has the shape {array.shape}. Give a list of nodes, or a mask of {n:,} (× k) booleans"
        raise _wrong(path, what, "shape")
    try:
        return [graph.find(positions(array) if integers or not len(array) else array)]
    except InputError as error:
        raise InputError(f"{path.name}, {part}: {error}", error.code, **error.fields) from None


def _checked(path: Path, graph: Graph, parts: dict[str, np.ndarray]) -> Split:
    with complete(path):
        split = Split(**parts)
    for part in PARTS:
        nodes = getattr(split, part)
        unknown = nodes[graph.labels[nodes] < 0]
        if len(unknown):
            first = f"have no class, the first is {graph.lookup.name(unknown[0])}. Leave them out"
            raise _wrong(path, f"{len(unknown):,} of {len(nodes):,} {part} nodes {first}", "missing")
    if not len(split.train):
        raise _wrong(path, "it has no training nodes. Give at least one of each class", "too-few")
    return split
