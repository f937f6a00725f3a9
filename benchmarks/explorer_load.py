"""The explorer under load: many clients at once ask for similar nodes and explanations of random nodes.

    python benchmarks/explorer_load.py MODEL [--workers 1 2] [--clients 20] [--requests 5000] [--results DIR]

Starts `kernode serve MODEL` on a free port and asks until all requests are answered, every client one after
the other without a pause; client and server share the machine. Latencies are those that clients see. Memory
is that of all server processes, before and after.

Clients are sockets of one process that waits for all of them: each keeps its connection open, as browsers do,
and reads nothing of an answer but its status and its length. So little of the cores goes to asking: `cpu_ms`
says how much, and how much to answering, in milliseconds of a core for each request.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from kernode.compute.machine import machine
from kernode.storage import write_whole

KINDS = ("similar", "explain")
_MOST_SECONDS = 60  # that an answer takes before the server is taken for dead


class Client:
    """One connection that is kept open."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=_MOST_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = f"{host}:{port}"

    def ask(self, path: str, kind: str = "") -> None:
        """Send a request."""
        self.kind, self.received, self.end = kind, b"", None
        self.started = time.perf_counter()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())

    def read(self) -> bool:
        """Take what has arrived; whether the answer is whole."""
        some = self.socket.recv(2**18)
        if not some:
            raise SystemExit("the server ended a connection.")
        self.received += some
        if self.end is None:
            head, between, _ = self.received.partition(b"\r\n\r\n")
            if not between:
                return False
            length = head.lower().partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0]
            self.end, self.body = len(head) + 4 + int(length), len(head) + 4
        return len(self.received) >= self.end

    def get(self, path: str) -> bytes:
        """The body of one answer."""
        self.ask(path)
        while not self.read():
            pass
        return self.received[self.body :]

    @property
    def succeeded(self) -> bool:
        """Whether it was an answer."""
        return self.received.startswith(b"HTTP/1.1 200") and self.received[self.body :].startswith(b"{")


@dataclass
class Load:
    """What came of many requests."""

    milliseconds: dict[str, list[float]]  # by kind of request
    errors: int
    seconds: float
    cpu: float  # seconds of a core that asking took


def ask(url: str, clients: int, requests: int, seed: int) -> Load:
    """All clients at once, each with the next request as soon as it has its answer."""
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 80
    names = json.loads(Client(host, port).get("/api/names"))
    left = [
        (f"/api/{kind}?name={quote(random.Random(seed + i).choice(names), safe='')}", kind)
        for i in range(requests)
        for kind in [KINDS[i % 2]]
    ]
    load = Load({kind: [] for kind in KINDS}, 0, 0.0, 0.0)
    connected = [Client(host, port) for _ in range(clients)]
    with selectors.DefaultSelector() as waiting:
        for client in connected:
            waiting.register(client.socket, selectors.EVENT_READ, client)
        started, cpu = time.perf_counter(), time.process_time()
        for client in connected[: len(left)]:
            client.ask(*left.pop())
        missing = requests
        while missing:
            ready = waiting.select(_MOST_SECONDS)
            if not ready:
                raise SystemExit(f"no answer within {_MOST_SECONDS} seconds.")
            for client in (key.data for key, _ in ready):
                if client.read():
                    load.milliseconds[client.kind].append(1e3 * (time.perf_counter() - client.started))
                    load.errors += not client.succeeded
                    missing -= 1
                    if left:
                        client.ask(*left.pop())
        load.seconds, load.cpu = time.perf_counter() - started, time.process_time() - cpu
    for client in connected:
        client.socket.close()
    return load


def used_by(parent: int) -> tuple[float, float]:
    """What a process and its children use: MB of memory, and seconds of a core since they began."""
    megabytes = seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            pages = int((stat.parent / "statm").read_text().split()[1])
        except OSError:  # it ended meanwhile
            continue
        if parent in (int(stat.parent.name), int(fields[1])):
            megabytes += pages * os.sysconf("SC_PAGE_SIZE") / 1e6
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return round(megabytes, 1), seconds


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
        ask(url, clients, max(200, requests // 5), 10**6)  # what is computed once is computed
        before, began = used_by(server.pid)
        load = ask(url, clients, requests, 0)
        after, ended = used_by(server.pid)
        server.send_signal(signal.SIGINT)
    of = {
        kind: {f"p{q}_ms": round(float(np.quantile(values, q / 100)), 1) for q in (50, 95, 99)}
        for kind, values in load.milliseconds.items()
    }
    return {
        "model": Path(model).name,
        "workers": workers,
        "clients": clients,
        "requests": requests,
        "errors": load.errors,
        "per_second": round(requests / load.seconds),
        **of,
        "cpu_ms": {
            "server": round(1e3 * (ended - began) / requests, 2),
            "clients": round(1e3 * load.cpu / requests, 2),
        },
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
