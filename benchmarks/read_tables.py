"""Reading tables: seconds and peak memory of `kn.read_table`, for one or several versions of kernode in turn.

    python benchmarks/read_tables.py [--against OLD/src] [--rounds 5] [--edges 2000000] [--nodes 200000]

The tables are CSV files: edges between ids of text, and nodes with an id, a number, a category and a label.
Every reading is a process of its own with one version first on its path. The seconds are those of the call,
after `import kernode`; the memory is the most that the process held. The versions take turns, and medians are
printed, with how many times as much the other version takes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

OURS = Path(__file__).resolve().parents[1] / "src"
READ = """
import json, resource, sys, time
import kernode as kn
started = time.perf_counter()
graph = kn.read_table(sys.argv[1], sys.argv[2], label="group")
took = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, peak, graph.n_nodes, graph.n_edges, graph.n_features]))
"""


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


def read(source: Path, *tables: Path) -> tuple[float, float, list[int]]:
    """Seconds, MiB and sizes of the graph that one version reads."""
    command = [sys.executable, "-c", READ, *map(str, tables)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, peak, *sizes = json.loads(ended.stdout.splitlines()[-1])
    return seconds, peak, sizes


def main() -> None:
    """Read the command line, time every version in turn, print medians and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder src of another version")
    for option, default in (("rounds", 5), ("edges", 2_000_000), ("nodes", 200_000)):
        parser.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    versions = {"this": OURS} | ({"other": given.against.resolve()} if given.against else {})
    found: dict[str, list[tuple[float, float, list[int]]]] = {name: [] for name in versions}
    with TemporaryDirectory() as folder:
        tables = write_tables(Path(folder), given.edges, given.nodes)
        for _ in range(given.rounds):
            for name, source in versions.items():
                found[name].append(read(source, *tables))
                print(
                    f"{name:6} {found[name][-1][0]:6.2f} s {found[name][-1][1]:7.0f} MiB {found[name][-1][2]}"
                )
    medians = {
        name: [statistics.median(one[at] for one in runs) for at in (0, 1)] for name, runs in found.items()
    }
    for name, (seconds, peak) in medians.items():
        print(f"{name:6} {seconds:6.2f} s {peak:7.0f} MiB  median of {given.rounds}")
    if given.against:
        pairs = zip(found["other"], found["this"], strict=True)
        ratios = [[other[at] / this[at] for at in (0, 1)] for other, this in pairs]
        time, memory = (statistics.median(one[at] for one in ratios) for at in (0, 1))
        print(
            f"other / this: {time:.2f} times the seconds, {memory:.2f} times the memory (median over rounds)"
        )


if __name__ == "__main__":
    main()
