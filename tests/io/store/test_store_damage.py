"""A store that is not as it was written is refused, by the name of what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import Store, write_store
from kernode.io.store.header import FILE
from refusals import refused

PARTS = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    graph = Graph.from_edges(
        random.integers(0, 60, (200, 2)),
        random.normal(size=(60, 3)).astype(np.float32),
        random.integers(0, 3, 60),
        weights=random.random(200) + 0.5,
        node_names=[f"node {at}" for at in range(60)],
    )
    write_store(graph, tmp_path / "store", PARTS)
    return tmp_path / "store"


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change ``store.json`` with a checksum that fits."""
    values = json.loads((folder / FILE).read_text())
    values.pop("checksum")
    change(values)
    values["checksum"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    (folder / FILE).write_text(json.dumps(values))


def rewrite(folder: Path, number: int, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """Change the tensors of a part, with a checksum that fits."""
    path = folder / f"part-{number:05}.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    content = path.read_bytes()
    known = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    edit(folder, lambda values: values["parts"][number].update(known))


@pytest.mark.parametrize("number", range(PARTS))
@pytest.mark.parametrize("where", [0, 40, -1, "middle"])
def test_a_flipped_byte_is_refused_by_the_name_of_its_part(folder: Path, number: int, where: Any) -> None:
    path = folder / f"part-{number:05}.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if where == "middle" else where] ^= 1
    path.write_bytes(content)
    store = Store.open(folder)
    for read in (lambda: store.part(number), store.labels, store.names, store.whole):
        with refused("damaged-file", path=str(path)):
            read()
    others = [other for other in range(PARTS) if other != number]
    assert all(store.part(other).stop for other in others)


def test_a_part_that_changes_after_it_was_read_is_refused(folder: Path) -> None:
    store = Store.open(folder)
    store.part(0)
    content = bytearray((folder / "part-00000.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "part-00000.safetensors").write_bytes(content)
    with refused("damaged-file", path=str(folder / "part-00000.safetensors")):
        store.part(0)


def test_a_truncated_part_is_refused_before_anything_is_read(folder: Path) -> None:
    path = folder / "part-00002.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with refused("damaged-file", path=str(path)):
        Store.open(folder)


def test_a_missing_part_is_refused(folder: Path) -> None:
    (folder / "part-00001.safetensors").unlink()
    with refused("damaged-file", path=str(folder / "part-00001.safetensors")):
        Store.open(folder)


def test_two_parts_that_changed_places_are_refused(folder: Path) -> None:
    one, other = folder / "part-00000.safetensors", folder / "part-00001.safetensors"
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)
    with refused("damaged-file"):
        Store.open(folder).whole()


def test_a_flipped_bit_anywhere_in_the_header_is_refused(folder: Path) -> None:
    content = (folder / FILE).read_bytes()
    for at in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[at] ^= 2
        (folder / FILE).write_bytes(damaged)
        if damaged.split() == content.split():
            continue  # blanks between values
        with pytest.raises((FileError, InputError), match=re.escape(str(folder / FILE))):
            Store.open(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["parts"][1].update(start=3),
        lambda values: values["parts"][1].update(stop=values["parts"][1]["start"]),
        lambda values: values["parts"].pop(),
        lambda values: values["parts"].reverse(),
        lambda values: values["parts"][0].update(feature_entries=5),
        lambda values: values["parts"][0].update(file="../part-00000.safetensors"),
        lambda values: values["parts"][0].update(file="/etc/passwd"),
        lambda values: values["parts"][0].update(extra=1),
        lambda values: values.update(nodes=61),
        lambda values: values.update(entries=10**30),
        lambda values: values.update(dtype="object"),
        lambda values: values.pop("named"),
        lambda values: values.update(format=2),
    ],
)
def test_a_header_that_cannot_be_right_is_refused(folder: Path, change: Any) -> None:
    edit(folder, change)
    with pytest.raises((FileError, InputError), match=r"store\.json"):
        Store.open(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_header_that_is_not_an_object_is_refused(folder: Path, content: bytes) -> None:
    (folder / FILE).write_bytes(content)
    with refused("damaged-file", path=str(folder / FILE)):
        Store.open(folder)


@pytest.mark.parametrize("features", [1, 2**60])
def test_sizes_are_compared_before_anything_is_allocated(folder: Path, features: int) -> None:
    edit(folder, lambda values: values.update(features=features))
    with refused("damaged-file"):
        Store.open(folder).part(0)


def _put(name: str, at: Any, value: Any) -> Callable[[dict[str, np.ndarray]], None]:
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[name][at] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _put("adjacency.indptr", 1, 10**9),
        _put("adjacency.indices", 0, 60),
        _put("adjacency.indices", 0, -1),
        _put("adjacency.indices", slice(None, None), 1),
        _put("adjacency.data", 0, 0),
        _put("adjacency.data", 0, np.nan),
        _put("features", 0, np.inf),
        _put("labels", 0, 3),
        _put("labels", 0, -2),
        _put("names.bytes", 0, 255),
        lambda tensors: tensors.pop("labels"),
        lambda tensors: tensors.update(labels=np.zeros(3, np.int64)),
    ],
)
def test_values_that_no_graph_has_are_refused(folder: Path, change: Any) -> None:
    rewrite(folder, 1, change)
    with pytest.raises(FileError, match=r"part-00001\.safetensors"):
        Store.open(folder).part(1)


def test_parts_of_a_matrix_that_is_not_symmetric_are_refused(folder: Path) -> None:
    rewrite(folder, 0, _put("adjacency.data", 0, 77.0))
    with refused("damaged-file", path=str(folder)):
        Store.open(folder).whole()


def test_parts_of_another_graph_are_noticed(folder: Path) -> None:
    rewrite(folder, 0, _put("features", 0, 77.0))
    with refused("damaged-file", path=str(folder)):
        Store.open(folder).whole()
