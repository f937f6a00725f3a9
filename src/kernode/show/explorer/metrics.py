"""What the server counts of itself, in the text that Prometheus reads."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Requests by path and status, and how long they took.

    >>> metrics = Metrics()
    >>> metrics.count("/api/similar", 200, 0.003)
    >>> [line for line in metrics.text().splitlines() if line.startswith("kernode_requests_total")]
    ['kernode_requests_total{path="/api/similar",status="200"} 1']
    """

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._within: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, path: str, status: int, seconds: float) -> None:
        """One request; ``path`` is one of the server's own, so that nobody can make it grow."""
        self._requests[path, status] += 1
        self._within[path][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[path] += seconds

    def text(self) -> str:
        """All of it."""
        lines = ["# HELP kernode_requests_total Requests answered.", "# TYPE kernode_requests_total counter"]
        lines += [
            f'kernode_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self._requests.items())
        ]
        errors = sum(count for (_, status), count in self._requests.items() if status >= 500)
        lines += [
            "# HELP kernode_errors_total Requests that failed for no fault of the asker's.",
            "# TYPE kernode_errors_total counter",
            f"kernode_errors_total {errors}",
            "# HELP kernode_request_seconds How long requests took.",
            "# TYPE kernode_request_seconds histogram",
        ]
        for path in sorted(self._within):
            counts = list(accumulate(self._within[path]))
            lines += [
                f'kernode_request_seconds_bucket{{path="{path}",le="{bound}"}} {count}'
                for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True)
            ]
            lines.append(f'kernode_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            lines.append(f'kernode_request_seconds_count{{path="{path}"}} {counts[-1]}')
        held = resident_bytes()
        if held is not None:
            lines += [
                "# HELP process_resident_memory_bytes Memory that the process holds.",
                "# TYPE process_resident_memory_bytes gauge",
                f"process_resident_memory_bytes {held}",
            ]
        return "\n".join(lines) + "\n"


def resident_bytes() -> int | None:
    """Memory that this process holds; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 (no file, and read often)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
