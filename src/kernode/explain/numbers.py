"""Why a number: known numbers with weights, and what features, edges and both together add."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernode.explain.explain import names_of
from kernode.graph.edits import Edit
from kernode.models.model import html_table
from kernode.tasks.numbers.model import NumbersOnGraph


@dataclass(frozen=True)
class KnownNumber:
    """What a node with a known number adds: weight · (number − mean)."""

    node: Any
    value: float
    weight: float
    number: float


@dataclass(frozen=True)
class NumberExplanation:
    """Why a node has its number. Both sums are complete.

    ``number = mean + Σ known.value + rest``, where ``rest`` is what the ``rest_count`` known numbers that are
    not shown add; and ``number = mean + Σ parts``.
    """

    node: Any
    number: float
    deviation: float  # posterior standard deviation of a number
    mean: float  # of the fitted numbers
    known: tuple[KnownNumber, ...]
    rest: float
    rest_count: int
    parts: dict[str, float]  # of features, edges, and both together

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.node}: {self.number:.4g} ± {self.deviation:.2g}", f"{self.mean:+12.4g}  the mean"]
        lines += [f"{value:+12.4g}  {about}" for about, value in self.parts.items()]
        lines += ["the same by known numbers:", f"{self.mean:+12.4g}  the mean"]
        for one in self.known:
            lines.append(f"{one.value:+12.4g}  {one.node}: {one.number:.4g}, weight {one.weight:+.4f}")
        if self.rest_count:
            lines.append(f"{self.rest:+12.4g}  {self.rest_count:,} others")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(f"{value:+.4g}", about) for about, value in self.parts.items()]
        known = [
            (one.node, f"{one.value:+.4g}", f"{one.number:.4g}", f"{one.weight:+.4f}") for one in self.known
        ]
        title = f"{self.node}: {self.number:.4g} ± {self.deviation:.2g}; the mean is {self.mean:.4g}"
        return html_table(title, ("adds", "of"), rows) + html_table(
            "Known numbers", ("node", "adds", "number", "weight"), known
        )


@dataclass(frozen=True)
class NumberWhatIf:
    """Number of a node before and after a change, with posterior standard deviations."""

    node: Any
    before: tuple[float, float]
    after: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def __str__(self) -> str:
        (before, one), (after, two) = self.before, self.after
        change = f"{after - before:+.4g}"
        return f"{self.node}: {before:.4g} ± {one:.2g} becomes {after:.4g} ± {two:.2g} ({change})"


def explain_number(on: NumbersOnGraph, node: int, top: int = 10) -> NumberExplanation:
    """Explain the number of a node; the ``top`` largest known numbers are shown."""
    model, at = on.model, np.array([node])
    weights = on.posterior.weights(node)
    values = weights * (model.targets[0] - model.center)
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order[:top]
    names = names_of(on.graph, model.train[0, shown])
    known = tuple(
        KnownNumber(name, float(values[i]), float(weights[i]), float(model.targets[0, i]))
        for name, i in zip(names, shown, strict=True)
    )
    parts = {about: float(model.spread * own[0]) for about, own in on.posterior.parts(at).items()}
    return NumberExplanation(
        names_of(on.graph, at)[0], float(on.numbers(at)[0]), float(on.deviations(at)[0]), model.center, known,
        float(values[order[top:]].sum()), max(0, len(order) - top), parts,
    )  # fmt: skip


def what_if_number(on: NumbersOnGraph, node: int, edit: Edit) -> NumberWhatIf:
    """Number of a node on a changed graph, by the same hyperparameters and known numbers."""
    edit.require(on.graph)
    changed, at = on.on_graph(edit(on.graph)), np.array([node])
    before, after = ((float(one.numbers(at)[0]), float(one.deviations(at)[0])) for one in (on, changed))
    return NumberWhatIf(names_of(on.graph, at)[0], before, after)
