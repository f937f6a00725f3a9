"""The explorer under load: many clients at once ask for similar nodes and explanations of random nodes.

    python benchmarks/explorer_load.py MODEL [--workers 1 2] [--clients 20] [--requests 5000] [--results DIR]

Starts `kernode serve MODEL` on a free port and asks until all requests are answered, every client one after
the other without a pause; client and server share the machine. Latencies are those that clients see. Memory
is that of all server processes, before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from kernode.compute.machine import machine
from kernode.storage import write_whole

KINDS = ("similar", "explain")


class Client:
    """One connection that is kept open, as browsers do."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    async def open(self) -> Client:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        return self

    async def get(self, path: str) -> tuple[int, bytes]:
        """Status and body."""
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        length = next(
            int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        )
        return status, await self.reader.readexactly(length)


async def ask(url: str, clients: int, requests: int, seed: int) -> tuple[dict[str, list[float]], int, float]:
    """Milliseconds by kind of request, errors, and seconds in all."""
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 80
    first = await Client(host, port).open()
    names = json.loads((await first.get("/api/names"))[1])
    left = [
        (kind, f"/api/{kind}?name={quote(random.Random(seed + i).choice(names), safe='')}")
        for i in range(requests)
        for kind in [KINDS[i % 2]]
    ]
    took: dict[str, list[float]] = {kind: [] for kind in KINDS}
    errors = 0

    async def work() -> None:
        nonlocal errors
        client = await Client(host, port).open()
        while left:
            kind, path = left.pop()
            started = time.perf_counter()
            status, body = await client.get(path)
            took[kind].append(1e3 * (time.perf_counter() - started))
            errors += status != 200 or not body.startswith(b"{")

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return took, errors, time.perf_counter() - started


def resident_mb(parent: int) -> float:
    """Memory of a process and its children, in MB."""
    family = [parent]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = stat.read_text().rpartition(")")[2].split()
        if int(fields[1]) == parent:
            family.append(int(stat.parent.name))
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family]
    return round(sum(pages) * 4096 / 1e6, 1)


def measure(model: str, workers: int, clients: int, requests: int) -> dict[str, Any]:
    """Start a server, warm it up, ask, and end it."""
    words = [
        sys.executable,
        "-m",
        "kernode",
        "serve",
        model,
        "--port",
        "0",
        "--json",
        "--workers",
        str(workers),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = server.stdout.readline()
            if not line:
                raise SystemExit("the server did not start.")
            said += line
        url = json.loads(said)["url"]
        asyncio.run(ask(url, clients, max(200, requests // 5), 10**6))  # what is computed once is computed
        before = resident_mb(server.pid)
        took, errors, seconds = asyncio.run(ask(url, clients, requests, 0))
        after = resident_mb(server.pid)
        server.send_signal(signal.SIGINT)
    of = {
        kind: {f"p{q}_ms": round(float(np.quantile(values, q / 100)), 1) for q in (50, 95, 99)}
        for kind, values in took.items()
    }
    return {
        "model": Path(model).name,
        "workers": workers,
        "clients": clients,
        "requests": requests,
        "errors": errors,
        "per_second": round(requests / seconds),
        **of,
        "memory_mb": {"before": before, "after": after},
    }


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    rows = []
    for workers in given.workers:
        rows.append(measure(given.model, workers, given.clients, given.requests))
        print(json.dumps(rows[-1], indent=1))
    if given.results is not None:
        content = json.dumps({"machine": machine("cpu"), "explorer": rows}, indent=1) + "\n"
        write_whole(given.results / "bench-explorer-cpu.json", content.encode())


if __name__ == "__main__":
    main()
