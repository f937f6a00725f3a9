"""One graph on several processes: memory, bytes between them, time and accuracy, and those of one process.

    kernode data convert synthetic:nodes=1000000,degree=20 -o store
    python benchmarks/ranks.py store [--processes 1 2 4] [--variant k3] [--epochs 20] [--results results]

The bytes that the network interface passes are read from the system (lo, of one machine; headers are in
them). Memory is that of a rank's rows of adjacency and features, and what the process held at most beyond
what it had before.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def worker(given: argparse.Namespace) -> None:
    """One process: train, and print what it counted."""
    import torch
    from scipy import sparse

    from experiments.runs import train_variant
    from kernode.compute.machine import peak_at
    from kernode.compute.ranks import join
    from kernode.compute.tensor_options import TensorOptions
    from kernode.io import Store
    from kernode.training.run import Run

    torch.set_num_threads(1)
    options, ranks = TensorOptions.of(given.precision, "cpu"), join()
    before = peak_at(options) or 0
    share = Store.open(given.store).share(ranks)
    x: Any = share.features
    arrays = [share.adjacency.data, share.adjacency.indices, share.adjacency.indptr]
    arrays += [x.data, x.indices, x.indptr] if sparse.issparse(x) else [x]
    rows = sum(array.nbytes for array in arrays)
    run = Run(tuple(range(given.replicas)), options)
    changes = {"epochs": given.epochs, "patience": None, "powers": given.powers, "hops": given.hops}
    begun, sent = time.perf_counter(), loopback()
    outcome = train_variant(share, given.variant, run.options, run.seeds, given.split, **changes)
    own = {"rows_bytes": rows, "most_bytes": (peak_at(options) or 0) - before}
    everybody = ranks.gather(own)
    if ranks.first:
        print(json.dumps({
            "processes": ranks.size, "ranks": everybody, "seconds": round(time.perf_counter() - begun, 2),
            "seconds_per_epoch": round(outcome.seconds_per_epoch, 4), "loopback_bytes": loopback() - sent,
            "accuracy": outcome.report["test"]["runs"],
        }))  # fmt: skip


def loopback() -> int:
    """Bytes that this machine has sent to itself, as the system counts them."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "lo":
            return int(rest.split()[0])
    return 0


def main() -> None:
    """Run each number of processes, print a line for each, and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--variant", default="k3")
    parser.add_argument("--powers", default="each")
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--precision", type=int, default=32)
    parser.add_argument("--split", default="0.6/0.2/0.2")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    if "RANK" in os.environ:
        worker(given)
        return
    rows = [launched(size) for size in given.processes]
    for row in rows:
        report(row, rows[0])
    if given.results:
        from kernode.compute.machine import machine
        from kernode.storage import write_whole

        settings = {
            name: value for name, value in vars(given).items() if name not in ("results", "processes")
        }
        record = {
            "settings": settings | {"store": Path(given.store).name},
            "machine": machine("cpu"),
            "rows": rows,
        }
        content = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        write_whole(given.results / "bench-ranks-cpu.json", content.encode())


def launched(size: int) -> dict[str, Any]:
    """What a job of so many processes printed."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    processes = []
    for rank in range(size):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1"}
        options = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        processes.append(
            subprocess.Popen(
                [sys.executable, *sys.argv], env=os.environ | own | options, stdout=subprocess.PIPE
            )
        )
    printed = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{size} processes: one of them failed.")
    found: dict[str, Any] = json.loads(printed[0].splitlines()[-1])
    return found


def report(row: dict[str, Any], one: dict[str, Any]) -> None:
    """A line."""
    ranks = row["ranks"]
    most = max(rank["rows_bytes"] for rank in ranks)
    received = max(sum(rank["received"].values()) for rank in ranks)
    expected = max(sum(rank["expected"].values()) for rank in ranks)
    off = f"{100 * (received / expected - 1):+.2f} %" if expected else "–"
    share, held = most / one["ranks"][0]["rows_bytes"], max(rank["most_bytes"] for rank in ranks)
    print(
        f"{row['processes']} processes: rows {most / 1e6:,.0f} MB ({share:.3f} ×), "
        f"at most {held / 1e6:,.0f} MB; received {received / 1e6:,.1f} MB, formula {off}; "
        f"lo {row['loopback_bytes'] / 1e6:,.1f} MB; "
        f"{row['seconds_per_epoch']:.3f} s an epoch; "
        f"accuracy {', '.join(f'{run:.2f}' for run in row['accuracy'])}",
        flush=True,
    )


if __name__ == "__main__":
    main()
