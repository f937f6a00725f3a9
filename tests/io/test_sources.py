"""Files, databases and frames as people have them: one graph, whatever holds its tables."""

import csv
import gzip
import json
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import kernode as kn
from kernode.errors import MissingExtraError
from kernode.io.tables.kinds import Tokens, Vector
from refusals import refused

N = 60
EDGES = {
    "source": [f"p{i}" for i in range(N)] * 2,
    "target": [f"p{(i + step) % N}" for step in (1, 7) for i in range(N)],
    "weight": [1 + i % 3 for i in range(2 * N)],
}
NODES = {
    "id": [f"p{i}" for i in range(N)],
    "year": [1990 + i % 20 for i in range(N)],
    "price": [round(0.75 * i, 2) if i % 9 else None for i in range(N)],
    "venue": [("ICML", "NeurIPS", "KDD")[i % 3] for i in range(N)],
    "title": [f"kernels on graphs {'of molecules' if i % 2 else 'by hops'} in part {i}" for i in range(N)],
    "label": ["theory" if i % 2 else "systems" for i in range(N)],
}
TOKENS = {f"p{i}": [str(j) for j in range(i % 5, i % 5 + 1 + i % 4)] for i in range(N)}


def rows_of(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def as_csv(path, table):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def as_csv_gz(path, table):
    as_csv(path.with_suffix(""), table)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def as_csv_zst(path, table):
    with duckdb.connect() as con:
        con.register("held", pd.DataFrame(table))
        con.execute("COPY (SELECT * FROM held) TO $1 (FORMAT csv, COMPRESSION zstd)", [str(path)])


def as_json(path, table):
    path.write_text(json.dumps(rows_of(table)), encoding="utf-8")


def as_json_lines(path, table):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(table)), encoding="utf-8")


def as_json_columns(path, table):
    """Only a table with a column of ids is told from lists by id."""
    path.write_text(
        json.dumps({"id": list(range(len(table["label" if "label" in table else "source"])))} | table)
    )


def as_excel(path, table):
    book = openpyxl.Workbook()
    for row in (tuple(table), *zip(*table.values(), strict=True)):
        book.active.append(row)
    book.save(path)


def as_parquet(path, table):
    parquet.write_table(pa.table(table), path)


FILES = {
    "csv": as_csv, "csv.gz": as_csv_gz, "csv.zst": as_csv_zst, "json": as_json, "jsonl": as_json_lines,
    "ndjson": as_json_lines, "columns.json": as_json_columns, "xlsx": as_excel, "parquet": as_parquet,
    "pq": as_parquet,
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The graph as two CSV files say it."""
    folder = tmp_path_factory.mktemp("plain")
    as_csv(folder / "edges.csv", EDGES)
    as_csv(folder / "nodes.csv", NODES)
    return kn.read_table(folder / "edges.csv", folder / "nodes.csv")


def same(graph, plain):
    assert graph.node_names.tolist() == plain.node_names.tolist()
    assert graph.encoding.feature_names == plain.encoding.feature_names
    assert graph.class_names == plain.class_names
    assert np.array_equal(graph.labels, plain.labels)
    assert graph.fingerprint == plain.fingerprint


@pytest.mark.parametrize("ending", FILES)
def test_a_graph_is_the_same_in_every_kind_of_file(tmp_path, plain, ending):
    for name, table in (("edges", EDGES), ("nodes", NODES)):
        FILES[ending](tmp_path / f"{name}.{ending}", table)
    same(kn.read_table(tmp_path / f"edges.{ending}", tmp_path / f"nodes.{ending}"), plain)


def test_a_graph_is_the_same_in_every_kind_of_frame(plain):
    with duckdb.connect() as con:
        con.register("edges", pd.DataFrame(EDGES))
        con.register("nodes", pd.DataFrame(NODES))
        relations = con.sql("SELECT * FROM edges"), con.sql("SELECT * FROM nodes")
        for frames in (
            (EDGES, NODES),
            (pd.DataFrame(EDGES), pd.DataFrame(NODES)),
            (pl.DataFrame(EDGES), pl.DataFrame(NODES)),
            (pl.LazyFrame(EDGES), pl.LazyFrame(NODES).filter(pl.col("id").is_not_null())),
            (pa.table(EDGES), pa.table(NODES)),
            relations,
        ):
            same(kn.read_table(*frames), plain)


def fill_duckdb(path):
    with duckdb.connect(str(path)) as con:
        for name, table in (("knows", EDGES), ("people", NODES)):
            con.register("held", pd.DataFrame(table))
            con.execute(f"CREATE TABLE {name} AS SELECT * FROM held")


def fill_sqlite(path):
    con = sqlite3.connect(path)
    for name, table in (("knows", EDGES), ("people", NODES)):
        con.execute(f"CREATE TABLE {name} ({', '.join(table)})")
        con.executemany(
            f"INSERT INTO {name} VALUES ({', '.join('?' * len(table))})", zip(*table.values(), strict=True)
        )
    con.commit()
    con.close()


@pytest.mark.parametrize(
    ("kind", "fill"), [("duckdb", fill_duckdb), ("sqlite", fill_sqlite), ("duckdb", fill_sqlite)]
)
def test_a_database_is_read_by_table_by_query_and_in_one_address(tmp_path, plain, kind, fill):
    path = tmp_path / "shop.db"
    fill(path)
    file = f"{kind}:{path}"
    same(kn.read_table(f"{file}?knows", f"{file}?people"), plain)
    same(kn.read_table(f"{file}?edges=knows&nodes=people"), plain)
    some = "edges=SELECT source, target FROM knows WHERE weight > 1&nodes=SELECT * FROM people WHERE year > 0"
    graph = kn.read_table(f"{file}?{some}")
    assert graph.name == "shop"
    assert graph.n_edges == sum(weight > 1 for weight in EDGES["weight"])
    assert graph.node_names.tolist() == plain.node_names.tolist()
    before = path.read_bytes()
    with refused("setting", setting="edges"):
        kn.read_table(f"{file}?nobody", f"{file}?people")
    with refused("setting", setting="edges"):
        kn.read_table(f"{file}?DROP TABLE knows")
    with refused("missing", setting="edges"):
        kn.read_table(file)
    assert path.read_bytes() == before


def musae(folder):
    """The three files of a graph as MUSAE publishes it."""
    pairs = [(a[1:], b[1:]) for a, b in zip(EDGES["source"], EDGES["target"], strict=True)]
    as_csv(folder / "edges.csv", {"id_1": [a for a, _ in pairs], "id_2": [b for _, b in pairs]})
    lists = {name[1:]: [int(one) for one in tokens] for name, tokens in TOKENS.items()}
    (folder / "features.json").write_text(json.dumps(lists))
    ids = list(range(N))
    target = {"id": ids, "page_name": [f"page {i}" for i in ids], "target": [i % 2 for i in ids]}
    as_csv(folder / "target.csv", target)
    return folder / "edges.csv", folder / "features.json", folder / "target.csv"


def test_musae_as_it_is_published(tmp_path):
    edges, features, target = musae(tmp_path)
    for tables in ([features, target], [target, features]):
        graph = kn.read_table(edges, tables, label="target", features=["tokens"])
        assert graph.n_nodes == N
        assert graph.n_edges == 2 * N
        (column,) = graph.encoding.columns
        assert isinstance(column, Tokens)
        assert column.words == tuple(sorted({one for tokens in TOKENS.values() for one in tokens}))
        assert graph.labels[graph.find(["4", "7"])].tolist() == [0, 1]
        row = graph.features[graph.find(["9"])]
        row = row.toarray() if hasattr(row, "toarray") else row
        assert np.count_nonzero(row) == 1 + len(TOKENS["p9"])


def test_ragged_lists_are_tokens_in_any_frame_and_file(tmp_path):
    table = {"id": list(TOKENS), "words": list(TOKENS.values())}
    as_json(tmp_path / "nodes.json", table)
    as_json_lines(tmp_path / "nodes.jsonl", table)
    as_parquet(tmp_path / "nodes.parquet", table)
    (tmp_path / "tokens.json").write_text(json.dumps(TOKENS))
    first = kn.read_table(EDGES, table)
    assert isinstance(first.encoding.columns[0], Tokens)
    assert "words: tokens, TF-IDF of 8 words" in first.notes
    for nodes in (
        pd.DataFrame(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table),
        *(tmp_path / f"nodes.{ending}" for ending in ("json", "jsonl", "parquet")),
    ):  # fmt: skip
        assert kn.read_table(EDGES, nodes).fingerprint == first.fingerprint
    assert kn.read_table(EDGES, tmp_path / "tokens.json").fingerprint == first.fingerprint


def test_lists_of_one_length_are_vectors_unless_they_are_text_or_said_to_be_tokens():
    lists = [[i, i % 7] for i in range(N)]
    nodes = {"id": NODES["id"], "x": lists}
    assert isinstance(kn.read_table(EDGES, nodes).encoding.columns[0], Vector)
    assert isinstance(kn.read_table(EDGES, nodes, features={"x": "tokens"}).encoding.columns[0], Tokens)
    words = {"id": NODES["id"], "x": [[str(one) for one in each] for each in lists]}
    assert isinstance(kn.read_table(EDGES, words).encoding.columns[0], Tokens)


def test_several_tables_of_nodes_are_joined_by_id(plain):
    halves = [{"id": NODES["id"]} | {name: NODES[name] for name in names}
              for names in (("year", "price"), ("venue", "title", "label"))]  # fmt: skip
    same(kn.read_table(EDGES, halves), plain)
    order = list(reversed(range(N)))
    shuffled = {name: [values[at] for at in order] for name, values in halves[1].items()}
    same(kn.read_table(EDGES, [halves[0], shuffled]), plain)
    fewer = {name: values[: N // 2] for name, values in halves[1].items()}
    graph = kn.read_table(EDGES, [halves[0], fewer])
    assert (graph.labels >= 0).sum() == N // 2
    with refused("duplicate", column="year"):
        kn.read_table(EDGES, [halves[0], halves[0]])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_zst_is_read_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "edges.csv.zst"
    with pa.output_stream(path, compression="zstd") as file:
        file.write("source,target\nJürgen,Zoë\n".encode(encoding))
    assert kn.read_table(path).node_names.tolist() == ["Jürgen", "Zoë"]


def test_what_needs_an_extra_says_which(tmp_path, monkeypatch):
    as_excel(tmp_path / "edges.xlsx", EDGES)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"Install kernode\[excel\]"):
        kn.read_table(tmp_path / "edges.xlsx")


def test_no_table_needs_pyarrow(tmp_path):
    for ending in ("csv.zst", "jsonl", "xlsx", "parquet"):
        FILES[ending](tmp_path / f"edges.{ending}", EDGES)
    code = "import sys; sys.modules['pyarrow'] = None; import kernode as kn, polars as pl, pathlib\n"
    code += "for path in sorted(pathlib.Path('.').iterdir()): print(kn.read_table(path).n_edges)\n"
    code += "print(kn.read_table(pl.DataFrame({'source': ['a'], 'target': ['b']})).n_edges)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.split() == ["120"] * 4 + ["1"], done.stderr
