"""Run one cell: the same data, splits, training and scoring for every system, test nodes scored once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.machine import machine
from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.link_prediction.experiment import run_link_method
from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.ranking import link_metrics
from kernode.models.model import ModelOnGraph
from kernode.node_classification.experiment import run_method
from kernode.studies.bench.rows import Outcome
from kernode.studies.reproduce.figure_data import embedding, gram
from kernode.studies.reproduce.methods import link_method, node_method
from kernode.studies.reproduce.settings import Cell
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run, Telling
from kernode.viz.pictures.hop_weights import hop_weight_history

RESAMPLES = 200  # of the test edges, for their sampling error
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def measure(
    place: Place,
    graph: Graph,
    cell: Cell,
    progress: Telling | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """A cell's figures, with what they were measured on and how long it took."""
    started = time.perf_counter()
    kind = cell.settings["kind"]
    if kind == "counts":
        return _counts(graph)
    run = Run(cell.seeds, place, progress, checkpoint)
    figures = _links(graph, cell, run) if kind == "links" else _nodes(graph, cell, run)
    return {
        **figures,
        "seconds": round(time.perf_counter() - started, 2),
        "device": place.device.type,
        "machine": machine(place.device.type),
    }


def _counts(graph: Graph) -> dict[str, Any]:
    """Table 1, counted in the graph itself."""
    sizes = {name: _sizes(split_nodes(graph, name, [0])[0]) for name in ("fastgcn", "jk")}
    return {
        "counts": {
            "nodes": f"{graph.n_nodes:,}",
            "edges": f"{graph.n_edges:,}",
            "classes": f"{graph.n_classes:,}",
            "features": f"{graph.n_features:,}",
            **{name: " / ".join(f"{size:,}" for size in found) for name, found in sizes.items()},
        }
    }


def _sizes(split: Split) -> list[int]:
    return [len(part) for part in (split.train, split.validation, split.test)]


def _nodes(graph: Graph, cell: Cell, run: Run) -> dict[str, Any]:
    method, training = node_method(cell.values, f"{cell.table}.toml, [{cell.row}]")
    if not method.learns_by_gradient:
        run = replace(run, checkpoint=None)
    outcome = run_method(graph, method, training, run, split=cell.settings["split"], variant=cell.row)
    kind, report, splits = cell.settings["kind"], outcome.report, outcome.splits
    if kind != "nodes":
        return {"figure": _figure(kind, cell, outcome)}
    runs = report["test"]["runs"]
    return {
        "test": {"accuracy": _summary(runs, _node_sampling(runs, splits)), **_retrieved(report["test"])},
        "validation": {"accuracy": _summary(report["validation"]["runs"])},
        "ensemble_accuracy": report["test"]["ensemble_accuracy"],
        "hop_weights": report["hop_weights"],
        "kept_epochs": report["kept_epochs"],
        "right": _right(outcome.on, splits),
    }


def _retrieved(test: dict[str, Any]) -> dict[str, Any]:
    """Mean average precision and precision at 10, where there is a kernel."""
    runs = test["similarity"]["runs"] if test["similarity"] else []
    return {name: _summary([run[name] for run in runs]) for name in (runs[0] if runs else {})}


def _figure(kind: str, cell: Cell, outcome: Outcome) -> dict[str, Any]:
    on, settings, test = outcome.on, cell.settings, outcome.splits[0].test
    if kind == "embedding":
        return embedding(
            on, test,
            perplexity=settings["perplexity"], seed=settings["tsne_seed"], iterations=settings["iterations"],
        )  # fmt: skip
    if kind == "hop-weights":
        return hop_weight_history(on.model)
    method, training = node_method({**cell.values, "epochs": 0}, cell.row)
    before = run_method(on.graph, method, training, Run(cell.seeds, on.place), split=settings["split"])
    return gram(before.on, on, test, settings["pixels"])


def _links(graph: Graph, cell: Cell, run: Run) -> dict[str, Any]:
    """Either all runs on the first seed's edge split, or each on its own: ``split = "vgae-fresh"``."""
    method, training = link_method(cell.values, f"{cell.table}.toml, [{cell.row}]")
    fresh = cell.settings["split"] == "vgae-fresh"
    # A checkpoint is of one training.
    parts = [replace(run, seeds=(seed,), checkpoint=None) for seed in run.seeds] if fresh else [run]
    outcomes = [run_link_method(graph, method, training, part) for part in parts]
    test, validation = (
        [figures for one in outcomes for figures in one.report[part]["runs"]]
        for part in ("test", "validation")
    )
    on, split = outcomes[0].on, outcomes[0].split
    if len(outcomes) > 1:  # their spread shows what other edges would do, as in _node_sampling
        share = len(split.test) / split.graph.n_edges
        sampling = {
            name: mean_and_std([one[name] for one in test])[1] * float(np.sqrt(share)) for name in test[0]
        }
    else:
        sampling = _link_sampling(on.logits(split.test), on.logits(split.test_negatives))
    return {
        "test": {name: _summary([one[name] for one in test], sampling.get(name, 0.0)) for name in test[0]},
        "validation": {name: _summary([one[name] for one in validation]) for name in validation[0]},
    }


def _summary(runs: list[float], sampling_error: float | None = None) -> dict[str, Any]:
    mean, std = mean_and_std(runs)
    values: dict[str, Any] = {"mean": round(mean, 4), "std": round(std, 4), "runs": runs}
    return values if sampling_error is None else values | {"sampling_error": round(sampling_error, 4)}


def _node_sampling(runs: list[float], splits: list[Split]) -> float:
    """How far the mean would move with other test nodes of the same kind: one standard error.

    For fixed nodes it is binomial. With a fresh split per run the spread of the runs shows it, and more
    runs do not remove it, since resplits overlap: Nadeau and Bengio's s² · test / training nodes.
    """
    mean, std = mean_and_std(runs)
    if _fixed(splits) or len(runs) < 2:  # one split shows no spread
        share = mean / 100
        return float(100 * np.sqrt(share * (1 - share) / len(splits[0].test)))
    return float(std * np.sqrt(len(splits[0].test) / len(splits[0].train)))


def _link_sampling(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """The same for edges and non-edges (r × p, r × q), by drawing them anew."""
    random = np.random.default_rng(0)
    own = [link_metrics(*pair) for pair in zip(positive, negative, strict=True)]
    moved = []
    for i in range(RESAMPLES):
        run = i % len(own)
        edges = positive[run, random.integers(positive.shape[1], size=positive.shape[1])]
        others = negative[run, random.integers(negative.shape[1], size=negative.shape[1])]
        drawn = link_metrics(edges, others)
        moved.append({name: drawn[name] - own[run][name] for name in drawn})
    return {name: float(np.std([one[name] for one in moved], ddof=1)) for name in own[0]}


def _fixed(splits: list[Split]) -> bool:
    return all(split is splits[0] for split in splits)


def _right(on: ModelOnGraph, splits: list[Split]) -> str | None:
    """How many runs get each test node right, a digit each, so that two systems can be compared in pairs."""
    if not _fixed(splits) or len(splits) >= len(DIGITS):
        return None
    nodes, graph = splits[0].test, on.graph
    classes = np.array([graph.class_names.index(name) for name in on.model.classes])
    found = classes[on.probabilities(nodes).argmax(axis=-1)]  # r × m
    return "".join(DIGITS[count] for count in (found == graph.labels[nodes]).sum(axis=0))
