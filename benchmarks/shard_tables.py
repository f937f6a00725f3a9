"""Sharding a table of edges: seconds and peak memory of `kernode data convert`, as a process of its own.

    python benchmarks/shard_tables.py [--edges 10000000]

The table is a Parquet file of random integers, source and target, over a tenth as many nodes as edges. The
memory is the most that the process held (its peak RSS), with the pages of files that it mapped.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb


def write_edges(path: Path, edges: int) -> None:
    """Write random edges, a few at a time."""
    nodes = max(2, edges // 10)
    ends = ", ".join(f"(hash(range * 2 + {at}) % {nodes})::BIGINT AS {name}"
                     for at, name in enumerate(("source", "target")))  # fmt: skip
    with duckdb.connect(config={"memory_limit": "512MB"}) as con:
        con.execute(f"COPY (SELECT {ends} FROM range({edges})) TO '{path}' (FORMAT parquet)")


def main() -> None:
    """Read the command line, write the table, shard it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=10_000_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        table, store = Path(folder, "edges.parquet"), Path(folder, "store")
        write_edges(table, given.edges)
        command = [sys.executable, "-m", "kernode", "data", "convert", str(table), "-o", str(store), "--json"]
        started = time.perf_counter()
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        report = json.loads(ended.stdout)
        size = sum(report["files"].values())
    print(f"{given.edges:,} rows of edges in a table of Parquet")
    print(f"{report['nodes']:,} nodes, {report['edges']:,} edges, {report['features']} features")
    print(f"{seconds:,.0f} s, peak memory {peak / 1e9:.2f} GB, store {size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
