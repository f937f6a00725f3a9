"""The page about a model of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kernode.explain.numbers import explain_number
from kernode.progress import report_progress
from kernode.tasks.numbers.baselines import NAMES as BASELINES
from kernode.tasks.numbers.evaluation import graph_lines, twin_lines
from kernode.version import versions
from kernode.viz.canvas import shortened
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.report.page import LONGEST, PageContents

_LISTED = 10  # largest errors
_EXPLAINED = 3  # of the largest errors, and as many others
_KNOWN = 5  # numbers shown of an explanation


@dataclass(frozen=True)
class NumberContents(PageContents):
    """A model of numbers on a graph, for one page."""

    template: ClassVar = "numbers.html"

    evaluation: NumberEvaluation
    notes: tuple[str, ...] = ()  # what was done to its tables

    @property
    def lead(self) -> str:
        """What the page is about."""
        of = self.evaluation.model.method.title
        return f"Numbers of the nodes of a graph ({self.evaluation.target}), predicted by {of}."

    @cached_property
    def figures(self) -> dict[str, Any] | None:
        """Test scores and baselines; None if there are no test nodes."""
        return None if self.evaluation.parts.test is None else self.evaluation.scores

    @property
    def facts(self) -> dict[str, str]:
        """The model and its graph."""
        evaluation, model = self.evaluation, self.evaluation.model
        graph, held = evaluation.graph, model.held
        lines = dict(model.summary())
        lines.pop("replicas")
        lines["graph"] = f"{graph.name}: {self.sizes}"
        of = [] if held is None else [f"{held.shape[1]:,} of the known ones, which calibrate intervals"]
        of += [] if evaluation.parts.test is None else [f"{len(evaluation.test_nodes):,} test nodes"]
        if of:
            lines["held out"] = ", and ".join(of)
        lines["seed"] = str(model.seeds[0])
        return lines

    @property
    def headline(self) -> list[tuple[str, str, str]]:
        """The scores at the top: name, value and remark."""
        test = self.figures
        if test is None:
            return []
        remark = f"{test['nodes']:,} test nodes"
        if test["r2_95"] is not None:
            remark += "; 95\u00a0% interval {:.3f} to {:.3f}".format(*test["r2_95"])
        found = [("R²", f"{test['r2']:.3f}", f"1: exact, 0: as the mean; {remark}")]
        found.append(("Mean absolute error", f"{test['mae']:.4g}", "mean of |true − predicted|"))
        spread = f"the numbers' standard deviation is {test['spread']:.4g}"
        found.append(("Root mean squared error", f"{test['rmse']:.4g}", spread))
        one = test["coverage"][self.evaluation.interval]
        chance = "chance: {:.1f} to {:.1f}".format(*one["by_chance"])
        remark = f"{one['nominal']:.0f} were asked for ({chance}); mean width {one['width']:.4g}"
        return [*found, ("Numbers within their interval", f"{one['measured']:.1f} %", remark)]

    @property
    def baselines(self) -> list[dict[str, Any]]:
        """Figures of the model and of the baselines, for a table."""
        if self.figures is None:
            return []
        rows = [{"name": "this model", **self.figures}]
        rows += [{"name": BASELINES[name], **one} for name, one in self.figures["baselines"].items()]
        for row in rows:
            interval = row.get("ahead_95")
            row["interval"] = " ({:+.3f} to {:+.3f})".format(*interval) if interval else ""
            if "training_nodes" in row:
                row["name"] += f", {row['training_nodes']:,} known numbers"
        return rows

    @property
    def remarks(self) -> list[str]:
        """Sentences on the graph and on twins, where there is something to say."""
        if self.figures is None:
            return []
        return [
            f"{text[0].upper()}{text[1:]}."
            for text in (" ".join(graph_lines(self.figures)), " ".join(twin_lines(self.figures)))
            if text
        ]

    @cached_property
    def errors(self) -> list[dict[str, Any]]:
        """The test nodes with the largest errors."""
        if self.evaluation.parts.test is None:
            return []
        nodes, off = self.evaluation.test_nodes, self.evaluation.residuals
        order = np.argsort(-np.abs(off), kind="stable")[:_LISTED]
        return [self._described(int(nodes[i])) for i in order]

    def _described(self, node: int) -> dict[str, Any]:
        """Return a node's true and predicted number, and its interval."""
        evaluation = self.evaluation
        number, deviation = float(evaluation.numbers[node]), float(evaluation.deviations[node])
        low, high = evaluation.intervals[node].tolist()
        known = float(evaluation.known[node])
        return {
            "index": node,
            "node": shortened(evaluation.names([node])[0], LONGEST),
            "known": known if np.isfinite(known) else None,
            "number": number,
            "deviation": deviation,
            "error": known - number if np.isfinite(known) else None,
            "in_deviations": (known - number) / deviation if np.isfinite(known) else None,
            "low": low,
            "high": high,
        }

    @cached_property
    def explained(self) -> list[dict[str, Any]]:
        """Explanations of the largest errors, and of nodes with a small, a middle and a large prediction.

        Test nodes; where there are none, nodes without a known number, or all.
        """
        evaluation = self.evaluation
        nodes = np.flatnonzero(~np.isfinite(evaluation.known))
        if evaluation.parts.test is not None:
            nodes = evaluation.test_nodes
        if not len(nodes):
            nodes = np.arange(evaluation.graph.n_nodes)
        chosen = [one["index"] for one in self.errors[:_EXPLAINED]]
        order = nodes[np.argsort(evaluation.numbers[nodes], kind="stable")]
        chosen += order[np.linspace(0, len(order) - 1, _EXPLAINED).round().astype(int)].tolist()
        found = []
        for done, node in enumerate(dict.fromkeys(chosen)):
            report_progress("explanations", done, len(chosen))
            why = explain_number(evaluation.on, node, _KNOWN)
            known = [
                (shortened(str(one.node), LONGEST), one.number, one.weight, one.value) for one in why.known
            ]
            found.append(
                self._described(node)
                | {"mean": why.mean, "parts": why.parts, "by": known}
                | {"rest": why.rest, "rest_count": why.rest_count}
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        evaluation, model = self.evaluation, self.evaluation.model
        return {
            "dataset": evaluation.graph.name,
            "target": model.target_name,
            "split": model.split,
            "seed": model.seeds[0],
            "facts": self.facts,
            "unlisted": evaluation.graph.n_unlisted,
            "test": self.figures,
            "without_test": evaluation.parts.without_test or None,
            "largest_errors": self.errors,
            "explanations": self.explained,
            "pictures": list(self.charts),
            "left_out": self.left_out,
            "settings": self.settings,
            "versions": versions(),
            "input": self.input_notes,
        }
