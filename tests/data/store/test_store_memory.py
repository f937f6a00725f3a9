"""Edges that would not fit are sharded in the memory there is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kernode.io import Store

N, EDGES, FEATURES = 1_000_000, 10_000_000, 8
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (10**9, 10**9))
from kernode.__main__ import main
sys.argv = ["kernode", *sys.argv[1:]]
main()
"""


def _write_tables(folder: Path) -> tuple[Path, Path]:
    """In row groups, so that nobody here holds them either."""
    random = np.random.default_rng(0)
    edges, nodes = folder / "edges.parquet", folder / "nodes.parquet"
    with parquet.ParquetWriter(edges, pa.schema({"source": pa.int64(), "target": pa.int64()})) as file:
        for _ in range(40):
            ends = random.integers(0, N, (2, EDGES // 40))
            file.write_table(pa.table({"source": ends[0], "target": ends[1]}))
    columns = {f"x{at}": pa.float32() for at in range(FEATURES)}
    schema = pa.schema({"id": pa.int64(), **columns, "topic": pa.string()})
    with parquet.ParquetWriter(nodes, schema) as file:
        for start in range(0, N, N // 10):
            ids = np.arange(start, start + N // 10)
            x = {name: random.normal(size=len(ids)).astype(np.float32) for name in columns}
            topics = pa.array([f"topic {at % 5}" for at in ids])
            file.write_table(pa.table({"id": ids, **x, "topic": topics}, schema=schema))
    return edges, nodes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts all of the memory only on Linux")
def test_twenty_million_entries_are_sharded_in_a_gigabyte(tmp_path: Path) -> None:
    edges, nodes = _write_tables(tmp_path)
    command = [sys.executable, "-c", LIMITED, "data", "shard", str(edges), "--nodes", str(nodes)]
    command += ["--label", "topic", "--parts", "16", "-o", str(tmp_path / "store"), "--bounded", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["bounded"] is True
    assert report["nodes"] == N
    store = Store.open(tmp_path / "store")
    assert 0.999 * 2 * EDGES < store.entries < 2 * EDGES
    costs = [part.entries + 16 * (part.stop - part.start) for part in store.parts]
    assert max(costs) < 1.01 * min(costs)
    part = store.part(7)
    assert part.features.shape == (part.stop - part.start, 1 + FEATURES)
    assert part.names is not None
    assert part.names[0] == str(part.start)
    assert (part.labels == np.arange(part.start, part.stop) % 5).all()
