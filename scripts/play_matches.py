"""The matches of a comparison as processes of their own, several at once, within a time.

    python scripts/play_matches.py cora graph.npz … --variants default,gcn --workers 6 --seconds 400

Each is stored when it ends, as `kernode compare --results` stores it, and is not played again: the command
that then prints the comparison finds it. A match that fails costs itself alone. On a GPU several small ones
at once take little longer than one, since most of their time is compiling and preparing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

GRACE = 15.0  # seconds that a match may go on after the time is up


def play(given: argparse.Namespace) -> None:
    """One match, in this process."""
    import torch

    from kernode.compute.place import Place
    from kernode.io import load_graph
    from kernode.metrics.accuracy import mean_and_std
    from kernode.search.baselines import compared_method
    from kernode.search.compare import Comparison, run_comparisons
    from kernode.search.results import Results

    if given.tf32:
        torch.set_float32_matmul_precision("high")
    match = Comparison(load_graph(given.data[0]), compared_method(given.variants), given.splits, given.split)
    (found,) = run_comparisons([match], Results(Path(given.results)), Place.of(32, given.device))
    if found.get("failed"):
        print(f"{match.name}: {found['failed']}")
    else:
        mean, std = mean_and_std(found["accuracy"])
        print(f"{match.name}: {mean:.2f} ± {std:.2f} in {found['seconds']:.0f} s")


def main() -> None:
    """All of them, as long as there is time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+")
    parser.add_argument("--variants", default="default,gcn,sage,gat")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--split", default="0.6/0.2/0.2")
    parser.add_argument("--results", default="results")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument(
        "--tf32", action="store_true", help="shorter numbers in a GPU's matrix products; its result says so"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # a process's own match
    given = parser.parse_args()
    if given.here:
        play(given)
        return
    end = time.monotonic() + given.seconds
    todo = [(data, variant) for variant in given.variants.split(",") for data in given.data]

    def work(match: tuple[str, str]) -> str:
        left = end - time.monotonic()
        if left <= 0:
            return f"{' '.join(match)}: no time left"
        data, variant = match
        options = {"--splits": given.splits, "--split": given.split, "--results": given.results}
        words = [str(word) for pair in options.items() for word in pair]
        command = [
            sys.executable,
            __file__,
            data,
            "--here",
            "--variants",
            variant,
            "--device",
            given.device,
            *["--tf32"] * given.tf32,
            *words,
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False,
                timeout=None if left == float("inf") else left + GRACE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{' '.join(match)}: not finished in time"
        said = done.stdout if done.returncode == 0 else done.stderr
        return (
            said.strip().splitlines()[-1] if said.strip() else f"{' '.join(match)}: status {done.returncode}"
        )

    with ThreadPoolExecutor(given.workers) as workers:
        for line in workers.map(work, todo):
            print(line, flush=True)


if __name__ == "__main__":
    main()
