"""Comparison of methods on graphs: the same random splits for all, test nodes scored once, paired tests.

Candidates of a method are trained in stacks, a replica for each split, and validation accuracy chooses one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch

from kernode.compute.machine import machine
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.io.node_split import is_per_class
from kernode.metrics.accuracy import accuracy, mean_and_std
from kernode.metrics.significance import holm, paired
from kernode.models.fit import RUNGS, fit_candidates
from kernode.search.baselines import ComparedMethod
from kernode.search.results import Results, digest_of
from kernode.search.tasks import Failure, Task, run_tasks, train_stack
from kernode.tasks.classes.evaluation import retrieval_of_run
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.sum import fit_sum, summed
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import CHOICES, candidates, configure, is_sum, settings_key
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import Training

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
Cell = tuple[int, int]  # a split and a candidate, by their numbers


@dataclass(frozen=True)
class Candidate:
    """A method with its training, and as plain values the settings that distinguish it."""

    settings: dict[str, Any]
    method: NodeMethod
    training: Training


def candidates_of(method: ComparedMethod, graph: Graph) -> list[Candidate]:
    """Return all candidates, without settings that were searched for on this graph.

    Those of a choice such as "auto" are its own.
    """
    key = settings_key(graph)
    if method.variant in CHOICES:
        found = candidates(method.variant, key, tuned=False, **method.changes)
        return [Candidate({"variant": name}, *parts) for name, parts in found.items()]
    made = []
    for changes in method.candidates:
        parts = configure(method.variant, key, tuned=False, **{**method.changes, **changes})
        plain = {k: v.to_json() if isinstance(v, Config) else v for k, v in changes.items()}
        made.append(Candidate(plain, *parts))
    return made


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
        found = candidates_of(self.method, self.graph)
        return {
            "kind": "compare",
            "dataset": self.graph.name,
            "fingerprint": self.graph.fingerprint,
            "split": self.split,
            "splits": self.splits,
            "candidates": [
                {"method": one.method.to_json(), "training": one.training.to_json()} for one in found
            ],
            **self.rule(len(found)),
        }

    @cached_property
    def digest(self) -> str:
        """The digest that the result is found by."""
        return digest_of(self.settings)

    @property
    def name(self) -> str:
        """Graph and method."""
        return f"{self.graph.name}-{self.method.name}"

    def rule(self, count: int) -> dict[str, Any]:
        """How one of so many candidates is chosen, where that decides the figures.

        {}: each split chooses for itself, or only one candidate exists.
        """
        if is_sum(self.method.variant):
            return {"choice": "sum of kernels"}
        if self.method.variant in CHOICES:
            return {"choice": "successive halving", "rungs": [list(rung) for rung in RUNGS]}
        return {} if count == 1 or self.choose_on == EVERY_SPLIT else {"choose_on": self.choose_on}


def run_comparisons(
    comparisons: Sequence[Comparison],
    results: Results,
    options: TensorOptions,
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
    with closing(run_tasks(tasks, options, threads=threads, local=titled)) as finished:
        for number, figures in finished:
            found[todo[number].digest] = figures
            # Another machine may have more memory, and another version refuse less.
            if figures.get("failed", {}).get("why") not in ("memory", "refused"):
                results.save(todo[number], figures)
            progress(len(found), todo[number].name)
    return [results.find(one) or found[one.digest] for one in comparisons]


def _evaluate(options: TensorOptions, graph: Graph, without_graph: Comparison, **how: Any) -> dict[str, Any]:
    """Run as a task: the graph is a separate argument."""
    return evaluate(replace(without_graph, graph=graph), options, **how)


def evaluate(
    comparison: Comparison, options: TensorOptions, callbacks: tuple[Callback, ...] = ()
) -> dict[str, Any]:
    """Train the candidates, choose by validation, score test nodes: figures by split, and what was tried.

    Where every candidate failed, ``failed`` has the reason, and there are no figures.
    """
    started, graph, method = time.perf_counter(), comparison.graph, comparison.method
    splits = split_nodes(graph, comparison.split, range(comparison.splits))
    trials = Trials(graph, candidates_of(method, graph), splits, options, callbacks, method.name)
    if method.variant in CHOICES:
        found = fit_choice(trials, method.variant)
    else:
        found = pick_candidates(trials, comparison.rule(len(trials.candidates)).get("choose_on"))
    scores = [_test_scores(one.on, split.test) for one, split in zip(found.trials, splits, strict=False)]
    products = torch.get_float32_matmul_precision()
    train, test = len(splits[0].train), len(splits[0].test)
    return {
        "tried": [
            {
                "settings": one.settings,
                "validation": [None if value is None else round(value, 4) for value in found.tried[number]],
                "lost": found.failures[number].sentence if number in found.failures else None,
            }
            for number, one in enumerate(trials.candidates)
        ],
        "chosen": found.chosen,
        "validation": [round(one.validation, 4) for one in found.trials],
        # The last two are empty without a kernel, or with too many nodes.
        **{name: [round(one[i], 4) for one in scores if len(one) > i] for i, name in enumerate(FIGURES)},
        **({} if found.trials else {"failed": found.failures[0]._asdict()}),
        "nodes": {"train": train, "test": test},
        # As Nadeau and Bengio's correction counts it. With some nodes per class hardly any training node is
        # in two splits: each is an independent draw, and Student's test is right about this graph.
        "overlap": 0.0 if is_per_class(comparison.split) else test / train,
        "seconds": round(time.perf_counter() - started, 2),
        "device": options.device.type,
        "machine": machine(options.device.type),
        **({} if products == "highest" else {"float32_products": products}),
    }


def _test_scores(on: NodeModelOnGraph, nodes: np.ndarray) -> list[float]:
    """Accuracy on test nodes and, with a kernel, retrieval."""
    return [float(accuracies(on, [nodes])[0]), *(retrieval_of_run(on, 0, nodes) or [])]


class Trial(NamedTuple):
    """A candidate trained on a split."""

    on: NodeModelOnGraph  # of one replica
    validation: float  # accuracy in percent


class Outcome(NamedTuple):
    """What was tried on each split, and what was chosen; without trials where every candidate failed."""

    chosen: list[int]  # number of the candidate
    trials: list[Trial]
    tried: list[list[float | None]]  # validation accuracies of each candidate; None where it failed
    failures: dict[int, Failure]  # the first of each candidate that failed


@dataclass
class Trials:
    """All trials on a graph; each cell is trained once."""

    graph: Graph
    candidates: list[Candidate]
    splits: list[Split]
    options: TensorOptions
    callbacks: tuple[Callback, ...] = ()
    name: str = ""  # in progress and logs
    done: dict[Cell, Trial | Failure] = field(default_factory=dict)

    def run(self, cells: Iterable[Cell]) -> None:
        """Train cells that are not done, one stack per candidate and size of the parts of a split.

        A replica's seed is its split's number.
        """
        stacks: dict[tuple[int, int, int], list[Cell]] = {}
        for cell in cells:
            if cell not in self.done:
                split = self.splits[cell[0]]
                stacks.setdefault((cell[1], len(split.train), len(split.validation)), []).append(cell)
        for stack in stacks.values():
            self.done |= zip(stack, train_stack(stack, self._train), strict=True)

    def trained(self, split: int) -> dict[int, Trial]:
        """Return the trials on a split that succeeded, by candidate."""
        return {c: one for (s, c), one in self.done.items() if s == split and isinstance(one, Trial)}

    def task(self, splits: Sequence[int]) -> NodeTask:
        """Return the task of a stack with a replica for each of some splits."""
        run = Run(tuple(splits), self.options, self.callbacks, self.name)
        return NodeTask.of_splits(self.graph, [self.splits[s] for s in splits], run)

    def _train(self, cells: Sequence[Cell]) -> list[Trial]:
        candidate, task = self.candidates[cells[0][1]], self.task([s for s, _ in cells])
        parts = {self.name: (candidate.method, candidate.training)}
        on: Any = fit_candidates(task, parts, split="random")
        if candidate.method.has_kernel:  # nothing of it stays on the GPU while the next stack trains
            on = replace(on, known_g=on.g.cpu(), prepared=None)
        validation = accuracies(on, [self.splits[s].validation for s, _ in cells])
        alone = [on.of_replicas([i]) for i in range(len(cells))] if len(cells) > 1 else [on]
        return [Trial(one, float(value)) for one, value in zip(alone, validation, strict=True)]


def accuracies(on: NodeModelOnGraph, nodes: list[np.ndarray]) -> np.ndarray:
    """Return the accuracy in percent of each replica, each on its own nodes."""
    rows = np.stack(nodes)
    found: np.ndarray = accuracy(on.probabilities(rows).argmax(axis=-1), on.classes.known[rows])
    return found


def pick_candidates(trials: Trials, first: int | None) -> Outcome:
    """Pick one candidate for all splits by the mean over the ``first`` few, or one for each split (None).

    Only what is picked is trained on the other splits. Where it fails there, the choice is made again
    without it.
    """
    seen, numbers = range(len(trials.splits))[:first], range(len(trials.candidates))
    trials.run(product(seen, numbers))
    while picked := _picked(trials, seen, first is not None):
        trials.run(enumerate(picked))
        if not any(isinstance(trials.done[cell], Failure) for cell in enumerate(picked)):
            break
    done = sorted(trials.done.items(), key=lambda item: item[0])
    values = [(number, one.validation if isinstance(one, Trial) else None) for (_, number), one in done]
    failures = {number: one for (_, number), one in reversed(done) if isinstance(one, Failure)}
    chosen = [trials.trained(s)[c] for s, c in enumerate(picked)]
    return Outcome(
        picked, chosen, [[one for c, one in values if c == number] for number in numbers], failures
    )


def _picked(trials: Trials, seen: Sequence[int], one_for_all: bool) -> list[int]:
    """The candidate of each split; empty where every one failed."""
    values = [{c: one.validation for c, one in trials.trained(s).items()} for s in seen]
    if one_for_all:
        failed = {c for (_, c), one in trials.done.items() if isinstance(one, Failure)}
        left = sorted({*range(len(trials.candidates))} - failed)
        values = [{c: float(np.mean([own[c] for own in values])) for c in left}] * len(trials.splits)
    return [max(own, key=lambda c: (own[c], -c)) for own in values] if all(values) else []


def fit_choice(trials: Trials, variant: str) -> Outcome:
    """Fit a choice such as "auto" or "fast" on each split alone, as an estimator does."""
    if is_sum(variant) and trials.options.device.type == "cuda":
        return fit_sums(trials)
    parts = {one.settings["variant"]: (one.method, one.training) for one in trials.candidates}
    names, fit = list(parts), fit_sum if is_sum(variant) else fit_candidates

    def train(splits: Sequence[int]) -> list[Trial]:
        on: Any = fit(trials.task(splits), parts, split="random")
        return [Trial(on, float(accuracies(on, [trials.splits[splits[0]].validation])[0]))]

    found = [train_stack([s], train)[0] for s in range(len(trials.splits))]
    if failure := next((one for one in found if isinstance(one, Failure)), None):
        return Outcome([], [], [[] for _ in names], dict.fromkeys(range(len(names)), failure))
    done = [one for one in found if isinstance(one, Trial)]
    figures = [one.on.model.chosen_by_validation or {} for one in done]
    tried = [[by_name.get(name) for by_name in figures] for name in names]
    return Outcome([names.index(one.on.model.variant) for one in done], done, tried, {})


def fit_sums(trials: Trials) -> Outcome:
    """Sum the candidates on each split alone; each is trained to its end in a stack over the splits."""
    numbers = range(len(trials.candidates))
    trials.run(product(range(len(trials.splits)), numbers))
    failures = {c: one for (_, c), one in sorted(trials.done.items()) if isinstance(one, Failure)}
    tried = [[one.validation if isinstance(one := trials.done[s, c], Trial) else None
              for s in range(len(trials.splits))] for c in numbers]  # fmt: skip
    found = []
    for s, split in enumerate(trials.splits):
        done = {trials.candidates[c].settings["variant"]: one for c, one in trials.trained(s).items()}
        fitted = {name: one.on for name, one in done.items()}
        on = summed(trials.task([s]), fitted, {name: one.validation for name, one in done.items()})
        found.append(Trial(on, float(accuracies(on, [split.validation])[0])))
    return Outcome([0] * len(found), found, tried, failures)


def report(figures: Figures, methods: Mapping[str, ComparedMethod], against: str) -> dict[str, Any]:
    """Return the report; ``against``: the method that all others are compared with."""
    rest = [name for name in methods if name != against]
    found = {metric: differences(figures, [(against, name) for name in rest], metric) for metric in METRICS}
    return {
        "data": [
            {
                "dataset": dataset,
                "corrected": any(result["overlap"] > 0 for result in by_method.values()),
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
            test = paired([x - y for x, y in zip(a, b, strict=True)], by_method[one]["overlap"])
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


def _summary(result: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in ("accuracy", "map", "precision_at_10", "validation"):
        runs = result[name]
        mean, std = mean_and_std(runs) if runs else (None, None)
        values[name] = runs and {"mean": round(mean, 4), "std": round(std, 4), "runs": runs}  # type: ignore[arg-type]
    values |= {"seconds": result["seconds"], "device": result["device"], "chosen": result["chosen"]}
    # Results of 0.1 do not have what was tried.
    return values | {"tried": result.get("tried"), "failed": result.get("failed", {}).get("sentence")}
