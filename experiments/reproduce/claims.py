"""The paper's claims in words, each with a verdict from its own figures and from ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from experiments.reproduce.tables import Table
from experiments.reproduce.verdicts import LEAST_SPREAD, Difference, differ
from kernode.search.results import Results, read_record

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not decided"
MISSING, UNPRINTED = "not measured", "no figures"
READINGS = ("each", "last", "released")
COMPARABLE = 1.0  # points that may be missing

EARLIER = ("kled", "gcn", "gat", "fastgcn")
OURS = ("k1", "k2", "k3", "n1", "k1-gcn", "k2-gat")
ALL = ("cora", "citeseer", "pubmed")
WIDTHS = ("c-0_25", "c-0_50", "c-0_75", "c-1_00")


@dataclass(frozen=True)
class Claim:
    """A claim with its verdicts."""

    claim: str
    where: str
    paper: str  # verdict from the paper's own figures
    ours: dict[str, str]  # verdict by reading of the hop operator; one entry, "", where there is none
    sentence: str


@dataclass(frozen=True)
class Pair:
    """Something that should be above something else."""

    dataset: str
    better: str
    worse: str
    metric: str = "accuracy"


@dataclass(frozen=True)
class Ordering:
    """A claim that is a list of pairs.

    All of them must be clearly so (``rule`` "all"), or on more than half of the data sets all ("most").
    "comparable": clearly no more than a point below, since not to be caught below proves nothing.
    """

    claim: str
    table: str
    pairs: tuple[Pair, ...]
    rule: str = "all"


def every(better: Iterable[str], worse: Iterable[str], datasets: Iterable[str] = ALL) -> tuple[Pair, ...]:
    """Each of some systems above each of some others."""
    return tuple(Pair(d, b, w) for d, b, w in product(datasets, better, worse) if b != w)


def rising(rows: tuple[str, ...]) -> tuple[Pair, ...]:
    """Each row above the one before it."""
    return tuple(Pair(dataset, b, a) for dataset in ALL for a, b in pairwise(rows))


ORDERINGS = (
    Ordering("K3 is the best on all data sets", "table2", every(("k3",), (*EARLIER, *OURS))),
    Ordering("on Pubmed all variants are ahead of all earlier methods", "table2",
             every(OURS, EARLIER, ("pubmed",))),
    Ordering("N1 alone, without a kernel, is at the state of the art (above all earlier methods)", "table2",
             every(("n1",), EARLIER)),
    Ordering("K2 is above K1 on Citeseer and Pubmed", "table2", every(("k2",), ("k1",), ALL[1:])),
    Ordering("K1 is above K1* and K2* on most data sets", "table2", every(("k1",), ("k1-gcn", "k2-gat")),
             "most"),
    Ordering("K1* is above GCN and K2* above GAT: the kernel improves both", "table2",
             every(("k1-gcn",), ("gcn",)) + every(("k2-gat",), ("gat",))),
    Ordering("K3 is the best on JK's split", "table3", every(("k3",), ("gcn", "gat", "jk-concat"), ALL[:2])),
    Ordering("more hops are better, from 1 to 3", "table4", rising(("1-hop", "default", "3-hop"))),
    Ordering("two layers are better than one or three", "table4",
             every(("default",), ("1-layer", "3-layer"))),
    Ordering("a larger c is better", "table4", rising(WIDTHS)),
    Ordering("learned ω is better than any c", "table4", every(("default",), WIDTHS)),
    Ordering("the kernel is comparable with GAE and VGAE (no more than a point below them)", "table5",
             tuple(Pair(d, "kernel-plain", w, m) for d in ALL for w in ("gae", "vgae")
                   for m in ("auc", "ap")),
             "comparable"),
    Ordering("K3's clusters are more compact than GCN's and GAT's (silhouette)", "figures",
             tuple(Pair(d, "embedding-k3", f"embedding-{w}", "silhouette")
                   for d in ("citeseer", "cora") for w in ("gcn", "gat"))),
)  # fmt: skip


def judge_claims(tables: Iterable[Table], results: Results) -> list[Claim]:
    """Every claim about the given tables; those about cost and mathematics where all are given."""
    by_name = {table.name: table for table in tables}
    claims = [judge_ordering(one, by_name[one.table], results) for one in ORDERINGS if one.table in by_name]
    if {"table2", "table4", "figures"} <= set(by_name):
        claims += [theorem_3(), smallest_spread(by_name["table4"]), *cost_claims(results)]
    return claims


def judge_ordering(ordering: Ordering, table: Table, results: Results) -> Claim:
    """Count the pairs that are clearly so, clearly otherwise, or too close, for each reading."""
    named = {row.reading for row in table.rows}
    verdicts, sentences = {}, []
    for reading in [one for one in READINGS if one in named] or [""]:
        outcome = _measured(ordering, table, results, reading)
        verdicts[reading] = outcome.verdict
        sentences.append(f"{reading}: {outcome.sentence}" if reading else outcome.sentence)
    printed = _printed(ordering, table)
    return Claim(ordering.claim, table.name, printed.verdict, verdicts, " ".join(sentences))


@dataclass(frozen=True)
class _Outcome:
    verdict: str
    sentence: str


def _measured(ordering: Ordering, table: Table, results: Results, reading: str) -> _Outcome:
    def difference(pair: Pair) -> Difference | None:
        records = [_record(table, results, row, pair.dataset, reading) for row in (pair.better, pair.worse)]
        return None if None in records else differ(records[0], records[1], pair.metric)  # type: ignore[arg-type]

    return _counted(ordering, difference, _titles(table))


def _printed(ordering: Ordering, table: Table) -> _Outcome:
    """The paper's own figures, taken at their word: any difference counts."""

    def difference(pair: Pair) -> Difference | None:
        cells = [_cell(table, row, pair.dataset, READINGS[0]) for row in (pair.better, pair.worse)]
        figures = [cell.paper.get(pair.metric) for cell in cells if cell is not None]
        if len(figures) < 2 or figures[0] is None or figures[1] is None:
            return None
        return Difference(figures[0].mean - figures[1].mean, 0.0)

    outcome = _counted(ordering, difference, _titles(table), needs_all=False)
    return _Outcome(UNPRINTED, "") if outcome.verdict == MISSING else outcome


def _counted(
    ordering: Ordering,
    difference: Callable[[Pair], Difference | None],
    titles: Mapping[str, str],
    needs_all: bool = True,
) -> _Outcome:
    found = {pair: difference(pair) for pair in ordering.pairs}
    known = {pair: one for pair, one in found.items() if one is not None}
    if not known or (needs_all and len(known) < len(found)):
        return _Outcome(MISSING, "Its cells have not all been run.")
    signs = {pair: _sign(ordering.rule, one, len(known)) for pair, one in known.items()}
    yes, no = _count(signs, 1), _count(signs, -1)
    against = [pair for pair, sign in signs.items() if sign < 0]
    counts = f"{yes} of {len(signs)} clearly so, {len(signs) - yes - no} too close, {no} the other way"
    named = ", ".join(
        f"{titles[p.worse]} above {titles[p.better]} on {p.dataset.capitalize()}" for p in against[:4]
    )
    more = f" and {len(against) - 4} more" if len(against) > 4 else ""
    return _Outcome(_verdict(ordering.rule, signs), f"{counts}{f' ({named}{more})' if against else ''}.")


def _count(signs: Mapping[Pair, int], wanted: int) -> int:
    return sum(sign == wanted for sign in signs.values())


def _sign(rule: str, difference: Difference, comparisons: int) -> int:
    """1 if a pair is clearly so, −1 if clearly otherwise, else 0."""
    return difference.moved(COMPARABLE if rule == "comparable" else 0.0).clear(comparisons)


def _verdict(rule: str, signs: Mapping[Pair, int]) -> str:
    if rule == "most":
        by_data = [{s for p, s in signs.items() if p.dataset == d} for d in {p.dataset for p in signs}]
        yes, no = sum(found == {1} for found in by_data), sum(-1 in found for found in by_data)
        return HOLDS if yes > len(by_data) / 2 else FAILS if no >= len(by_data) / 2 else OPEN
    yes, no, count = _count(signs, 1), _count(signs, -1), len(signs)
    if yes == count:
        return HOLDS
    if no == 0:
        return OPEN
    return IN_PART if yes > count / 2 else FAILS


def theorem_3() -> Claim:
    """L_K with α = 2 is least at K = s_G: only where s_G is a kernel at all."""
    least = {c: float(np.linalg.eigvalsh(2 * np.eye(c) - np.ones((c, c))).min()) for c in (2, 3, 6, 7)}
    listed = ", ".join(f"{value:.0f} for {c} classes" for c, value in least.items())
    return Claim(
        "Theorem 3: with α = 2 the kernel loss is least at K = s_G",
        "theorem",
        "stated for any number of classes",
        {"": IN_PART},
        f"The smallest eigenvalue of s_G with one node per class is {listed}. A kernel has none below 0, so "
        "for three classes or more no kernel equals s_G; the best reach −1/(C−1) between classes.",
    )


def smallest_spread(table: Table) -> Claim:
    """The least standard deviation above zero of ten accuracies on 1,000 nodes."""
    rows = [
        row for row in table.rows if row.reading == READINGS[0]
    ]  # the paper's figures are the same in all
    printed = [p.std for row in rows for cell in row.cells.values() for p in cell.paper.values() if p.std]
    below = sum(std < LEAST_SPREAD for std in printed)
    return Claim(
        "Table 4's ± are standard deviations over ten runs",
        "table4",
        FAILS if below else HOLDS,
        {"": FAILS if below else HOLDS},
        f"{below} of its {len(printed)} spreads are below {LEAST_SPREAD:.3f}, the least above zero "
        "that ten runs on 1,000 nodes can have. They may be standard errors, or of something else.",
    )


def cost_claims(results: Results) -> list[Claim]:
    """Claims that `python -m experiments bench complexity` measured, where its results are stored."""
    claims = []
    for device in ("cuda", "cpu"):
        path = results.folder / f"bench-complexity-{device}.json"
        stored = read_record(path) if path.is_file() else None
        for one in stored["claims"] if stored else ():
            where = f"cost ({'GPU' if device == 'cuda' else 'CPU'})"
            claims.append(Claim(one["claim"], where, "stated", {"": one["verdict"]}, one["sentence"]))
    if claims:
        return claims
    how = f"Measure it: python -m experiments bench complexity --results {results.folder}."
    return [Claim("20 % less time and 15 % less memory than GCN", "cost", "stated", {"": MISSING}, how)]


def _record(table: Table, results: Results, row: str, dataset: str, reading: str) -> dict[str, Any] | None:
    cell = _cell(table, row, dataset, reading)
    return None if cell is None else results.find(cell)


def _cell(table: Table, row: str, dataset: str, reading: str) -> Any:
    """A row's cell in a reading; a row that has but one stands for all."""
    own = [one for one in table.rows if one.name == row and one.reading in (reading, "")]
    return own[0].cells.get(dataset) if own else None


def _titles(table: Table) -> dict[str, str]:
    """What rows are called; a figure's row by its system."""
    return {row.name: row.title.rpartition(": ")[2] for row in table.rows}
