"""What the settings of the other systems rest on: each of those tried, by validation alone, stored.

    python benchmarks/system_choices.py [k1-gcn jk …] [--data cora …] [--device cuda] [--results results]

For every system of docs/systems.md a list of settings around the one that is used. Each trains four times
(seeds 0 to 3): nodes on FastGCN's split, JK-Concat on four splits of its own kind, links on VGAE's split of
seed 0. Validation nodes or edges judge; no test node or edge is used. A setting that is stored already
is not trained again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import experiments  # noqa: F401 (its rivals, by name)
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.io import load_graph, split_nodes
from kernode.models.fit import fit_candidates
from kernode.search.compare import Candidate, Trials
from kernode.storage import write_whole
from kernode.tasks.classes.variants import configure
from kernode.tasks.links.task import LinkTask
from kernode.tasks.links.variants import configure_links
from kernode.training.run import Run

SEEDS = tuple(range(4))
DATA = ("cora", "citeseer", "pubmed")
Changes = Mapping[str, Any]

# The first of each list is what is used: the variant as it is.
NODES: Mapping[str, tuple[Changes, ...]] = {
    "gcn": ({}, {"weight_decay": 5e-4}, {"weight_decay": 0.0}),
    "gat": (
        {}, {"attention_dropout": 0.6}, {"learning_rate": 0.005},
        {"attention_dropout": 0.6, "learning_rate": 0.005},
    ),
    "fastgcn": ({}, {"epochs": 200}, {"share": 0.5}, {"share": 0.15}, {"weight_decay": 1e-4}),
    "k1-gcn": (
        {}, {"epochs": 10}, {"epochs": 20}, {"epochs": 50}, {"learning_rate": 0.003}, {"weight_decay": 0.0},
        {"weight_decay": 1e-4}, {"dropout": 0.5}, {"margin": 0.3}, {"normalize_rows": True},
        {"normalize_rows": True, "dropout": 0.5}, {"normalize_rows": True, "dropout": 0.5, "epochs": 50},
        {"normalize_rows": True, "dropout": 0.5, "epochs": 10},
    ),
    "k2-gat": (
        {}, {"epochs": 10}, {"epochs": 100}, {"learning_rate": 0.01}, {"attention_dropout": 0.0},
        {"attention_dropout": 0.6}, {"weight_decay": 0.0}, {"weight_decay": 1e-4}, {"margin": 0.3},
        {"attention_dropout": 0.0, "learning_rate": 0.01, "epochs": 100},
    ),
    "jk": (
        {}, {"hidden": (64,)}, {"hidden": (64, 64, 64)}, {"hidden": (64,) * 4}, {"hidden": (64,) * 6},
        {"hidden": (16, 16)}, {"hidden": (128, 128)}, {"inner_dropout": 0.5}, {"weight_decay": 0.0},
        {"weight_decay": 1e-4}, {"weight_decay": 5e-3}, {"normalize_rows": False},
    ),
}  # fmt: skip
LINKS: Mapping[str, tuple[Changes, ...]] = {
    "gae": (
        {}, {"epochs": 200, "dropout": 0.0}, {"epochs": 200}, {"dropout": 0.0}, {"normalize_rows": False},
        {"learning_rate": 0.005}, {"weight_decay": 5e-4}, {"weight_decay": 1e-4},
    ),
    "vgae": (
        {}, {"weight_decay": 0.0}, {"weight_decay": 1e-4}, {"weight_decay": 1e-5}, {"epochs": 400},
        {"weight_decay": 0.0, "epochs": 400}, {"weight_decay": 0.0, "dropout": 0.5},
        {"weight_decay": 0.0, "normalize_rows": True}, {"weight_decay": 0.0, "learning_rate": 0.005},
        {"weight_decay": 0.0, "normalize_rows": True, "epochs": 400},
    ),
    "kernel": (
        {}, {"hidden": (256,), "outputs": 128}, {"hops": 3}, {"scaled": False, "normalized": False},
        {"input_dropout": 0.5}, {"weight_decay": 1e-5}, {"weight_decay": 5e-4}, {"normalize_rows": True},
        {"outputs": 128}, {"learning_rate": 0.005},
    ),
}  # fmt: skip
SETTINGS = {**NODES, **LINKS}


def of_nodes(system: str, graph: Graph, changes: Changes, options: TensorOptions) -> list[float]:
    """Validation accuracy of four trainings, in percent."""
    method, training = configure(system, graph.name, tuned=False, **changes)
    splits = split_nodes(graph, "jk" if system == "jk" else "fastgcn", SEEDS)
    trials = Trials(graph, [Candidate({}, method, training)], splits, options)
    trials.run((split, 0) for split in range(len(splits)))
    return [round(trials.trained(split)[0].validation, 4) for split in range(len(splits))]


def of_links(system: str, graph: Graph, changes: Changes, options: TensorOptions) -> list[float]:
    """Validation AUC of four trainings, in percent."""
    method, training = configure_links(system, **changes)
    model = fit_candidates(LinkTask.of_graph(graph, Run(SEEDS, options)), {"": (method, training)}).model
    by_epoch = model.history["validation_auc"]
    return [
        round(float(by_epoch[kept - 1, run]), 4) for run, kept in enumerate(np.asarray(model.kept_epochs))
    ]


def main() -> None:
    """Train what is not stored, and store each as it ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", nargs="*", default=[*SETTINGS])
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    unknown = [name for name in given.systems if name not in SETTINGS]
    if unknown:
        parser.error(f"{unknown[0]!r} has no list of settings. Choose some of {', '.join(SETTINGS)}.")
    options = TensorOptions.of(32, given.device)
    for system in given.systems:
        measure = of_links if system in LINKS else of_nodes
        for name in given.data:
            path = given.results / "choices" / f"{name}-{system}.json"
            stored = json.loads(path.read_text()) if path.is_file() else {"tried": []}
            seen = [one["changes"] for one in stored["tried"]]
            graph = load_graph(name)
            for changes in SETTINGS[system]:
                plain = json.loads(json.dumps(changes))
                if plain in seen:
                    continue
                found = measure(system, graph, changes, options)
                stored["tried"].append({"changes": plain, "validation": found, "device": options.device.type})
                stored |= {"system": system, "dataset": name, "seeds": SEEDS}
                stored["machine"] = machine(options.device.type)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, (json.dumps(stored, indent=1, ensure_ascii=False) + "\n").encode())
                mean, std = np.mean(found), np.std(found, ddof=1)
                print(f"{name} {system} {plain or 'as it is'}: {mean:.2f} ± {std:.2f}", flush=True)


if __name__ == "__main__":
    main()
