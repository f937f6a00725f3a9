"""Evaluation of link scores: AUC, AP, Hits@k and MRR, and two baselines without training."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernode.compute.chunks import chunks
from kernode.compute.sparse import unit_rows
from kernode.io.edge_split import EdgeSplit
from kernode.metrics.accuracy import summary
from kernode.metrics.ranking import link_metrics
from kernode.models.model import Report
from kernode.tasks.links.model import LinkModelOnGraph
from kernode.version import versions

_NUMBERS = 2**16  # of rows that are taken at a time
TITLES = {"auc": "test AUC", "ap": "test AP", "hits_at_50": "test Hits@50", "mrr": "test MRR"}
NAMES = {
    "edges": "edges alone (Adamic-Adar)",
    "common_neighbours": "edges alone (common neighbours)",
    "features": "features alone (cosine)",
}


def link_report(on: LinkModelOnGraph, split: EdgeSplit) -> Report:
    """Return the report of a fit; test edges are scored here only."""
    report = on.facts() | {"seconds_training": round(on.model.seconds, 3)}
    if on.model.members:
        report |= {**on.model.choice, "members": list(on.model.members)}
    if len(split.test):
        report["test"] = _summary(on.evaluate(split.test, split.test_negatives))
        report["validation"] = _summary(on.evaluate(split.validation, split.validation_negatives))
    return Report(report | {"baselines": link_baselines(split), "versions": versions()}, lines)


def lines(figures: dict[str, Any]) -> list[str]:
    """The figures in words, for a terminal."""
    found = []
    if tried := figures.get("chosen_by_validation"):
        shares = {one["name"]: f"{one['weight']:.2f}" for one in figures["members"]}
        found.append(f"{'sum of kernels':<20} weight  member (AUC on validation edges)")
        rows = ((shares.get(name, "–"), name, auc) for name, auc in tried.items())
        found += [f"{'':<20} {share:>6}  {name} ({auc:.2f} %)" for share, name, auc in rows]
    if "test" not in figures:
        return [*found, "no edge was kept for a test"]
    for name, title in TITLES.items():
        if f"{name}_mean" not in figures["test"]:
            found.append(f"{title:<20} none: there are too few non-edges to rank among")
            continue
        spread = f" ± {figures['test'][f'{name}_std']:.2f}" if figures["replicas"] > 1 else ""
        found.append(f"{title:<20} {figures['test'][f'{name}_mean']:.2f}{spread} %")
        for which, values in figures["baselines"].items() if name == "auc" else ():
            ahead = values[name] - figures["test"][f"{name}_mean"]
            note = f": ahead by {ahead:.2f}" if ahead > 0 else ""
            found.append(f"{'':<20} {values[name]:.2f} % {NAMES[which]}{note}")
    return found


def link_baselines(split: EdgeSplit) -> dict[str, dict[str, float]]:
    """AUC, AP, Hits@k and MRR in percent of each, on the test edges; they know the training edges alone."""
    tested = (split.test, split.test_negatives)
    if not all(map(len, tested)):
        return {}
    edges = split.graph.adjacency.astype(bool)
    degrees = np.maximum(edges.sum(axis=1), 2)
    shared = sparse.csr_array(edges / np.sqrt(np.log(degrees))[None])
    features = split.graph.features
    cosines, rows = (_products, unit_rows(features)) if sparse.issparse(features) else (_cosines, features)
    scores = {
        "edges": [_products(shared, pairs) for pairs in tested],
        "common_neighbours": [_products(edges.astype(np.float64), pairs) for pairs in tested],
        "features": [cosines(rows, pairs) for pairs in tested],
    }
    figures = {name: link_metrics(*both) for name, both in scores.items()}
    return {name: {what: round(value, 4) for what, value in one.items()} for name, one in figures.items()}


def _products(x: sparse.csr_array, pairs: np.ndarray) -> np.ndarray:
    """Dot products of the rows of each pair: m; of hubs few rows are copied at a time."""
    x = sparse.csr_array(x)
    block = np.cumsum(np.diff(x.indptr)[pairs].sum(axis=1)) // _NUMBERS
    blocks = np.split(pairs, np.flatnonzero(np.diff(block)) + 1)
    return np.concatenate([x[some[:, 0]].multiply(x[some[:, 1]]).sum(axis=1) for some in blocks])


def _cosines(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Cosines of the rows of each pair, of dense features that may be a mapped file: m."""
    some = chunks(len(pairs), max(1, _NUMBERS // x.shape[1]))
    ends = ((unit_rows(x[pairs[rows, 0]]), unit_rows(x[pairs[rows, 1]])) for rows in some)
    return np.concatenate([(u * v).sum(axis=1) for u, v in ends])


def _summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Mean and spread of every figure over the replicas, and those of each."""
    figures: dict[str, Any] = {}
    for name in runs[0]:
        figures |= summary(name, [run[name] for run in runs])
    return figures | {"runs": [{name: round(value, 4) for name, value in run.items()} for run in runs]}
