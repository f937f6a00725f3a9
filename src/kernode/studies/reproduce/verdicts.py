"""Is our figure the paper's? Are two of our figures different? The tests behind every verdict.

A figure is a mean over R runs on some test nodes, so it has two errors: that of the runs, s/√R, and that of
the test nodes, which no number of runs removes. With 1,000 nodes the second is about one point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from kernode.studies.reproduce.measure import DIGITS
from kernode.studies.reproduce.settings import Printed

LEVEL = 0.05
PAPERS_RUNS = 10  # "each result is reported based on an average over 10 runs"
REPRODUCED, ABOVE, BELOW, NOT_PRINTED = "reproduced", "above", "below", "not in the paper"


@dataclass(frozen=True)
class Verdict:
    """What became of a printed figure.

    ``explained_by_runs``: whether the spread of the runs alone explains the difference, where both figures
    are of the very same test nodes (else None). Where it does not, something in data, settings or code is
    not the paper's, although other test nodes might hide it.
    """

    difference: float
    standard_error: float
    verdict: str
    explained_by_runs: bool | None


def judge(figure: Mapping[str, Any], paper: Printed, split: str) -> Verdict:
    """Compare a stored figure (mean, std, runs, sampling_error) with a printed one.

    The difference is divided by √(s²/R + s_p²/10 + e²), with e the test nodes' sampling error; beyond ± 1.96
    it is not reproduced. On FastGCN's split both figures are of the same nodes, which count once; on
    splits of one's own the paper's nodes add their own error.
    """
    runs = len(figure["runs"])
    of_runs = figure["std"] ** 2 / runs + (paper.std or 0.0) ** 2 / PAPERS_RUNS
    of_nodes = figure["sampling_error"] ** 2
    if split == "vgae":
        of_nodes *= 2
    elif split == "jk" and figure["std"] > 0:  # the paper's resplits, by its own spread
        of_nodes *= 1 + ((paper.std or 0.0) / figure["std"]) ** 2
    difference = figure["mean"] - paper.mean
    error = math.sqrt(of_runs + of_nodes)
    limit = float(ndtri(1 - LEVEL / 2))
    verdict = REPRODUCED if abs(difference) <= limit * error else ABOVE if difference > 0 else BELOW
    rounding = 0.5 * 10 ** -len(paper.text.split(" ")[0].partition(".")[2])  # of a printed figure
    known = split == "fastgcn" and runs > 1  # the same nodes, and a spread to compare with
    by_runs = abs(difference) <= limit * math.sqrt(of_runs) + rounding if known else None
    return Verdict(round(difference, 4), round(error, 4), verdict, by_runs)


@dataclass(frozen=True)
class Difference:
    """One figure minus another, with its standard error; ``freedom`` of the t-test, infinite for a normal."""

    value: float
    standard_error: float
    freedom: float = math.inf

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
    - same fresh splits: run by run, with Nadeau and Bengio's correction for overlapping resplits;
    - otherwise: both errors of both.
    """
    a, b = _figure(one, metric), _figure(other, metric)
    value = a["mean"] - b["mean"]
    of_runs = a["std"] ** 2 / len(a["runs"]) + b["std"] ** 2 / len(b["runs"])
    if metric == "accuracy" and one.get("right") and other.get("right"):
        by_node = 100 * (_shares(one) - _shares(other))
        return Difference(value, math.sqrt(by_node.var(ddof=1) / len(by_node) + of_runs))
    if one["settings"].get("split") == "jk" and len(a["runs"]) == len(b["runs"]) > 1:
        by_split = np.subtract(a["runs"], b["runs"])
        ratio = 1 / 3  # 20 % of the nodes test, 60 % train
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
