"""A fitted Gaussian process on the nodes of a graph: its fields, and what it says about nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.stats import norm
from torch import Tensor

from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io.tables.table import Repair
from kernode.kernels import Linear, NodeKernel
from kernode.kernels.covariance import NodeInputs
from kernode.models.file import require_nodes
from kernode.models.model import ARRAY, FACT, Model, ModelOnGraph
from kernode.tasks.numbers.posterior import Posterior
from kernode.tasks.numbers.process import Fitted, GaussianProcess, posterior_of, process_inputs

Interval = Literal["conformal", "loo", "gaussian"]
INTERVALS: tuple[Interval, ...] = ("conformal", "loo", "gaussian")


def _repairs(values: list[dict[str, Any]]) -> tuple[Repair, ...]:
    return tuple(map(Repair.from_json, values))


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberModel(Model):
    """Hyperparameters of a Gaussian process, and the numbers that it knows."""

    kind: ClassVar[str] = "node regressor"

    method: GaussianProcess = field(metadata=FACT | {"read": Config.from_json})
    train: np.ndarray = field(metadata=ARRAY)  # 1 × m nodes with a known number
    targets: np.ndarray = field(metadata=ARRAY)  # 1 × m numbers
    held: np.ndarray | None = field(default=None, metadata=ARRAY)  # 1 × h of train, not fitted
    inducing: np.ndarray | None = field(default=None, metadata=ARRAY)  # 1 × z nodes; None: exact
    tested: np.ndarray | None = field(default=None, metadata=ARRAY)  # 1 × t
    center: float = field(metadata=FACT)  # mean of the numbers that were fitted
    spread: float = field(metadata=FACT)  # and their standard deviation
    target_name: str = field(default="", metadata=FACT)
    split: str = field(default="", metadata=FACT)
    repairs: tuple[Repair, ...] = field(default=(), metadata=FACT | {"read": _repairs})

    def check(self) -> None:
        """Raise unless nodes are positions and numbers are numbers."""
        super().check()
        for name in ("train", "held", "inducing", "tested"):
            if getattr(self, name) is not None:
                require_nodes(name, getattr(self, name), 1)
        for name in ("held", "inducing"):
            if getattr(self, name) is not None and not np.isin(getattr(self, name), self.train).all():
                raise ValueError(f"{name} are not among the nodes with known numbers")
        if self.targets.shape != self.train.shape or not np.isfinite(self.targets).all():
            raise ValueError("targets are not a number for each of train")
        if not (np.isfinite(self.center) and np.isfinite(self.spread) and self.spread > 0):
            raise ValueError("center or spread are not numbers")

    def on(self, graph: Graph, device: str = "cpu") -> NumbersOnGraph:
        """Use the model on its graph, where the nodes with known numbers are."""
        if self.encoding is not None and not self.is_own(graph):
            graph = self._without_target(graph)
        if not self.is_own(graph):
            raise InputError(
                f"the model knows numbers of nodes of {self.dataset!r}, which {graph.name!r} is not. Give "
                "that graph; nodes and edges that arrived later go to extend (kernode predict --new-nodes).",
                "conflict", setting="graph",
            )  # fmt: skip
        if max(one.max(initial=-1) for one in (self.train, self.tested) if one is not None) >= graph.n_nodes:
            sentence = f"the model names nodes that {graph.name!r} does not have. Train again."
            raise FileError(sentence, "wrong-file")
        return NumbersOnGraph(self, graph, TensorOptions.of(self.precision, device))

    def _without_target(self, graph: Graph) -> Graph:
        """The graph without the column that the model predicts, where it was read with it as a feature."""
        from kernode.io.tables.columns import with_target

        named = [] if graph.encoding is None else [one.name for one in graph.encoding.columns]
        return with_target(graph, self.target_name, "numbers") if self.target_name in named else graph

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description."""
        lines = super().summary()
        known = f"{self.train.shape[1]:,} nodes, {self.center:.4g} ± {self.spread:.4g}"
        exact = "exact" if self.inducing is None else f"by {self.inducing.shape[1]:,} inducing nodes"
        lines[2:2] = [(self.target_name or "numbers", known), ("posterior", exact)]
        if self.method.map is not None:
            lines.insert(4, ("learned map", repr(self.method.map)))
        return lines


@dataclass(frozen=True)
class NumbersOnGraph(ModelOnGraph):
    """A regressor on its graph, or on one that grew from it."""

    model: NumberModel
    known: Fitted | None = field(default=None, compare=False, repr=False)  # from the fit

    @cached_property
    def inputs(self) -> NodeInputs:
        """What nodes are compared by."""
        if self.known is not None:
            return self.known.inputs
        return process_inputs(self.model.method, self.model.parameters, self.graph)

    @cached_property
    def posterior(self) -> Posterior:
        """By all known numbers."""
        model = self.model
        targets = (model.targets[0] - model.center) / model.spread
        inducing = None if model.inducing is None else model.inducing[0]
        return posterior_of(model.method, model.parameters, self.inputs, model.train[0], targets, inducing)

    @cached_property
    def fitted_posterior(self) -> Posterior:
        """By the numbers that had a part in the fit, without those held out."""
        held = self.model.held
        return self.posterior if held is None else self.posterior.by(~np.isin(self.model.train[0], held[0]))

    def with_metadata(self, **about: Any) -> Self:
        """Return a copy with other metadata in its model, on which the posterior does not depend."""
        found = super().with_metadata(**about)
        cached = ("inputs", "posterior", "fitted_posterior")
        vars(found).update({name: value for name, value in vars(self).items() if name in cached})
        return found

    def numbers(self, nodes: np.ndarray) -> np.ndarray:
        """Posterior mean: m."""
        found: np.ndarray = self.model.center + self.model.spread * self.posterior.mean[nodes]
        return found

    def deviations(self, nodes: np.ndarray, *, noise: bool = True) -> np.ndarray:
        """Posterior standard deviation of a number, or without noise of the function: m."""
        variance = self.posterior.variance[nodes] + self.posterior.noise * noise
        found: np.ndarray = self.model.spread * np.sqrt(variance)
        return found

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each known number by all others: m each."""
        mean, variance = self.posterior.left_out
        return self.model.center + self.model.spread * mean, self.model.spread * np.sqrt(variance)

    def intervals(self, nodes: np.ndarray, coverage: float, method: Interval = "conformal") -> np.ndarray:
        """Low and high end for each node: m × 2.

        "gaussian": by the posterior. "loo": mean ± q deviations, q the quantile of leave-one-out errors in
        deviations. "conformal": the same by nodes that had no part in the fit (split conformal, Lei et al.
        2018), about the mean without them.
        """
        if method == "gaussian":
            middle, spread, times = self.numbers(nodes), self.deviations(nodes), norm.ppf((1 + coverage) / 2)
        elif method == "loo":
            mean, deviation = self.left_out()
            errors = np.abs(self.model.targets[0] - mean) / deviation
            middle, spread, times = self.numbers(nodes), self.deviations(nodes), _quantile(errors, coverage)
        else:
            fitted = self.fitted_posterior
            middle = self.model.center + self.model.spread * fitted.mean[nodes]
            spread = self.model.spread * np.sqrt(fitted.variance[nodes] + fitted.noise)
            times = _quantile(self.conformity, coverage)
        return np.stack([middle - times * spread, middle + times * spread], axis=1)

    def interval_for(self, coverage: float) -> Interval:
        """The first method that has enough errors for a coverage."""
        model = self.model
        if model.held is not None and enough_errors(model.held.shape[1], coverage):
            return "conformal"
        return "loo" if enough_errors(model.train.shape[1], coverage) else "gaussian"

    @cached_property
    def conformity(self) -> np.ndarray:
        """Errors of the nodes held out, in posterior standard deviations."""
        model, fitted = self.model, self.fitted_posterior
        if model.held is None:
            raise InputError(
                "no node was held out of the fit, as conformal intervals need. Use method='loo', or fit with "
                "more known numbers.",
                "unsupported", setting="method",
            )  # fmt: skip
        held = model.held[0]
        where = {node: at for at, node in enumerate(model.train[0].tolist())}
        truth = model.targets[0, [where[node] for node in held.tolist()]]
        off = (truth - model.center) / model.spread - fitted.mean[held]
        found: np.ndarray = np.abs(off) / np.sqrt(fitted.variance[held] + fitted.noise)
        return found

    @property
    def truth(self) -> np.ndarray:
        """Number of each node, as it was learned from or as the graph has it; NaN where not known: n."""
        n, targets = self.graph.n_nodes, self.graph.targets
        found = np.full(n, np.nan) if targets is None else targets.copy()
        found[self.model.train[0]] = self.model.targets[0]
        return found

    def embed(self) -> Tensor:
        """g of every node, whose dot products are K where one of both has a known number: 1 × n × m."""
        return self.posterior.vectors[None]

    @property
    def landmarks(self) -> tuple[np.ndarray, ...]:
        """Nodes on which g depends besides the parameters."""
        return (self.model.train if self.model.inducing is None else self.model.inducing,)

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), by the fitted hyperparameters."""
        return NodeKernel(Linear(), self.g, {}, self.graph.node_names)

    def with_numbers(self, nodes: np.ndarray, numbers: np.ndarray) -> NumbersOnGraph:
        """The same with more known numbers; one that was known takes its new value."""
        model = self.model
        kept = ~np.isin(model.train[0], nodes)
        train = np.concatenate([model.train[0, kept], nodes])
        targets = np.concatenate([model.targets[0, kept], numbers])
        held = None if model.held is None else model.held[:, ~np.isin(model.held[0], nodes)]
        held = None if held is None or not held.size else held
        changed = replace(model, train=train[None], targets=targets[None], held=held)
        known = Fitted(model.method, model.parameters, self.inputs)
        return NumbersOnGraph(changed, self.graph, self.options, known=known)

    def on_graph(self, graph: Graph) -> NumbersOnGraph:
        """The same on a graph that grew from its own, or is its own with other edges or features."""
        model = replace(self.model, dataset=graph.name, fingerprint=graph.fingerprint)
        return NumbersOnGraph(model, graph, self.options)


def _quantile(errors: np.ndarray, coverage: float) -> float:
    """The ⌈(m + 1) coverage⌉-th smallest of m errors."""
    if not enough_errors(len(errors), coverage):
        raise InputError(
            f"the errors of {len(errors):,} nodes are too few for intervals with a coverage of {coverage:g}. "
            "Ask for less, learn from more nodes, or use method='gaussian'.",
            "too-few", setting="coverage",
        )  # fmt: skip
    return float(np.sort(errors)[int(np.ceil((len(errors) + 1) * coverage)) - 1])


def enough_errors(count: int, coverage: float) -> bool:
    """Whether so many errors have a quantile for a coverage."""
    return count > 0 and int(np.ceil((count + 1) * coverage)) <= count


def quantiles_of(on: NumbersOnGraph, nodes: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Quantiles of the posterior of nodes: m × len(levels)."""
    middle, spread = on.numbers(nodes)[:, None], on.deviations(nodes)[:, None]
    return np.asarray(middle + spread * norm.ppf(np.asarray(levels, np.float64))[None])


def known_numbers(graph: Graph) -> np.ndarray:
    """Nodes whose number is known."""
    if graph.targets is None:
        raise InputError(
            f"{graph.name!r} has no numbers: give nodes and y, or the name of a column.",
            "missing",
            setting="y",
        )
    return np.flatnonzero(np.isfinite(graph.targets))
