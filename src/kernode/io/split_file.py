"""Splits that people bring along: an .npz or .json file with three parts, or a table of nodes and parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import FileError, InputError
from kernode.graph import Graph, positions
from kernode.io.archive import open_archive
from kernode.io.node_split import Split
from kernode.io.tables import is_table
from kernode.io.tables.arrow import pa
from kernode.io.tables.files import IDS, read
from kernode.io.tables.table import choose, coded_ids

# What the parts are called elsewhere: PyG's train_mask, OGB's valid, and the like.
_PARTS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
_ENDINGS = ("_mask", "_masks", "_idx", "_index", "_indices", "_nodes", "_ids", "_set")
_COLUMNS = ("part", "split", "set", "subset")  # usual names of a table's column of parts

Columns = list[np.ndarray]  # positions of a part's nodes: one array for all seeds, or one for each


def is_split_file(how: Any) -> bool:
    """Whether a split is the name of a file.

    >>> is_split_file("mine.npz"), is_split_file("parts.csv"), is_split_file("0.6/0.2/0.2")
    (True, True, False)
    """
    return isinstance(how, os.PathLike) or Path(how).suffix.lower() in (".npz", ".json") or is_table(how)


def read_split(path: str | os.PathLike[str], graph: Graph, seed: int = 0) -> Split:
    """Read the split of a graph's nodes from a file.

    - ``.npz``: arrays train, valid (or validation, val) and test, of positions, names or booleans (masks).
    - ``.json``: an object with lists of that kind.
    - A table (.csv, .parquet, …): a column of nodes by name, and one that says train, validation or test.

    A mask of several columns (n × k) holds k splits; ``seed`` counts them from 0.
    """
    return read_splits(path, graph, [seed])[0]


def read_splits(path: str | os.PathLike[str], graph: Graph, seeds: Iterable[int]) -> list[Split]:
    """Read the split of every seed: the same object for all, unless the file has masks of several columns."""
    path, seeds = Path(path), list(seeds)
    if path.suffix.lower() == ".npz":
        parts = _of_arrays(path, graph)
    elif path.suffix.lower() == ".json":
        parts = _of_lists(path, graph)
    elif is_table(path):
        parts = _of_table(path, graph)
    else:
        raise InputError(
            f"{path} is no file of a split. Give an .npz or .json file, or a table such as .csv."
        )
    widths = {len(columns) for columns in parts.values()} - {1}
    if len(widths) > 1:
        raise InputError(f"{path.name}: its masks have {_listed(widths)} columns. Give all of them as many.")
    if not widths:
        return [_checked(path, graph, {part: columns[0] for part, columns in parts.items()})] * len(seeds)
    count = widths.pop()
    if missing := [seed for seed in seeds if seed >= count]:
        raise InputError(
            f"{path.name} has {count} splits, for seeds 0 to {count - 1}, and none for seed {missing[0]}. "
            "Train fewer runs, or start from a smaller seed."
        )
    splits = [
        _checked(path, graph, {part: columns[seed % len(columns)] for part, columns in parts.items()})
        for seed in seeds
    ]
    for part in _PARTS:
        sizes = {len(getattr(split, part)) for split in splits}
        if len(sizes) > 1:
            raise InputError(
                f"{path.name}: the {part} parts of its splits have {_listed(sizes)} nodes, and runs that "
                "train together need equally many. Train one at a time, with its column as the seed."
            )
    return splits


def _of_arrays(path: Path, graph: Graph) -> dict[str, Columns]:
    with open_archive(path) as archive:
        names = _part_names(path, archive.names)
        return {part: _columns(path, name, archive.read(name), graph) for part, name in names.items()}


def _of_lists(path: Path, graph: Graph) -> dict[str, Columns]:
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.")
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist. Check the path.") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from error
    except (ValueError, RecursionError) as error:  # JSON's and Unicode's; lists in lists in lists
        raise FileError(f"{path} is not JSON in UTF-8. Write it again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path.name} must hold an object with the lists train, validation and test.")
    lists = {part: content[name] for part, name in _part_names(path, tuple(content)).items()}
    for part, nodes in lists.items():
        kinds = {type(node) for node in nodes} if isinstance(nodes, list) else {dict}
        if not any(kinds <= {kind} for kind in (str, int, bool)):
            raise InputError(
                f"{path.name}: {part} must be a list of names, positions or booleans, all of a kind."
            )
    if _are_names(path, [node for nodes in lists.values() for node in nodes if type(node) is int], graph):
        lists = {part: [str(node) for node in nodes] for part, nodes in lists.items()}
    return {part: _columns(path, part, _as_array(path, part, nodes), graph) for part, nodes in lists.items()}


def _are_names(path: Path, integers: list[int], graph: Graph) -> bool:
    """Whether integers are names rather than positions; raises where they can be either."""
    if not integers or not graph.lookup.has_integer_names:
        return False
    are_names = {str(node) for node in integers} <= set(graph.node_names.tolist())  # type: ignore[union-attr]
    if are_names and min(integers) >= 0 and max(integers) < graph.n_nodes:
        raise InputError(
            f"{path.name}: its integers are names of nodes, and could be positions. Write names as text "
            '("17"), or positions in an .npz file, to say which.'
        )
    return are_names


def _as_array(path: Path, part: str, nodes: list[Any]) -> np.ndarray:
    if not nodes:
        return np.array([], dtype=np.int64)
    array = np.array(nodes)
    if array.dtype.kind not in "iubU":  # numpy has no integers so large
        raise InputError(f"{path.name}, {part}: {max(nodes, key=abs)} is not in the graph. Check the list.")
    return array


def _of_table(path: Path, graph: Graph) -> dict[str, Columns]:
    table = read(path, "split")
    names = table.column_names
    part_column = choose(table, None, "part", _COLUMNS) or (names[1] if len(names) == 2 else None)
    node_column = choose(table, None, "node", IDS) or (names[0] if len(names) == 2 else None)
    if part_column is None or node_column is None or part_column == node_column:
        raise InputError(f"{table.header}: call the column of the nodes 'node' and that of the parts 'part'.")
    codes, ids = coded_ids(table, [node_column])
    nodes = np.array(ids.to_pylist())[codes[:, 0]] if len(ids) else np.array([], dtype=str)
    if (codes < 0).any():
        row = table.rows[np.flatnonzero(codes[:, 0] < 0)[0]]
        raise InputError(f"{table.name}, row {row}: there is no node in {node_column!r}. Fill the gap.")
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"{table.name}: node {str(values[counts > 1][0])!r} is in two rows. Keep one of them."
        )
    words = [str(word or "").strip() for word in table[part_column].cast(pa.large_string()).to_pylist()]
    parts = [_part_of(word) for word in words]
    for row, word, part in zip(table.rows, words, parts, strict=True):
        if word and part is None:  # a gap is a node in no part
            raise InputError(
                f"{table.name}, row {row}: {word!r} is no part of a split. Write train, validation or test, "
                "or leave the cell empty."
            )
    if graph.node_names is None:
        nodes = _as_numbers(table.name, nodes)
    found = np.array([part or "" for part in parts])
    if "test" not in parts:
        raise InputError(f"{table.name}: no row says test. Add the nodes to test on.")
    return {part: [_find(path, part, nodes[found == part], graph)] for part in _PARTS}


def _as_numbers(table: str, nodes: np.ndarray) -> np.ndarray:
    for node in nodes:
        if not (node.isascii() and node.isdecimal()):
            raise InputError(
                f"{table}: {str(node)!r} is no position, and the graph's nodes have no names. "
                "Write integers from 0."
            )
    return nodes.astype(np.int64)


def _part_names(path: Path, names: tuple[str, ...]) -> dict[str, str]:
    """What each part is called in a file."""
    found: dict[str, str] = {}
    for name in names:
        part = _part_of(name)
        if part in found:
            raise InputError(f"{path.name} has both {found[part]} and {name}. Keep one of them.")
        if part is not None:
            found[part] = name
    for part, usual in _PARTS.items():
        if part not in found:
            has = f"It has {_listed(names)}." if names else "It is empty."
            raise InputError(
                f"{path.name} has no {part} nodes. {has} Call them {' or '.join(usual[:3])}"
                f"{'' if part == 'train' else ', and leave the list empty if there are none'}."
            )
    return {part: found[part] for part in _PARTS}


def _part_of(name: str) -> str | None:
    """The part that a name stands for.

    >>> _part_of("train_mask"), _part_of("Valid"), _part_of("edge_index")
    ('train', 'validation', None)
    """
    word = name.lower().strip()
    for ending in _ENDINGS:
        word = word.removesuffix(ending)
    return next((part for part, usual in _PARTS.items() if word in usual), None)


def _columns(path: Path, name: str, array: np.ndarray, graph: Graph) -> Columns:
    """Positions of a part, in a file as positions, names, a mask of n booleans or n × k of them."""
    n = graph.n_nodes
    if (
        array.dtype.kind in "iu"
        and len(array.shape)
        and len(array) == n > 2
        and set(np.unique(array)) <= {0, 1}
    ):
        array = array.astype(bool)  # as positions, so many zeros and ones would repeat
    if array.dtype == bool and array.ndim in (1, 2) and len(array) == n:
        return [positions(column) for column in array.reshape(n, -1).T]
    if array.dtype == bool or array.ndim != 1:
        shape = " × ".join(map(str, array.shape))
        raise InputError(
            f"{path.name}: {name} has the shape {shape or '()'}. Give a list of nodes, or a mask of {n:,} "
            "booleans, or of several columns of them."
        )
    return [_find(path, name, positions(array) if array.dtype.kind in "iu" else array, graph)]


def _find(path: Path, name: str, nodes: np.ndarray, graph: Graph) -> np.ndarray:
    try:
        return graph.find(nodes if len(nodes) else positions([]))
    except InputError as error:
        raise InputError(f"{path.name}, {name}: {error}") from None


def _checked(path: Path, graph: Graph, parts: dict[str, np.ndarray]) -> Split:
    try:
        split = Split(**parts)
    except InputError as error:
        raise InputError(
            f"{path.name}, {str(error).removeprefix('split.').removeprefix('split: ')}"
        ) from None
    for part in _PARTS:
        nodes = getattr(split, part)
        unknown = nodes[graph.labels[nodes] < 0]
        if len(unknown):
            raise InputError(
                f"{path.name}: {len(unknown):,} of {len(nodes):,} {part} nodes have no class, the first is "
                f"{graph.lookup.name(unknown[0])}. Leave them out."
            )
    if not len(split.train):
        raise InputError(f"{path.name} has no training nodes. Give at least one of each class.")
    return split


def _listed(values: Iterable[Any]) -> str:
    """Values with commas between, and "and" before the last."""
    *first, last = (str(value) for value in sorted(values))
    return f"{', '.join(first)} and {last}" if first else last
