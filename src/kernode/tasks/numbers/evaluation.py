"""Evaluation of predicted numbers: errors, baselines, intervals, twins."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit
from scipy.stats import betabinom, binom

from kernode.graph import Graph
from kernode.models.model import Report
from kernode.progress import report_progress
from kernode.tasks.numbers.baselines import NAMES, baseline_numbers, compare
from kernode.tasks.numbers.model import INTERVALS, Interval, NumbersOnGraph, enough_errors
from kernode.version import versions

COVERAGE = 0.9
_MANY_TWINS = 0.05  # of the test nodes: from here on a report says so


def figures(truth: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """R² as a fraction (0: no better than the mean), mean absolute error and root mean squared error."""
    off = truth - predicted
    variance = float(np.square(truth - truth.mean()).mean())
    squared = float(np.square(off).mean())
    return {
        "r2": 1 - squared / variance if variance else 0.0,
        "mae": float(np.abs(off).mean()),
        "rmse": squared**0.5,
    }


def number_report(on: NumbersOnGraph, nodes: np.ndarray, truth: np.ndarray) -> Report:
    """Evaluate the answers about nodes with known numbers."""
    model, graph = on.model, on.graph
    held = 0 if model.held is None else model.held.shape[1]
    found: dict[str, Any] = {
        **on.facts(),
        "target": model.target_name,
        "split": model.split,
        "test": evaluate(on, nodes, truth),
        "left_out": figures(model.targets[0], on.left_out()[0]),  # each known number by all others
        "sizes": {"nodes": graph.n_nodes, "known": model.train.shape[1], "held": held, "test": len(nodes)},
        "mean": model.center,
        "spread": model.spread,
        "versions": versions(),
        "seconds": round(model.seconds, 3),
    }
    return Report(found, lines)


def evaluate(on: NumbersOnGraph, nodes: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Figures of t nodes with true numbers, baselines, coverage and twins."""
    if not len(nodes):
        return {"nodes": 0}
    predicted = on.numbers(nodes)
    variance = float(truth.var())
    found: dict[str, Any] = {
        "nodes": len(nodes),
        "known": int(np.isin(nodes, on.model.train[0]).sum()),
        **figures(truth, predicted),
        "r2_95": r2_interval(truth, predicted),
        "spread": variance**0.5,
    }
    answers = baseline_numbers(on, nodes)
    baselines = {name: figures(truth, own) | about for name, (own, about) in answers.items()}
    squared = {name: np.square(truth - own) for name, (own, _) in answers.items()}
    compare(baselines, squared, np.square(truth - predicted), variance or 1.0)
    return {
        **found,
        "baselines": baselines,
        "coverage": coverage_figures(on, nodes, truth),
        "twins": twin_figures(on, nodes, truth, predicted),
    }


def r2_interval(truth: np.ndarray, predicted: np.ndarray) -> list[float] | None:
    """The 95 % interval of R² by how nodes were drawn (delta method); None for fewer than three."""
    t, variance = len(truth), float(truth.var())
    if t < 3 or not variance:
        return None
    squared, around = np.square(truth - predicted), np.square(truth - truth.mean())
    rest = squared.mean() / variance
    error = np.std((squared - rest * around) / variance, ddof=1) / t**0.5
    reach = stdtrit(t - 1, 0.975) * error
    return [float(1 - rest - reach), min(1.0, float(1 - rest + reach))]


def coverage_figures(on: NumbersOnGraph, nodes: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Each method's 90 % intervals: share of true numbers within in percent, and mean width.

    ``width_in_spreads``: the width in standard deviations of the true numbers. ``by_chance``: where the share
    is in 95 % of cases if intervals are right.
    """
    found: dict[str, Any] = {}
    for done, method in enumerate(INTERVALS):
        report_progress("intervals", done, len(INTERVALS))
        held = on.model.held if method == "conformal" else on.model.train
        if method != "gaussian" and not enough_errors(0 if held is None else held.shape[1], COVERAGE):
            found[method] = {"skipped": "too few nodes were held out of the fit" if method == "conformal"
                             else "too few known numbers"}  # fmt: skip
            continue
        low, high = on.intervals(nodes, COVERAGE, method).T
        width, spread = float((high - low).mean()), float(truth.std())
        found[method] = {
            "nominal": 100 * COVERAGE,
            "measured": 100 * float(((low <= truth) & (truth <= high)).mean()),
            "by_chance": coverage_by_chance(on, len(nodes), COVERAGE, method),
            "width": width,
            "width_in_spreads": width / spread if spread else None,
        }
    return found


def coverage_by_chance(on: NumbersOnGraph, t: int, coverage: float, method: Interval) -> list[float]:
    """Between which percentages of t nodes right intervals hold in 95 % of cases.

    Conformal: how many of t nodes are below the k-th smallest of h errors is beta-binomial, as those of the
    nodes that were held out are a sample, too. Others: binomial.
    """
    held = on.model.held
    law = binom(t, coverage)
    if method == "conformal" and held is not None:
        h = held.shape[1]
        k = min(h, int(np.ceil((h + 1) * coverage)))
        law = betabinom(t, k, h + 1 - k)
    return [100 * float(law.ppf(level)) / t for level in (0.025, 0.975)]


def twins(graph: Graph, train: np.ndarray, targets: np.ndarray, nodes: np.ndarray, truth: np.ndarray) -> Any:
    """Mask of the nodes that have the neighbours (at least one) and the number of a known node: t."""
    a = graph.adjacency
    pattern = type(a)((np.ones(len(a.data), np.uint64), a.indices, a.indptr), shape=a.shape)
    # Two random numbers of 64 bits for each node: sums are the same for the same neighbours only.
    marks = np.random.default_rng(0).integers(2**64, size=(graph.n_nodes, 2), dtype=np.uint64)
    keys, degrees = pattern @ marks, np.diff(a.indptr)

    def described(some: np.ndarray, numbers: np.ndarray) -> list[tuple[Any, ...]]:
        return list(zip(*keys[some].T.tolist(), numbers.tolist(), strict=True))

    known: dict[tuple[Any, ...], set[int]] = {}
    for node, key in zip(train.tolist(), described(train, targets), strict=True):
        known.setdefault(key, set()).add(node)
    own = described(nodes, truth)
    return np.array(
        [
            bool(degrees[node] and known.get(key, set()) - {node})
            for node, key in zip(nodes.tolist(), own, strict=True)
        ],
        bool,
    )


def twin_figures(
    on: NumbersOnGraph, nodes: np.ndarray, truth: np.ndarray, predicted: np.ndarray
) -> dict[str, Any]:
    """How many test nodes have a twin among the known nodes, and R² without them."""
    own = twins(on.graph, on.model.train[0], on.model.targets[0], nodes, truth)
    left = ~own
    without = figures(truth[left], predicted[left])["r2"] if left.sum() > 1 else None
    return {"nodes": int(own.sum()), "r2_without": without}


def lines(report: dict[str, Any]) -> list[str]:
    """The report in words, for a terminal of 80 columns."""
    test = report["test"]
    if not test["nodes"]:
        return [f"{'R²':<20} none: no node was kept for a test"]
    n, known = test["nodes"], test["known"]
    about = f"{n:,} node{'s' * (n > 1)}"
    if test["r2_95"] is not None:
        about += ", 95 % interval {:.3f} to {:.3f}".format(*test["r2_95"])
    found = [f"{'R²':<20} {test['r2']:z.3f}   ({about})"]
    found += [f"{'':<20} {line}" for line in baseline_lines(test)]
    if known:
        found.append(f"{'':<20} optimistic: {known:,} of the nodes are known to the model")
    found += [f"{'':<20} {line}" for line in twin_lines(test)]
    found.append(f"{'MAE':<20} {test['mae']:.4g}")
    found.append(f"{'RMSE':<20} {test['rmse']:.4g}   (the numbers' standard deviation: {test['spread']:.4g})")
    found.append(f"{'90 % intervals':<20} coverage  by chance        mean width  in deviations")
    for method, one in test["coverage"].items():
        if "skipped" in one:
            found.append(f"{'  ' + method:<20} {one['skipped']}")
            continue
        chance = "{:.1f} to {:.1f} %".format(*one["by_chance"])
        relative = "–" if one["width_in_spreads"] is None else f"{one['width_in_spreads']:.2f}"
        row = f"{one['measured']:6.1f} %  {chance:<16} {one['width']:<11.4g} {relative}"
        found.append(f"{'  ' + method:<20} {row}")
    return found


def baseline_lines(test: dict[str, Any]) -> list[str]:
    """The baselines, each in a line that says where one is better than the model."""
    found = []
    for name, one in test["baselines"].items():
        line = f"{one['r2']:z.3f} {NAMES[name]}"
        line += f", {one['training_nodes']:,} known numbers" if "training_nodes" in one else ""
        found.append(f"{line}: ahead by {one['ahead']:.3f}" if one["ahead"] > 0 else line)
    return found + graph_lines(test)


def graph_lines(test: dict[str, Any]) -> list[str]:
    """A line where no answer with edges is measurably better than the best one without."""
    for name, one in test["baselines"].items():
        if one.get("graph_adds") is False:
            low, high = one["ahead_95"] or (-np.inf, np.inf)
            interval = f"95 % interval {-high:+.3f} to {-low:+.3f}"
            by = f"{-one['ahead']:+.3f} over {NAMES[name].partition(' (')[0]} ({interval})"
            return ["the graph adds nothing measurable here: the model's R² is", by.replace("-", "−")]
    return []


def twin_lines(test: dict[str, Any]) -> list[str]:
    """Two lines where many test nodes have a twin."""
    found, n = test["twins"], test["nodes"]
    if found["nodes"] <= _MANY_TWINS * n:
        return []
    without = "none left" if found["r2_without"] is None else f"{found['r2_without']:.3f}"
    return [
        f"{found['nodes']:,} of {n:,} test nodes have a twin among the known nodes",
        f"(same neighbours, same number): R² without them {without}",
    ]
