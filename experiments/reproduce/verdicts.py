"""Statistical tests behind every verdict: our figure against the paper's, and two of ours against each other.

A figure is a mean over R runs on some test nodes, so it has two errors: that of the runs, s/√R, and that of
the test nodes, which no number of runs removes. With 1,000 nodes the second is about one point. Where the
paper's test nodes are ours it is the same in both figures, and explains no difference between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from experiments.reproduce.cells import DIGITS
from experiments.reproduce.tables import Printed

LEVEL = 0.05
PAPERS_RUNS = 10  # "each result is reported based on an average over 10 runs"
# The least standard deviation above zero of ten accuracies on 1,000 nodes: one run gets one node more right.
LEAST_SPREAD = float(np.std([0.1] + 9 * [0.0], ddof=1))
NEAR = 0.5  # points
TESTED = {"jk": 20 / 60, "vgae-fresh": 10 / 85}  # with a fresh split per run: tested over trained on
MATCHES, CLOSE, DIFFERS, NOT_PRINTED = "matches", "close", "differs", "not in the paper"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a printed figure: its difference from ours and the standard error of that."""

    difference: float
    standard_error: float
    freedom: float  # of Student's t
    verdict: str


def judge(figure: Mapping[str, Any], paper: Printed, split: str) -> Verdict:
    """Compare a stored figure (mean, std, runs, sampling_error) with a printed one.

    - *matches*: what may differ between the two explains the difference, by Student's t-test on the level of
      5 %, and the rounding of the printed figure. On FastGCN's split that is the runs alone (Welch's test).
      On splits that are not the paper's the test nodes or edges belong to it.
    - *close*: it does not, but the figures lie within half a point.
    - *differs*: neither.

    A spread that the paper does not print is taken to be ours, and so is one that ten accuracies on 1,000
    nodes cannot have. The paper's figures on splits of its own are taken to be of one split: its spreads
    are far below those of fresh ones.
    """
    runs, own = len(figure["runs"]), float(figure["std"])
    difference = figure["mean"] - paper.mean
    if split in TESTED:  # does one split more lie where ours lie?
        error, freedom = own * math.sqrt(1 / runs + 1), float(max(1, runs - 1))
    else:
        possible = LEAST_SPREAD if split == "fastgcn" else 0.0
        papers = own if paper.std is None or paper.std < possible else paper.std
        of_edges = 0.0 if split == "fastgcn" else figure["sampling_error"] ** 2  # one edge split each
        ours, theirs = own**2 / runs + of_edges, papers**2 / PAPERS_RUNS + of_edges
        error, freedom = math.sqrt(ours + theirs), _freedom(ours, runs - 1, theirs, PAPERS_RUNS - 1)
    rounding = 0.5 * 10 ** -len(paper.text.split(" ")[0].partition(".")[2])
    verdict = DIFFERS
    if runs > 1 and abs(difference) <= float(stdtrit(freedom, 1 - LEVEL / 2)) * error + rounding:
        verdict = MATCHES
    elif abs(difference) <= NEAR:
        verdict = CLOSE
    return Verdict(round(difference, 4), round(error, 4), round(freedom, 2), verdict)


def _freedom(one: float, of_one: int, other: float, of_other: int) -> float:
    """Welch and Satterthwaite's degrees of freedom of a sum of two variances of means."""
    if one + other == 0 or of_one < 1:
        return float(max(1, of_one))
    return (one + other) ** 2 / (one**2 / of_one + other**2 / of_other)


@dataclass(frozen=True)
class Difference:
    """One figure minus another, with its standard error; ``freedom`` of the t-test, infinite for a normal."""

    value: float
    standard_error: float
    freedom: float = math.inf

    def moved(self, by: float) -> Difference:
        """The same with a margin added."""
        return Difference(self.value + by, self.standard_error, self.freedom)

    def clear(self, comparisons: int = 1) -> int:
        """1 if it is clearly positive, −1 if clearly negative, else 0; Bonferroni for several."""
        level = LEVEL / comparisons / 2
        limit = ndtri(1 - level) if math.isinf(self.freedom) else stdtrit(self.freedom, 1 - level)
        if abs(self.value) <= limit * self.standard_error:
            return 0
        return 1 if self.value > 0 else -1


def differ(one: Mapping[str, Any], other: Mapping[str, Any], metric: str) -> Difference:
    """Compare two stored results in pairs, as far as they were measured in pairs.

    - same test nodes: how many runs get each node right, node by node, and the runs' own spread;
    - same fresh splits: run by run, with Nadeau and Bengio's correction for overlapping resplits: which
      system is better is a question about graphs like this one, not only this one;
    - otherwise: both errors of both, which is harder on a claim.
    """
    a, b = _figure(one, metric), _figure(other, metric)
    value = a["mean"] - b["mean"]
    of_runs = a["std"] ** 2 / len(a["runs"]) + b["std"] ** 2 / len(b["runs"])
    if metric == "accuracy" and one.get("right") and other.get("right"):
        by_node = 100 * (_shares(one) - _shares(other))
        return Difference(value, math.sqrt(by_node.var(ddof=1) / len(by_node) + of_runs))
    ratio = TESTED.get(one["settings"].get("split"))
    if ratio is not None and len(a["runs"]) == len(b["runs"]) > 1:
        by_split = np.subtract(a["runs"], b["runs"])
        error = math.sqrt(by_split.var(ddof=1) * (1 / len(by_split) + ratio))
        return Difference(value, error, len(by_split) - 1)
    return Difference(value, math.sqrt(of_runs + a["sampling_error"] ** 2 + b["sampling_error"] ** 2))


def _figure(record: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    part = record["figure"] if "figure" in record else record["test"]
    figure: Mapping[str, Any] = part[metric]
    return figure


def _shares(record: Mapping[str, Any]) -> np.ndarray:
    """Share of the runs that get each test node right: m."""
    return np.array([DIGITS.index(digit) for digit in record["right"]]) / record["settings"]["runs"]
