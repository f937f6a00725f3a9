"""Reading tables: seconds and peak memory of `kn.read_table`, for one or several versions of kernode in turn.

    python benchmarks/read_tables.py [--against OLD/src] [--rounds 5] [--edges 2000000] [--nodes 200000]

The tables are CSV files: edges between ids of text, and nodes with an id, a number, a category and a label.
Every reading is a process of its own with one version first on its path. The seconds are those of the call,
after `import kernode`, with what it imports itself; the memory is the most that the process held. Versions
take turns, and medians are printed, with how many times as much the other version takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

OURS = Path(__file__).resolve().parents[1] / "src"
READ = """
import json, resource, sys, time
import kernode as kn
started, worked = time.perf_counter(), time.process_time()
graph = kn.read_table(sys.argv[1], sys.argv[2], label="group")
took = time.perf_counter() - started, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([*took, peak, repr(graph)]))
"""
WHAT = ("seconds", "CPU seconds", "MiB")


def write_tables(folder: Path, edges: int, nodes: int) -> tuple[Path, Path]:
    """Write both tables."""
    draw = np.random.default_rng(0)
    ends = draw.integers(nodes, size=(edges, 2)).tolist()
    with (folder / "edges.csv").open("w") as file:
        file.write("source,target\n")
        file.writelines(f"person-{s:07d},person-{t:07d}\n" for s, t in ends)
    sizes, towns, groups = (
        draw.normal(40, 9, nodes),
        draw.integers(30, size=nodes),
        draw.integers(7, size=nodes),
    )
    with (folder / "nodes.csv").open("w") as file:
        file.write("id,age,town,group\n")
        rows = zip(sizes.tolist(), towns.tolist(), groups.tolist(), strict=True)
        file.writelines(f"person-{i:07d},{a:.2f},town {t},group {g}\n" for i, (a, t, g) in enumerate(rows))
    return folder / "edges.csv", folder / "nodes.csv"


def read(source: Path, *tables: Path) -> list[float]:
    """Seconds, seconds of all cores, and MiB that one version takes."""
    command = [sys.executable, "-c", READ, *map(str, tables)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *took, graph = json.loads(ended.stdout.splitlines()[-1])
    print(in_words(took), graph, source, flush=True)
    return took


def in_words(figures: list[float]) -> str:
    """Each figure with its unit."""
    return ", ".join(f"{one:,.2f} {what}" for one, what in zip(figures, WHAT, strict=True))


def main() -> None:
    """Read the command line, time every version in turn, print medians and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder src of another version")
    for option, default in (("rounds", 5), ("edges", 2_000_000), ("nodes", 200_000)):
        parser.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    versions = [OURS, *([given.against.resolve()] if given.against else [])]
    with TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), given.edges, given.nodes)
        found = np.array([[read(source, *tables) for source in versions] for _ in range(given.rounds)])
    for source, median in zip(versions, np.median(found, axis=0), strict=True):
        print(f"median of {given.rounds}: {in_words(median.tolist())} ({source})")
    if given.against:
        ratios = np.median(found[:, 1] / found[:, 0], axis=0)
        print(f"the other takes {in_words(ratios.tolist())} for 1 of this (medians over rounds)")


if __name__ == "__main__":
    main()
