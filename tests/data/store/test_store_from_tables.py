"""A store of Parquet tables, made without holding their graph, equals the one made of that graph."""

from __future__ import annotations

import datetime as dt
import filecmp
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from kernode.errors import FileError, InputError, KernodeWarning
from kernode.io import read_table, write_store
from kernode.io.store import NotBoundedError, Roles, from_tables, shard_tables, table_edges

EDGES = {
    "source": ["b", "a", " b", "zed", "a", None, "c", "d ", "d", "new", "x", "a"],
    "target": ["a", "b", "zed", "eve", "a", "a", "b", "c", "c", "a", "b", "  "],
    "weight": [1.0, 2.5, 1.0, float("nan"), 4.0, 1.0, 3.0, 0.5, 0.25, 1.0, -1.0, 1.0],
    "when": [2000 + year for year in range(12)],
}
NODES = {
    "id": ["a", "b", None, "c", "a", "d", "lone"],
    "age": [31, 44, 5, None, 9, 12, 70],
    "height": [1.5, float("nan"), 1.0, 1.75, 2.0, float("inf"), 1.25],
    "member": [True, False, True, None, True, False, True],
    "since": [dt.date(2020, 1, day) for day in range(1, 8)],
    "same": [7] * 7,
    "topic": ["tea", "tea", "x", "coffee", None, None, "unknown"],
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a dozen rows are many batches, buckets and blocks."""
    monkeypatch.setattr(table_edges, "_ROWS", 3)
    monkeypatch.setattr(table_edges, "_PAIRS", 4)
    monkeypatch.setattr(table_edges, "_BUCKET", 4)
    monkeypatch.setattr(from_tables, "_CELLS", 16)


def written(folder: Path, edges: Any, people: Any, row_group: int = 2) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    paths = folder / "ties.parquet", folder / "people.parquet"
    for table, path in zip((edges, people), paths, strict=True):
        parquet.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, row_group)
    return paths


def assert_same_store(folder: Path, tables: tuple[Path, Path], parts: int, **options: Any) -> None:
    """Both ways, byte by byte."""
    graph = read_table(*tables, **options)
    whole = write_store(graph, folder / "whole", parts)
    bounded = shard_tables(Roles.of(*tables, **options), folder / "bounded", parts)
    assert json.loads((bounded.folder / "store.json").read_text()) == json.loads(
        (whole.folder / "store.json").read_text()
    )
    names = sorted(path.name for path in whole.folder.iterdir())
    assert sorted(path.name for path in bounded.folder.iterdir()) == names
    assert filecmp.cmpfiles(whole.folder, bounded.folder, names, shallow=False)[0] == names
    assert bounded.whole().notes == graph.notes


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_messy_tables_give_the_same_store_either_way(tmp_path: Path, parts: int) -> None:
    tables = written(tmp_path, EDGES, NODES)
    assert_same_store(tmp_path, tables, parts, label="topic")


def test_columns_that_are_named_give_the_same_store(tmp_path: Path) -> None:
    tables = written(
        tmp_path,
        {"one": [1, 2, 2, 9], "two": [2, 3, 1, 1], "times": [1, 1, 1, 1]},
        {"who": [3, 1, 2], "size": [1.0, 2.0, 4.0], "flag": [0, 1, 1], "other": ["x", "y", "z"]},
    )
    columns = {"id": "who", "source": "one", "target": "two", "weight": "times"}
    assert_same_store(tmp_path, tables, 2, **columns, features={"size": None, "flag": "flag"})


def test_ids_that_are_whole_numbers_in_text_are_the_same_nodes(tmp_path: Path) -> None:
    tables = written(
        tmp_path,
        {"source": ["1", "2.0", "5.0", "4"], "target": ["2", "3", "1", "1"]},
        {"id": [1.0, 2.0, 3.0, None], "size": [1, 2, 4, 8]},
    )
    assert_same_store(tmp_path, tables, 2)


@pytest.mark.filterwarnings("ignore:.*differ")
def test_integers_are_the_nodes_that_their_text_names(tmp_path: Path) -> None:
    long, most = 1_700_000_000_000_000_001, 2**63 - 1
    tables = written(
        tmp_path,
        {"source": [long, long + 1, -most - 1, 7, 0, None, -3], "target": [most, 0, 5, -3, 7, 7, 10**18]},
        {"id": [str(long), "007", str(most), "0", "-3", "-0", "+5", f"{10**18}"], "size": list(range(8))},
    )
    assert_same_store(tmp_path, tables, 2)
    assert read_table(*tables).n_nodes == 8 + 4


def test_features_that_are_mostly_zero_stay_sparse(tmp_path: Path) -> None:
    flags = {f"flag {at}": [at == row for row in range(9)] for at in range(9)}
    tables = written(tmp_path, {"source": [0, 1, 20], "target": [1, 2, 0]}, {"id": list(range(9)), **flags})
    assert_same_store(tmp_path, tables, 3)
    assert read_table(*tables).features.nnz == 19


def test_missing_values_of_nodes_that_are_not_listed_count_as_entries(tmp_path: Path) -> None:
    flags = {f"flag {at}": [None if row == at else False for row in range(20)] for at in range(5)}
    ends = {"source": [0] * 20, "target": list(range(100, 120))}
    tables = written(tmp_path, ends, {"id": list(range(20)), **flags})
    assert_same_store(tmp_path, tables, 3)
    assert isinstance(read_table(*tables).features, np.ndarray)


@pytest.mark.filterwarnings("ignore:the graph has no edge")
def test_tables_without_an_edge_give_the_same_store(tmp_path: Path) -> None:
    tables = written(tmp_path, {"source": ["a"], "target": ["a"]}, {"id": ["a", "b"], "size": [1, 2]})
    assert_same_store(tmp_path, tables, 2)


@pytest.mark.filterwarnings("ignore:the graph has no edge")
def test_a_table_of_no_edges_gives_the_same_store(tmp_path: Path) -> None:
    edges = pa.schema({"source": pa.int64(), "target": pa.int64(), "weight": pa.float32()}).empty_table()
    assert_same_store(tmp_path, written(tmp_path, edges, {"id": ["a", "b"], "size": [1, 2]}), 2)


_ids = st.sampled_from(["a", "b", "c", " a", "d", "e", "", None, "1", "1.0"])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(_ids, _ids, st.sampled_from([None, 0.0, 0.5, 1.0, 2.0])), min_size=1, max_size=12),
    st.permutations(["a", "b", "c", "1"]),
    st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore")
def test_any_edges_give_the_same_store(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], listed: list[str], parts: int
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    ends = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
    schema = pa.schema({"source": pa.string(), "target": pa.string(), "weight": pa.float64()})
    edges = pa.table({**ends, "weight": [row[2] for row in rows]}, schema=schema)
    tables = written(folder, edges, {"id": listed, "size": [1, 2, 3, 4]})
    if (refused := refusal(lambda: read_table(*tables))) is None:
        assert_same_store(folder, tables, parts)
        return
    assert refusal(lambda: shard_tables(Roles.of(*tables), folder / "bounded", parts)) == refused
    assert not (folder / "bounded").exists()


def refusal(call: Callable[[], object]) -> str | None:
    try:
        call()
    except InputError as error:
        return str(error)
    return None


def test_near_misses_are_warned_of_either_way(tmp_path: Path) -> None:
    edges = {"source": ["A", "b"], "target": ["b", "a"]}
    tables = written(tmp_path, edges, {"id": ["a", "b"], "size": [1, 2]})
    with pytest.warns(KernodeWarning, match="differs from listed ones only in how they are written"):
        shard_tables(Roles.of(*tables), tmp_path / "store", 2)


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("words", ["one word", "two words"], r"'words' \(string\) is learned from all of its values at once"),
        ("vector", [[1.0, 2.0], [3.0, 4.0]], r"'vector' \(list<element: double>\) is learned from all"),
    ],
)
def test_columns_that_need_all_nodes_are_refused_by_name(
    tmp_path: Path, column: str, values: list[Any], sentence: str
) -> None:
    tables = written(tmp_path, {"source": [1], "target": [2]}, {"id": [1, 2], "size": [1, 2], column: values})
    with pytest.raises(NotBoundedError, match=sentence):
        Roles.of(*tables)
    assert Roles.of(*tables, features=["size"]).features == {"size": None}


@pytest.mark.parametrize(
    ("edges", "people", "options", "sentence"),
    [
        ({"x": [1], "y": [2]}, {"id": [1], "z": [1]}, {}, "Name them"),
        ({"source": [1], "target": [2]}, {"who": [1], "z": [1]}, {}, "Name one of who, z"),
        ({"source": [1], "target": [2]}, {"z": [1], "name": [1]}, {}, "Name one of z, name"),
        ({"source": [1.5], "target": [2]}, {"id": [1], "z": [1]}, {}, "'source' holds double"),
        ({"source": [1], "target": [2], "w": ["1,5"]}, {"id": [1], "z": [1]}, {}, "'w' holds string"),
        ({"source": [1], "target": [2]}, {"id": [1]}, {}, "no columns for features"),
        ({"source": [1], "target": [2]}, {"id": [1], "z": [1]}, {"positions": 8}, "positions needs all"),
        ({"source": [1], "target": [2]}, {"id": [1], "z": [1]}, {"features": {"z": "category"}}, "category"),
    ],
)
def test_what_depends_on_all_rows_is_refused(
    tmp_path: Path, edges: Any, people: Any, options: Any, sentence: str
) -> None:
    tables = written(tmp_path, edges, people)
    with pytest.raises(NotBoundedError, match=sentence):
        Roles.of(*tables, **options)


def test_a_table_that_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    tables = written(tmp_path, EDGES, NODES)
    with pytest.raises(NotBoundedError, match="two Parquet files are needed"):
        Roles.of(tables[0])
    tables[0].write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(FileError, match=r"ties.parquet cannot be read as a table"):
        Roles.of(*tables)
