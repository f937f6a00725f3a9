"""The searches behind the tuned settings, run again: every trial, and where the settings that are used stand.

    python benchmarks/pinned_searches.py [cora-k3 citeseer-k3 …] [--device cuda] [--results results]

The space has grown since the settings were found, and a search draws on by what it has seen, so that another
one is not the same trial by trial. It shows the rank of the settings in use among all trials of
a search of the same size, judged by the same validation nodes, folds or edges. No test node or edge is used.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.io import load_graph
from kernode.search.tune import Problem, search
from kernode.storage import write_whole
from kernode.tasks.classes import variants as of_nodes
from kernode.tasks.links import variants as of_links

# By name: data set, variant, metric, trials, batch, what is used.
SEARCHES = {
    **{
        f"{d}-k3": (d, "k3", "accuracy", 96 if d == "pubmed" else 192, 64, s)
        for d, s in of_nodes.FOUND_K3.items()
    },
    **{f"{d}-links": (d, "kernel", "auc", 48, 24, s) for d, s in of_links.TUNED.items()},
}
FOLDS = 4  # of nodes


def main() -> None:
    """Search, and store all that was tried."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=[*SEARCHES])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in SEARCHES]:
        parser.error(f"{unknown[0]!r} is not a search. Choose some of {', '.join(SEARCHES)}.")
    options = TensorOptions.of(32, given.device)
    for name in given.names:
        dataset, variant, metric, trials, batch, used = SEARCHES[name]
        started, graph = time.perf_counter(), load_graph(dataset)
        problem = Problem(graph, variant, metric, folds=0 if metric == "auc" else FOLDS)
        of_pinned = problem.measure([{**used, **problem.fixed}], options)[0]
        with tempfile.TemporaryDirectory() as folder:
            found = search(problem, Path(folder) / "study.db", trials=trials, batch=batch, options=options)
        record = {
            "dataset": dataset, "variant": variant, "metric": metric,
            "folds": FOLDS if metric != "auc" else 0,
            "used": {"value": round(float(of_pinned.mean()), 4), "settings": dict(used)},
            "trials": [{"value": round(one.value, 4), "settings": one.settings} for one in found.trials],
            "failures": found.failures,
            "seconds": round(time.perf_counter() - started, 1),
            "machine": machine(options.device.type),
        }  # fmt: skip
        path = given.results / "searches" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record, ensure_ascii=False).replace('{"value"', '\n{"value"')
        write_whole(path, (text + "\n").encode())
        mean = of_pinned.mean()
        above = sum(one.value > mean for one in found.trials)
        best = found.trials[0].value
        print(f"{name}: used {mean:.2f}, {above} of {found.count} above, best {best:.2f}", flush=True)


if __name__ == "__main__":
    main()
