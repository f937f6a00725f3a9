"""Splits from files: what is read, and one sentence for each thing that can be wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest

from graphs import clustered_graph
from kernode.errors import InputError
from kernode.io import load, read_split, split_nodes
from kernode.io.node_split import read_splits
from refusals import refused

GRAPH = clustered_graph(n=12)
NAMED = replace(GRAPH, node_names=[f"n{i}" for i in range(12)])
NUMBERED = replace(GRAPH, node_names=[str(11 - i) for i in range(12)])  # names are integers, and others'
PARTS = {"train": [0, 1, 2, 3, 4, 5], "validation": [6, 7], "test": [9, 8]}


def mask(nodes):
    return np.isin(np.arange(12), nodes)


def listed(split):
    return {part: getattr(split, part).tolist() for part in PARTS}


RIGHT = {part: sorted(nodes) for part, nodes in PARTS.items()}


@pytest.fixture
def npz(tmp_path):
    """Write arrays, give the path."""

    def write(**arrays):
        path = tmp_path / "split.npz"
        np.savez(path, **arrays)
        return path

    return write


@pytest.fixture
def text(tmp_path):
    """Write a text file, give the path; what is no text becomes JSON."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.mark.parametrize(
    "arrays",
    [
        {"train": PARTS["train"], "valid": PARTS["validation"], "test": PARTS["test"]},
        {"train_idx": PARTS["train"], "val_idx": np.uint8(PARTS["validation"]), "test_idx": PARTS["test"]},
        {f"{part}_mask": mask(nodes) for part, nodes in PARTS.items()},
        {f"{part}_mask": mask(nodes).astype(np.uint8) for part, nodes in PARTS.items()},  # as Geom-GCN has it
        {part: mask(nodes)[:, None] for part, nodes in PARTS.items()},
    ],
)
def test_arrays_of_positions_and_masks_are_read(npz, arrays):
    for graph in (
        GRAPH,
        NAMED,
        NUMBERED,
    ):  # in an .npz file integers are positions, whatever nodes are called
        assert listed(read_split(npz(**arrays), graph)) == RIGHT


def test_arrays_of_names_are_read(npz):
    names = {part: np.array([f"n{i}" for i in nodes]) for part, nodes in PARTS.items()}
    assert listed(read_split(npz(**names), NAMED)) == RIGHT


def test_lists_of_names_positions_and_booleans_are_read(text):
    assert listed(read_split(text("s.json", PARTS), GRAPH)) == RIGHT
    assert listed(read_split(text("s.json", PARTS), NAMED)) == RIGHT
    names = {part: [f"n{i}" for i in nodes] for part, nodes in PARTS.items()}
    assert listed(read_split(text("s.json", names), NAMED)) == RIGHT
    masks = {part: mask(nodes).tolist() for part, nodes in PARTS.items()}
    assert listed(read_split(text("s.json", masks), NUMBERED)) == RIGHT


def test_integers_in_lists_are_refused_where_names_are_integers(text):
    with refused("ambiguous"):
        read_split(text("s.json", PARTS), NUMBERED)
    as_text = {part: [str(11 - i) for i in nodes] for part, nodes in PARTS.items()}
    assert listed(read_split(text("s.json", as_text), NUMBERED)) == RIGHT


def test_tables_name_the_node_and_its_part(text):
    words = {"train": "Train", "validation": "val", "test": "test"}
    rows = [(i, words[part]) for part, nodes in PARTS.items() for i in nodes]
    for graph, name in ((GRAPH, str), (NAMED, lambda i: f"n{i}"), (NUMBERED, lambda i: str(11 - i))):
        lines = [f"{name(i)},{word}" for i, word in rows]
        assert listed(read_split(text("s.csv", "\n".join(["node,part", *lines])), graph)) == RIGHT
        assert (
            listed(read_split(text("s.csv", "\n".join(["who,where", *lines, f"{name(10)},"])), graph))
            == RIGHT
        )


def test_a_file_is_a_split_wherever_one_is_asked_for(npz):
    path = npz(**PARTS)
    first, second = split_nodes(GRAPH, str(path), [5, 6])
    assert first is second
    assert listed(load(GRAPH, split=path)[1]) == listed(first) == RIGHT


def test_masks_of_several_columns_hold_a_split_for_each_seed(npz):
    columns = {
        "train_mask": np.stack([mask([0, 1]), mask([2, 3]), mask([4, 5])], axis=1),
        "val_mask": np.stack([mask([6]), mask([7]), mask([8])], axis=1),
        "test_mask": mask([10, 11]),  # WikiCS has one for all
    }
    path = npz(**columns)
    second, third = read_splits(path, GRAPH, [1, 2])
    assert listed(second) == {"train": [2, 3], "validation": [7], "test": [10, 11]}
    assert listed(third) == {"train": [4, 5], "validation": [8], "test": [10, 11]}
    with pytest.raises(InputError, match=r"3 splits, for seeds 0 to 2, and none for seed 3\. Train fewer"):
        read_splits(path, GRAPH, range(4))
    columns["train_mask"][0, 2] = True
    with refused("shape"):
        read_splits(npz(**columns), GRAPH, range(3))
    columns["val_mask"] = columns["val_mask"][:, :2]
    with refused("shape"):
        read_split(npz(**columns), GRAPH)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"validation": None}, "missing"),
        ({"valid": [3]}, "duplicate"),
        ({"test": np.ones(5, bool)}, "shape"),
        ({"test": np.ones((2, 2), int)}, "shape"),
        ({"test": np.array(3)}, "shape"),
    ],
)
def test_a_file_that_is_not_a_split_is_refused(npz, changes, code):
    arrays = {name: array for name, array in (PARTS | changes).items() if array is not None}
    with refused(code):
        read_split(npz(**arrays), GRAPH)


def test_nodes_without_a_class_are_refused_in_every_part(npz):
    for part, nodes in PARTS.items():
        labels = GRAPH.labels.copy()
        labels[nodes[:1]] = -1
        graph = replace(NAMED, labels=labels)
        with pytest.raises(
            InputError, match=f"1 of {len(nodes)} {part} nodes have no class, the first is 'n{nodes[0]}'"
        ):
            read_split(npz(**PARTS), graph)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("n0,train\nn1,tset", "unknown"),
        ("n0,train\nn0,test", "conflict"),
        ("n0,train\n,test", "missing"),
        ("n0,train\nn1,val", "missing"),
        ("n0,test\nn1,val", "too-few"),
    ],
)
def test_a_table_that_is_not_a_split_is_refused(text, rows, code):
    with refused(code):
        read_split(text("s.csv", f"node,part\n{rows}\n"), NAMED)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("s.csv", "node,part\nann,train\n1,test\n", "unknown"),
        ("s.csv", "a,b,c\n1,2,train\n", "missing"),
        ("notes.pt", "", "wrong-file"),
    ],
)
def test_other_files_are_refused(text, name, content, code):
    with refused(code):
        read_split(text(name, content), GRAPH)
