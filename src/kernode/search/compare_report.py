"""Report of a comparison as plain values: figures, paired differences, answers to questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.significance import holm, paired
from kernode.search.baselines import ComparedMethod

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
