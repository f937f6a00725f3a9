"""Comparison of methods on graphs: the same random splits for all, test nodes scored once, paired tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from kernode.compute.machine import machine
from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import split_nodes
from kernode.io.node_split import is_per_class
from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.significance import holm, paired
from kernode.models.fit import RUNGS
from kernode.search.baselines import ComparedMethod
from kernode.search.results import Results, digest_of
from kernode.search.tasks import Failure, Task, run_tasks
from kernode.search.trials import Trial, Trials, accuracies, candidates_of, pick_candidates
from kernode.tasks.classes.evaluation import retrieval_of_run
from kernode.tasks.classes.variants import CHOICES
from kernode.training.callbacks import Callback

SPLIT = "0.6/0.2/0.2"
CHOOSE_ON = 5  # splits
EVERY_SPLIT = 0  # in place of a number of splits: each chooses for itself
FIGURES = ("accuracy", "map", "precision_at_10")
METRICS = ("accuracy", "map")
LEVEL = 0.05
# A question, the method with the part in question, and the same method without it.
QUESTIONS = (
    ("Does the kernel loss L_K help?", "k3", "n1"),
    ("Do learned hop weights ω help?", "k3", "k3-c1"),
    ("Do exact-hop masks help?", "k3", "k3-plain"),
    ("Is Eq. 7's operator better than the one that the authors' program intends?", "k3", "k3-last"),
    ("Is it better than the one that this program computes?", "k3", "k3-released"),
)

Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]  # by data set and method


@dataclass(frozen=True)
class Comparison:
    """A method on a graph, over some splits."""

    graph: Graph
    method: ComparedMethod
    splits: int
    split: str = SPLIT
    choose_on: int = CHOOSE_ON  # splits that choose a candidate

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the figures: graph, splits, candidates, and how one is chosen."""
        candidates = candidates_of(self.method, self.graph)
        return {
            "kind": "compare",
            "dataset": self.graph.name,
            "fingerprint": self.graph.fingerprint,
            "split": self.split,
            "splits": self.splits,
            "candidates": [
                {"method": one.method.to_json(), "training": one.training.to_json()} for one in candidates
            ],
            **_rule(self.method, len(candidates), self.choose_on),
        }

    @cached_property
    def digest(self) -> str:
        """The digest that the result is found by."""
        return digest_of(self.settings)

    @property
    def name(self) -> str:
        """Graph and method."""
        return f"{self.graph.name}-{self.method.name}"


def _rule(method: ComparedMethod, candidates: int, choose_on: int) -> dict[str, Any]:
    """How a candidate is chosen, as far as it decides the figures; {}: on each split, or only one exists."""
    if method.variant in CHOICES:
        return {"choice": "successive halving", "rungs": [list(rung) for rung in RUNGS]}
    return {} if candidates == 1 or choose_on == EVERY_SPLIT else {"choose_on": choose_on}


def run_comparisons(
    comparisons: Sequence[Comparison],
    results: Results,
    place: Place,
    *,
    threads: int | None = None,
    local: Callable[[str], AbstractContextManager[dict[str, Any]]] | None = None,
    progress: Callable[[int, str], None] = lambda done, name: None,
) -> list[dict[str, Any]]:
    """Return the figures of comparisons: stored ones, and others measured and stored as they finish.

    They run under ``joblib.parallel_config``, each with so many ``threads``. ``local`` gives the
    ``callbacks`` of one that runs here, by its title; ``progress`` is called with the number of those done.
    """
    todo = [*{one.digest: one for one in comparisons if not results.find(one)}.values()]
    tasks = [Task(_evaluate, (one.graph, replace(one, graph=None))) for one in todo]  # type: ignore[arg-type]

    def titled(number: int) -> AbstractContextManager[dict[str, Any]]:
        one = todo[number]
        title = f"{number + 1} of {len(todo)}: {one.graph.name} {one.method.name}"
        return nullcontext({}) if local is None else local(title)

    found: dict[str, dict[str, Any]] = {}
    with closing(run_tasks(tasks, place, threads=threads, local=titled)) as finished:
        for number, figures in finished:
            found[todo[number].digest] = figures
            # Another machine may have more memory, and another version refuse less.
            if figures.get("failed", {}).get("why") not in ("memory", "refused"):
                results.save(todo[number], figures)
            progress(len(found), todo[number].name)
    return [results.find(one) or found[one.digest] for one in comparisons]


def _evaluate(place: Place, graph: Graph, without_graph: Comparison, **options: Any) -> dict[str, Any]:
    """Run as a task: the graph is a separate argument."""
    return evaluate(replace(without_graph, graph=graph), place, **options)


def evaluate(comparison: Comparison, place: Place, callbacks: tuple[Callback, ...] = ()) -> dict[str, Any]:
    """Train the candidates, choose by validation, score test nodes: figures by split, and what was tried.

    Where every candidate failed, ``failed`` says why, and there are no figures.
    """
    started, graph, method = time.perf_counter(), comparison.graph, comparison.method
    splits = split_nodes(graph, comparison.split, range(comparison.splits))
    trials = Trials(graph, candidates_of(method, graph), splits, place, callbacks, method.name)
    rule = _rule(method, len(trials.candidates), comparison.choose_on)
    picked = pick_candidates(trials, rule.get("choose_on"), halving="rungs" in rule)
    chosen = [trials.trained(s)[c] for s, c in enumerate(picked or [])]
    scores = [_test_scores(trial, split.test) for trial, split in zip(chosen, splits, strict=bool(chosen))]
    products = torch.get_float32_matmul_precision()
    train, test = len(splits[0].train), len(splits[0].test)
    return {
        "tried": [_tried(trials, number) for number in range(len(trials.candidates))],
        "chosen": picked or [],
        "validation": [round(trial.validation, 4) for trial in chosen],
        # The last two are empty without a kernel, or with too many nodes.
        **{name: [round(one[i], 4) for one in scores if len(one) > i] for i, name in enumerate(FIGURES)},
        **({} if picked else {"failed": _failed(trials)}),
        "nodes": {"train": train, "test": test},
        # As Nadeau and Bengio's correction counts it. With some nodes per class hardly any training node is
        # in two splits: each is an independent draw, and Student's test is right about this graph.
        "overlap": 0.0 if is_per_class(comparison.split) else test / train,
        "seconds": round(time.perf_counter() - started, 2),
        "device": place.device.type,
        "machine": machine(place.device.type),
        **({} if products == "highest" else {"float32_products": products}),
    }


def _test_scores(trial: Trial, nodes: np.ndarray) -> list[float]:
    """Accuracy on test nodes and, with a kernel, retrieval."""
    on = trial.on.of_replicas([trial.replica])
    return [float(accuracies(on, [nodes])[0]), *(retrieval_of_run(on, 0, nodes) or [])]


def _tried(trials: Trials, number: int) -> dict[str, Any]:
    """A candidate's validation accuracy on each split that it was trained on; None where it failed."""
    own = [trials.done[cell] for cell in sorted(trials.done) if cell[1] == number]
    failures = [one.sentence for one in own if isinstance(one, Failure)]
    return {
        "settings": trials.candidates[number].settings,
        "validation": [round(one.validation, 4) if isinstance(one, Trial) else None for one in own],
        "lost": failures[0] if failures else None,
    }


def _failed(trials: Trials) -> dict[str, str]:
    """Why there are no figures."""
    failures = [one for one in trials.done.values() if isinstance(one, Failure)]
    reasons = {one.why for one in failures}
    why = next(one for one in ("memory", "refused", "diverged") if one in reasons)
    sentences = {
        "diverged": "every candidate diverged",
        "memory": "no candidate fits into memory",
        "refused": failures[0].sentence.rstrip("."),
    }
    mixed = "every candidate diverged, was refused or did not fit into memory"
    return {"why": why, "sentence": mixed if len(reasons) > 1 else sentences[why]}


def report(figures: Figures, methods: Mapping[str, ComparedMethod], against: str) -> dict[str, Any]:
    """Return the report; ``against``: the method that all others are compared with."""
    rest = [name for name in methods if name != against]
    found = {metric: differences(figures, [(against, name) for name in rest], metric) for metric in METRICS}
    return {
        "data": [
            {
                "dataset": dataset,
                "corrected": any(_overlap(result) > 0 for result in by_method.values()),
                "splits": max(len(result["accuracy"]) for result in by_method.values()),
                "variants": [
                    {"variant": name, "title": methods[name].title, **_summary(result)}
                    for name, result in by_method.items()
                ],
            }
            for dataset, by_method in figures.items()
        ],
        "against": against,
        "differences": [entry for metric in METRICS for entry in found[metric]],
        "summary": [_standing(found["accuracy"], name) for name in rest],
        "questions": [
            {
                "question": question,
                "with": one,
                "without": other,
                "answers": [
                    entry for metric in METRICS for entry in differences(figures, [(one, other)], metric)
                ],
            }
            for question, one, other in QUESTIONS
            if one in methods and other in methods
        ],
    }


def differences(figures: Figures, pairs: list[tuple[str, str]], metric: str) -> list[dict[str, Any]]:
    """Return the first method of each pair minus the second, on every data set, with Holm's correction."""
    found = []
    for dataset, by_method in figures.items():
        for one, other in pairs:
            a, b = (by_method.get(name, {}).get(metric) for name in (one, other))
            if not a or not b:  # not measured, without a kernel, or failed
                continue
            test = paired([x - y for x, y in zip(a, b, strict=True)], _overlap(by_method[one]))
            found.append((dataset, one, other, test))
    corrected = holm([test.p for *_, test in found])
    return [
        {
            "dataset": dataset, "metric": metric, "variant": one, "against": other,
            "mean": round(test.mean, 4), "low": round(test.low, 4), "high": round(test.high, 4),
            "p": test.p, "p_corrected": p,
            "verdict": "no clear difference" if p >= LEVEL else "better" if test.mean > 0 else "worse",
        }
        for (dataset, one, other, test), p in zip(found, corrected, strict=True)
    ]  # fmt: skip


def _standing(entries: list[dict[str, Any]], other: str) -> dict[str, Any]:
    """Data sets where the accuracy is significantly above another method's, and those where it is below."""
    own = [entry for entry in entries if entry["against"] == other]
    named = {word: [e["dataset"] for e in own if e["verdict"] == word] for word in ("better", "worse")}
    return {"against": other, "of": len(own), "above": named["better"], "below": named["worse"]}


def _overlap(result: Mapping[str, Any]) -> float:
    """Overlap of splits; results of 0.1 do not store it."""
    nodes = result["nodes"]
    return float(result.get("overlap", nodes["test"] / nodes["train"]))


def _summary(result: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in ("accuracy", "map", "precision_at_10", "validation"):
        runs = result[name]
        mean, std = mean_and_std(runs) if runs else (None, None)
        values[name] = runs and {"mean": round(mean, 4), "std": round(std, 4), "runs": runs}  # type: ignore[arg-type]
    values |= {"seconds": result["seconds"], "device": result["device"], "chosen": result["chosen"]}
    # Results of 0.1 do not store what was tried.
    return values | {"tried": result.get("tried"), "failed": result.get("failed", {}).get("sentence")}
