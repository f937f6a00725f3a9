"""Splits of a graph's nodes: the value, the fixed ones of the citation graphs, random ones, and files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import InputError, bad_setting
from kernode.graph import Graph, positions
from kernode.io.archive import open_archive
from kernode.io.registry import identify
from kernode.io.tables import is_table
from kernode.io.tables.edges import id_sql
from kernode.io.tables.source import database, open_table
from kernode.io.tables.table import IDS, Reading, choose
from kernode.storage import complete, damaged, missing

PARTS = ("train", "validation", "test")
_PER_CLASS = "-per-class"
# What the parts are called elsewhere: PyG's train_mask, OGB's valid, and the like.
_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
_ENDINGS = ("_mask", "_masks", "_idx", "_index", "_indices", "_nodes", "_ids", "_set")
_COLUMNS = ("part", "split", "set", "subset")  # usual names of a table's column of parts


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training, validation and test nodes: sorted, without repeats, no node in two parts.

    >>> split = Split(train=[4, 0, 2], validation=[1], test=[3])
    >>> split
    Split(3 training, 1 validation, 1 test nodes)
    >>> split.train
    Positions([0, 2, 4])
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def __init__(self, train: Any, validation: Any, test: Any) -> None:
        for part, nodes in zip(PARTS, (train, validation, test), strict=True):
            object.__setattr__(self, part, _checked_nodes(part, nodes))
        for one, other in combinations(PARTS, 2):
            shared = np.intersect1d(getattr(self, one), getattr(self, other), assume_unique=True)
            if len(shared):
                sentence = f"split: node {shared[0]} is in {one} and in {other}. Keep it in one part."
                raise InputError(sentence, "conflict")

    def __repr__(self) -> str:
        train, validation, test = (f"{len(getattr(self, part)):,}" for part in PARTS)
        return f"Split({train} training, {validation} validation, {test} test nodes)"


def _checked_nodes(part: str, nodes: Any) -> np.ndarray:
    nodes = np.asarray(nodes)
    if nodes.size == 0:
        nodes = nodes.astype(np.int64)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise bad_setting(f"split.{part}", "a list of node indices", f"{nodes.dtype} of shape {nodes.shape}")
    nodes = np.sort(nodes).astype(np.int64)
    if len(nodes) and nodes[0] < 0:
        raise bad_setting(f"split.{part}", "a list of node indices from 0", int(nodes[0]))
    repeated = nodes[1:][nodes[1:] == nodes[:-1]]
    if len(repeated):
        raise InputError(f"split.{part}: node {repeated[0]} is listed twice. Keep it once.", "duplicate")
    found = positions(nodes)
    found.setflags(write=False)
    return found


def fixed_split(graph: Graph, how: str) -> Split:
    """A published split of a citation graph.

    - "fastgcn": Planetoid's test nodes, the 500 nodes before them, and all nodes before these.
    - "public": Planetoid's own: the first 20 nodes of each class, the next 500, and the same test nodes.

    >>> from kernode.io import load_graph
    >>> fixed_split(load_graph("cora"), "public")
    Split(140 training, 500 validation, 1,000 test nodes)
    """
    entry = identify(graph)
    if entry is None:
        sentence = (
            f"Only cora, citeseer and pubmed, as kernode loads them, have the split {how}. "
            f"For the graph '{graph.name}' use jk, or sizes such as 0.6/0.2/0.2."
        )
        raise InputError(sentence, "setting", setting="split")
    training = entry.before_test - 500 if how == "fastgcn" else entry.public_training
    bounds = ((0, training), (training, training + 500), (entry.before_test, entry.nodes))
    # Nodes without label are left out: Citeseer's 15, among the test nodes, and any that a user hid.
    known = _is_known(_labels_or_targets(graph))
    return Split(*(first + np.flatnonzero(known[first:last]) for first, last in bounds))


def _labels_or_targets(graph: Graph) -> np.ndarray:
    """What the nodes of a graph are split by: classes, or numbers where none has a class."""
    labels = graph.targets if graph.holds_numbers else graph.labels
    assert labels is not None
    return labels


def _is_known(labels: np.ndarray) -> np.ndarray:
    return np.isfinite(labels) if labels.dtype.kind == "f" else labels >= 0


def random_split(labels: np.ndarray, sizes: tuple[float, float, float], seed: int) -> Split:
    """Deal labelled nodes out at random, by three fractions (any float) or three counts (all integers).

    ``labels``: n classes, −1 where one is not known, or n numbers of floating point, NaN where one is not.

    >>> random_split(np.array([0, 1, 0, 1, -1]), (2, 1, 1), seed=0)
    Split(2 training, 1 validation, 1 test nodes)
    """
    labelled = np.flatnonzero(_is_known(np.asarray(labels)))
    train, validation, test = _counts(sizes, len(labelled))
    order = seeded(seed).permutation(labelled)[: train + validation + test]
    return Split(*np.split(order, [train, train + validation]))


def seeded(seed: int) -> np.random.Generator:
    """Return the random numbers of a split's seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise bad_setting("seed", "an integer ≥ 0", seed)
    # PCG64 by name: default_rng may come to mean another generator, and the splits would change.
    return np.random.Generator(np.random.PCG64(int(seed)))


def per_class(graph: Graph, train: int, validation: int, seed: int) -> Split:
    """So many random nodes of every class to train and to validate; all other labelled nodes are tested.

    20 and 30 is the custom since Shchur et al., "Pitfalls of graph neural network evaluation", 2018.

    >>> from kernode.io import load_graph
    >>> per_class(load_graph("cora"), 20, 30, seed=0)
    Split(140 training, 210 validation, 2,358 test nodes)
    """
    if graph.holds_numbers:
        sentence = "nodes have numbers and no classes. Split by sizes, such as 0.6/0.2/0.2."
        raise InputError(sentence, "unsupported", setting="split")
    random, whole = seeded(seed), random_split(graph.labels, (1.0, 0.0, 0.0), seed)  # for what it refuses
    parts = []
    for label in np.unique(graph.labels[whole.train]):
        nodes = random.permutation(np.flatnonzero(graph.labels == label))
        if len(nodes) <= train + validation:
            sentence = (
                f"The class {graph.class_names[label]!r} has {len(nodes):,} nodes: too few for {train} that "
                f"train, {validation} that validate and one to test. Ask for fewer per class."
            )
            raise InputError(sentence, "too-few", setting="split")
        parts.append(np.split(nodes, [train, train + validation]))
    return Split(*map(np.concatenate, zip(*parts, strict=True)))


def is_per_class(how: str | None) -> bool:
    """Whether a split states nodes per class: "20-per-class", "5/30-per-class"."""
    return how is not None and how.endswith(_PER_CLASS)


def parse_per_class(text: str) -> tuple[int, int]:
    """Read how many nodes of each class train and validate; 30 validate where only one number is given.

    >>> parse_per_class("20-per-class"), parse_per_class("5/10-per-class")
    ((20, 30), (5, 10))
    """
    counts = text.removesuffix(_PER_CLASS).split("/")
    if len(counts) > 2 or not all(count.isascii() and count.isdecimal() for count in counts):
        raise bad_setting("split", "20-per-class (20 train, 30 validate) or 20/10-per-class", text)
    train, validation = [*map(int, counts), 30][:2]
    if train == 0:
        sentence = f"The split {text} leaves no training nodes. Raise its first number."
        raise InputError(sentence, "too-few", setting="split")
    return train, validation


def split_nodes(graph: Graph, how: str | os.PathLike[str] | None, seeds: Iterable[int]) -> list[Split]:
    """Split a graph once per seed: "fastgcn", "public", "jk", by sizes, or as a file says.

    Sizes are fractions of the nodes with a class (or, if none has one, a number), "0.6/0.2/0.2", counts,
    "140/500/1000", or counts per class: "20-per-class" trains on 20 nodes of each and validates on 30,
    "20/10-per-class" on 10, and all others are tested. None stands for fastgcn where the graph has that
    split, and for jk elsewhere. What files may hold: :func:`read_split`. The fixed splits know no seed, so
    every entry is then the same object.

    >>> from kernode.io import load_graph
    >>> split_nodes(load_graph("cora"), "100/50/50", seeds=[0, 1])
    [Split(100 training, 50 validation, 50 test nodes), Split(100 training, 50 validation, 50 test nodes)]
    """
    if how is None:
        how = "fastgcn" if identify(graph) is not None else "jk"
    if is_split_file(how):
        return read_splits(how, graph, seeds)
    how = os.fspath(how)
    if how in ("fastgcn", "public"):
        return [fixed_split(graph, how)] * len(list(seeds))
    if is_per_class(how):
        return [per_class(graph, *parse_per_class(how), seed) for seed in seeds]
    sizes = (0.6, 0.2, 0.2) if how == "jk" else parse_sizes(how)
    return [random_split(_labels_or_targets(graph), sizes, seed) for seed in seeds]


def parse_sizes(text: str) -> tuple[float, float, float]:
    """Read three fractions or counts.

    >>> parse_sizes("0.6/0.2/0.2"), parse_sizes("1208/500/1000")
    ((0.6, 0.2, 0.2), (1208, 500, 1000))
    """
    try:
        sizes = tuple(int(part) if part.strip().isdecimal() else float(part) for part in text.split("/"))
        train, validation, test = sizes
    except ValueError:
        known = (
            "fastgcn, public, jk, three sizes such as 0.6/0.2/0.2 or 140/500/1000, nodes per class such as "
            "20-per-class, or a file (.npz, .json, .csv)"
        )
        raise bad_setting("split", known, text) from None
    return train, validation, test


def _counts(sizes: tuple[float, float, float], labelled: int) -> tuple[int, int, int]:
    """Number of training, validation and test nodes among so many with a label."""
    given = "/".join(str(size) for size in sizes)
    if len(sizes) != 3 or not all(math.isfinite(size) and size >= 0 for size in sizes):
        raise bad_setting("split", "three numbers ≥ 0", given)
    if labelled == 0:
        sentence = "no node has a class. Label some; for tables name the column of the classes."
        raise InputError(sentence, "missing", setting="label")
    if all(isinstance(size, int | np.integer) for size in sizes):
        train, validation, test = (int(size) for size in sizes)
        total = train + validation + test
        if total > labelled:
            sentence = f"The split {given} asks for {total:,} nodes, but {labelled:,} have a label."
            raise InputError(f"{sentence} Ask for fewer.", "too-few", setting="split")
    else:
        if sum(sizes) > 1 + 1e-9:
            raise bad_setting("split", "fractions that sum to at most 1", given)
        # Validation and test are rounded and training takes the rest: this gives the paper's Table 1.
        total = min(round(sum(sizes) * labelled), labelled)
        test = min(round(sizes[2] * labelled), total)
        validation = min(round(sizes[1] * labelled), total - test)
        train = total - validation - test
    if train == 0:
        sentence = f"The split {given} leaves no training nodes among the {labelled:,} labelled ones."
        raise InputError(f"{sentence} Raise its first number, or label more.", "too-few", setting="split")
    return train, validation, test


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
        with open_archive(path) as archive:
            arrays = {part: archive.read(name) for part, name in _part_names(path, archive.names).items()}
    elif path.suffix.lower() == ".json":
        arrays = _read_lists(path, graph)
    elif is_table(path):
        arrays = _read_parts(path, graph)
    else:
        sentence = f"{path} is not a split. Give an .npz or .json file, or a table such as .csv."
        raise InputError(sentence, "wrong-file", path=str(path))
    parts = {part: _columns(path, part, array, graph) for part, array in arrays.items()}
    count = max(map(len, parts.values()))
    if any(len(columns) not in (1, count) for columns in parts.values()):
        raise _wrong(path, "its masks have different numbers of columns. Give all of them as many", "shape")
    if max(seeds, default=0) >= count > 1:
        sentence = (
            f"{path.name} has {count} splits, for seeds 0 to {count - 1}, and none for seed {max(seeds)}. "
            "Train fewer replicas, or start from a smaller seed."
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


def _read_lists(path: Path, graph: Graph) -> dict[str, np.ndarray]:
    """Read the parts of a JSON file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise missing(path) from error
    except IsADirectoryError:
        raise InputError(f"{path} is a folder. Give a file.", "wrong-file", setting="split") from None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, "cannot be read as JSON") from error
    if not isinstance(content, dict):
        raise _wrong(path, "it must hold an object with the lists train, validation and test")
    arrays = {}
    for part, name in _part_names(path, tuple(content)).items():
        nodes = content[name]
        kinds = {type(node) for node in nodes} if isinstance(nodes, list) else {dict}
        if not any(kinds <= {kind} for kind in (str, int, bool)):
            raise _wrong(path, f"{name} must be a list of names, positions or booleans, all of a kind")
        if int in kinds and graph.lookup.has_integer_names:
            what = "its integers may be names or positions. Write names as text, or positions as .npz"
            raise _wrong(path, what, "ambiguous")
        arrays[part] = np.array(nodes or [], None if nodes else np.int64)
    return arrays


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
            what = f"it has no {part} nodes. {has}. Leave the list empty if there are none"
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
    labels, what = _labels_or_targets(graph), "number" if graph.holds_numbers else "class"
    for part in PARTS:
        nodes = getattr(split, part)
        unknown = nodes[~_is_known(labels[nodes])]
        if len(unknown):
            first = f"have no {what}, the first is {graph.lookup.name(unknown[0])}. Leave them out"
            raise _wrong(path, f"{len(unknown):,} of {len(nodes):,} {part} nodes {first}", "missing")
    if not len(split.train):
        raise _wrong(path, "it has no training nodes. Give at least one of each class", "too-few")
    return split
