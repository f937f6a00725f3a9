"""Splits from files: what is read, and one sentence for each thing that can be wrong."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from graphs import clustered_graph
from kernode.errors import FileError, InputError
from kernode.io import load, read_split, split_nodes
from kernode.io.split_file import read_splits

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


def test_integers_in_lists_are_names_or_positions_where_only_one_can_be(text):
    far = replace(GRAPH, node_names=[str(100 + i) for i in range(12)])
    assert listed(read_split(text("s.json", PARTS), far)) == RIGHT
    names = {part: [100 + i for i in nodes] for part, nodes in PARTS.items()}
    assert listed(read_split(text("s.json", names), far)) == RIGHT
    with pytest.raises(InputError, match=r"s.json: its integers are names of nodes, and could be positions"):
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


def test_a_table_may_do_without_validation(text):
    split = read_split(text("s.csv", "node,part\nn0,train\nn1,train\nn2,test\n"), NAMED)
    assert listed(split) == {"train": [0, 1], "validation": [], "test": [2]}


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
    with pytest.raises(InputError, match=r"the train parts of its splits have 2 and 3 nodes.*one at a time"):
        read_splits(npz(**columns), GRAPH, range(3))
    columns["val_mask"] = columns["val_mask"][:, :2]
    with pytest.raises(InputError, match="its masks have 2 and 3 columns"):
        read_split(npz(**columns), GRAPH)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"test": None}, r"split.npz has no test nodes. It has train and validation. Call them test"),
        ({"validation": None}, r"no validation nodes.*validation or valid or val, and leave the list empty"),
        ({"train": None}, r"has no train nodes. It has test and validation. Call them train or training."),
        ({"valid": [3]}, "has both validation and valid"),
        ({"train": np.int64([])}, "has no training nodes. Give at least one of each class"),
        ({"test": [5, 9]}, "split.npz, node 5 is in train and in test. Keep it in one part"),
        ({"test": [9, 9]}, "split.npz, test: node 9 is listed twice"),
        ({"test": [12]}, "split.npz, test: node 12 is not in the graph. Nodes run from 0 to 11"),
        ({"test": [-1]}, "node -1 is not in the graph"),
        ({"test": [0.5]}, "split.npz, test: nodes must be integer indices. Got float64"),
        ({"test": ["n3"]}, "split.npz, test: the nodes of 'graph' have no names"),
        ({"test": np.ones(5, bool)}, "test has the shape 5. Give a list of nodes, or a mask of 12 booleans"),
        ({"test": np.ones((2, 2), int)}, "test has the shape 2 × 2"),
        ({"test": np.array(3)}, "test has the shape"),
    ],
)
def test_a_file_that_is_no_split_gets_one_sentence(npz, changes, sentence):
    arrays = {name: array for name, array in (PARTS | changes).items() if array is not None}
    with pytest.raises(InputError, match=sentence):
        read_split(npz(**arrays), replace(GRAPH, name="graph"))


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
    ("rows", "sentence"),
    [
        ("n0,train\nn1,tset", "s.csv, row 3: 'tset' is no part of a split. Write train, validation or test"),
        ("n0,train\nn0,test", "s.csv: node 'n0' is in two rows"),
        ("n0,train\nn99,test", "s.csv, test: no node of 'clusters' is called 'n99'"),
        ("n0,train\n,test", "s.csv, row 3: there is no node in 'node'"),
        ("n0,train\nn1,val", "s.csv: no row says test"),
        ("n0,test\nn1,val", "s.csv has no training nodes"),
    ],
)
def test_a_table_that_is_no_split_gets_one_sentence(text, rows, sentence):
    with pytest.raises(InputError, match=sentence):
        read_split(text("s.csv", f"node,part\n{rows}\n"), replace(NAMED, name="clusters"))


def test_other_files_get_one_sentence(text, tmp_path):
    with pytest.raises(InputError, match="'ann' is no position, and the graph's nodes have no names"):
        read_split(text("s.csv", "node,part\nann,train\n1,test\n"), GRAPH)
    with pytest.raises(InputError, match="call the column of the nodes 'node' and that of the parts 'part'"):
        read_split(text("s.csv", "a,b,c\n1,2,train\n"), GRAPH)
    with pytest.raises(FileError, match="is not JSON"):
        read_split(text("s.json", "{"), GRAPH)
    with pytest.raises(InputError, match="must hold an object"):
        read_split(text("s.json", [1, 2]), GRAPH)
    with pytest.raises(
        InputError, match="train must be a list of names, positions or booleans, all of a kind"
    ):
        read_split(text("s.json", PARTS | {"train": [1, "a"]}), GRAPH)
    with pytest.raises(InputError, match=r"notes.pt is no file of a split"):
        read_split(text("notes.pt", ""), GRAPH)
    with pytest.raises(FileError, match=re.escape("not an NPZ file")):
        read_split(text("s.npz", "train"), GRAPH)
    for name in ("none.npz", "none.json", "none.csv"):
        with pytest.raises(FileError, match="does not exist"):
            read_split(tmp_path / name, GRAPH)
