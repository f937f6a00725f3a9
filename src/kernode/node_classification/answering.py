"""A trained model on the graph it learned from, and on the last other one that it was asked about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.names import as_nodes
from kernode.kernels.node_kernel import NodeKernel
from kernode.node_classification.model import Answers, Model


@dataclass(frozen=True)
class OnGraph:
    """What a model answers about the nodes of one graph, by name or by index."""

    answers: Answers

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), which knows the nodes' names."""
        return self.answers.kernel

    def find(self, nodes: Any) -> np.ndarray:
        """Indices of nodes."""
        return self.answers.graph.find(as_nodes(nodes))


class Answering:
    """Remembers what was computed of two graphs: its own, where it has one, and the last other one."""

    def __init__(self, model: Model, own: Answers | None, device: str) -> None:
        self.model, self.device = model, device
        self.own = None if own is None else OnGraph(own)
        self.other: OnGraph | None = None

    def on(self, graph: Graph | None) -> OnGraph:
        """Answers about a graph; None is the one that was learned from."""
        if graph is None and self.own is None:
            raise InputError(
                f"the model was read without {self.model.dataset!r}, the graph it learned from. "
                "Pass graph=, or read it with load_model(…, graph=…)."
            )
        if self.own is not None and (graph is None or graph is self.own.answers.graph):
            return self.own
        if not isinstance(graph, Graph):
            raise InputError(f"graph must be a kernode.Graph. Got {type(graph).__name__}.")
        if self.other is None or self.other.answers.graph is not graph:
            self.other = OnGraph(self.model.on(graph, self.device))
        return self.other

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again: a pickle goes to another process, or another machine."""
        own = None if self.own is None else OnGraph(replace(self.own.answers))
        return {"model": self.model, "device": self.device, "own": own, "other": None}
