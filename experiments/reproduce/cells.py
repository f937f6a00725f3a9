"""Measure cells and store them: the same data, splits, training and scoring for every system."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from experiments import RESULTS
from experiments.reproduce.figures import embedding, gram
from experiments.reproduce.methods import link_method, node_method
from experiments.reproduce.tables import Cell
from experiments.runs import NodeRun, Progress, train_links, train_nodes
from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.graph import Graph
from kernode.io import Split, load_graph, split_nodes
from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.ranking import link_metrics
from kernode.search.results import Results
from kernode.search.tasks import Task, run_tasks

RESAMPLES = 200  # of the test edges, for their sampling error
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def missing(cells: Iterable[Cell], results: Results) -> list[Cell]:
    """Cells without a stored result, one for each digest."""
    once: dict[str, Cell] = {}
    for cell in cells:
        once.setdefault(cell.digest, cell)
    return [cell for cell in once.values() if results.find(cell) is None]


def run_cells(
    cells: list[Cell],
    results: Results,
    tensor_options: TensorOptions,
    on_start: Callable[[Cell], Progress],
    on_end: Callable[[Cell], None],
    threads: int | None = None,
) -> None:
    """Run cells under ``joblib.parallel_config``, and store each as soon as it is done.

    Where no workers are configured they run here, one after the other, and an interrupted cell resumes from
    its last checkpoint. A worker, which may be on another machine, keeps no checkpoint.
    """
    graphs = {name: load_graph(name) for name in dict.fromkeys(cell.dataset for cell in cells)}
    tasks = [Task(measure, (graphs[cell.dataset], cell)) for cell in cells]

    @contextmanager
    def local(number: int) -> Iterator[dict[str, Any]]:
        cell = cells[number]
        yield {"progress": on_start(cell), "checkpoint": results.checkpoint_path(cell)}

    with closing(run_tasks(tasks, tensor_options, threads=threads, local=local)) as finished:
        for number, figures in finished:
            results.save(cells[number], figures)
            results.checkpoint_path(cells[number]).unlink(missing_ok=True)
            on_end(cells[number])


def expected_seconds(cells: list[Cell], device: str) -> dict[str, float]:
    """Return the seconds that each cell took for the repository's results on such a device, by digest.

    New cells get the median, and ten times that on Pubmed, which is as much larger.
    """
    stored = Results(RESULTS)
    known = {
        cell.digest: record
        for cell in cells
        if (record := stored.find(cell)) and record.get("device", device) == device
    }
    seconds = {digest: max(0.1, record.get("seconds", 0.1)) for digest, record in known.items()}
    typical = statistics.median(seconds.values()) if seconds else 10.0
    return {
        cell.digest: seconds.get(cell.digest, typical * (10 if cell.dataset == "pubmed" else 1))
        for cell in cells
    }


def measure(
    tensor_options: TensorOptions,
    graph: Graph,
    cell: Cell,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> dict[str, Any]:
    """Return a cell's figures, with the machine they were measured on and the seconds it took."""
    started = time.perf_counter()
    kind = cell.settings["kind"]
    if kind == "counts":
        return _counts(graph)
    measured = _links if kind == "links" else _nodes
    figures = measured(tensor_options, graph, cell, progress, checkpoint)
    return {
        **figures,
        "seconds": round(time.perf_counter() - started, 2),
        "device": tensor_options.device.type,
        "machine": machine(tensor_options.device.type),
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


def _nodes(
    tensor_options: TensorOptions,
    graph: Graph,
    cell: Cell,
    progress: Progress | None,
    checkpoint: Path | None,
) -> dict[str, Any]:
    method, training = node_method(cell.values, cell.source)
    split = cell.settings["split"]
    run = train_nodes(
        graph, method, training, tensor_options, cell.seeds,
        split=split, name=cell.row, progress=progress, checkpoint=checkpoint,
    )  # fmt: skip
    kind, test = cell.settings["kind"], run.splits[0].test
    if kind == "embedding":
        options = {name: cell.settings[name] for name in ("perplexity", "iterations")}
        return {"figure": embedding(run, test, seed=cell.settings["tsne_seed"], **options)}
    if kind == "hop-weights":
        return {"figure": run.hop_weights}
    if kind == "gram":
        untrained = node_method({**cell.values, "epochs": 0}, cell.source)
        before = train_nodes(graph, *untrained, tensor_options, cell.seeds, split=split)
        return {"figure": gram(before, run, test, cell.settings["pixels"])}
    report, runs = run.report, run.report["test"]["runs"]
    return {
        "test": {"accuracy": _summary(runs, _node_sampling(runs, run.splits)), **_retrieved(report["test"])},
        "validation": {"accuracy": _summary(report["validation"]["runs"])},
        "ensemble_accuracy": report["test"]["ensemble_accuracy"],
        "hop_weights": report["hop_weights"],
        "kept_epochs": report["kept_epochs"],
        "right": _right(run),
    }


def _retrieved(test: dict[str, Any]) -> dict[str, Any]:
    """Mean average precision and precision at 10, where there is a kernel."""
    runs = test["similarity"]["runs"] if test["similarity"] else []
    return {name: _summary([run[name] for run in runs]) for name in (runs[0] if runs else {})}


def _links(
    tensor_options: TensorOptions,
    graph: Graph,
    cell: Cell,
    progress: Progress | None,
    checkpoint: Path | None,
) -> dict[str, Any]:
    """Either all runs on the first seed's edge split, or each on its own: ``split = "vgae-fresh"``."""
    method, training = link_method(cell.values, cell.source)
    fresh = cell.settings["split"] == "vgae-fresh"
    stacks = [(seed,) for seed in cell.seeds] if fresh else [cell.seeds]
    runs = [
        train_links(
            graph, method, training, tensor_options, seeds,
            progress=progress, checkpoint=None if fresh else checkpoint,  # a checkpoint is of one training
        )
        for seeds in stacks
    ]  # fmt: skip
    test = [figures for run in runs for figures in run.test]
    validation = [figures for run in runs for figures in run.validation]
    if len(runs) > 1:  # their spread shows what other edges would do, as in _node_sampling
        share = float(np.sqrt(runs[0].test_share))
        sampling = {name: mean_and_std([one[name] for one in test])[1] * share for name in test[0]}
    else:
        sampling = link_sampling(runs[0].logits, runs[0].negative_logits)
    return {
        "test": {name: _summary([one[name] for one in test], sampling.get(name, 0.0)) for name in test[0]},
        "validation": {name: _summary([one[name] for one in validation]) for name in validation[0]},
    }


def _summary(runs: list[float], sampling_error: float | None = None) -> dict[str, Any]:
    mean, std = mean_and_std(runs)
    values: dict[str, Any] = {"mean": round(mean, 4), "std": round(std, 4), "runs": runs}
    return values if sampling_error is None else values | {"sampling_error": round(sampling_error, 4)}


def _node_sampling(runs: list[float], splits: list[Split]) -> float:
    """Standard error of the mean over other test nodes of the same kind.

    For fixed nodes it is binomial. With a fresh split per run the spread of the runs shows it, and more
    runs do not remove it, since resplits overlap: Nadeau and Bengio's s² · test / training nodes.
    """
    mean, std = mean_and_std(runs)
    if _fixed(splits) or len(runs) < 2:  # one split shows no spread
        share = mean / 100
        return float(100 * np.sqrt(share * (1 - share) / len(splits[0].test)))
    return float(std * np.sqrt(len(splits[0].test) / len(splits[0].train)))


def link_sampling(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """Standard error over other test edges and pairs without an edge (r × p, r × q), by the bootstrap."""
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


def _right(run: NodeRun) -> str | None:
    """Number of runs that get each test node right, a digit each, so that systems are compared in pairs."""
    if not _fixed(run.splits) or len(run.splits) >= len(DIGITS):
        return None
    return "".join(DIGITS[count] for count in run.correct(run.splits[0].test).sum(axis=0))
