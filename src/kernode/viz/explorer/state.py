"""State of the explorer: a model on a graph with everything that is computed once."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.explain.explain import explain_node
from kernode.explain.parts import feature_names
from kernode.explain.what_if import require_new_graphs
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.viz.evaluation import EvaluationData, NodesInPlane
from kernode.viz.layout import node_positions

_LISTED = 200  # values of a category that a form offers
_STEPS = 65535  # of a coordinate in the picture: finer than any screen


def matching(names: list[str], part: str, limit: int) -> list[int]:
    """Return positions of names that contain a part, ignoring case: equal names, prefixes, others.

    >>> matching(["joan", "ann", "Anna"], "AN", 9)
    [1, 2, 0]
    """
    wanted = part.strip().casefold()
    found = [(i, folded) for i, name in enumerate(names) if wanted in (folded := name.casefold())]
    found.sort(key=lambda one: (names[one[0]] != part, one[1] != wanted, not one[1].startswith(wanted)))
    return [i for i, _ in found[:limit]]


class ExplorerNodes(NodesInPlane):
    """Names of nodes and features, for any model."""

    @cached_property
    def node_names(self) -> list[str]:
        """Names of all nodes, or their positions as text."""
        names = self.graph.node_names
        return list(map(str, range(self.graph.n_nodes) if names is None else names.tolist()))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.node_names)}

    def find(self, name: str) -> int:
        """Return the position of a node."""
        if name not in self._positions:
            shown = name if len(name) <= 80 else name[:80] + "…"
            missing = f"no node of {self.graph.name!r} is called {shown!r}"
            raise InputError(f"{missing}. Search for a part of the name.", "unknown", what="node", name=shown)
        return self._positions[name]

    @cached_property
    def features(self) -> list[dict[str, str | None]]:
        """Name of each column of X, and its unit if it was computed from a table."""
        names, encoding = feature_names(self.graph), self.graph.encoding
        units = [None] * len(names) if encoding is None else encoding.feature_units
        return [{"name": name, "unit": unit} for name, unit in zip(names, units, strict=True)]

    @property
    def columns(self) -> list[dict[str, Any]] | None:
        """Columns of a new node for a graph from tables; None: it has feature numbers."""
        encoding = self.graph.encoding
        return None if encoding is None else [
            {"name": one.name, "kind": one.kind, "values": list(getattr(one, "values", ()))[:_LISTED]}
            for one in encoding.columns
        ]  # fmt: skip

    @property
    def sizes(self) -> dict[str, Any]:
        """The graph, as the page shows it first."""
        graph = self.graph
        return {
            "graph": graph.name,
            "nodes": graph.n_nodes,
            "unlisted": graph.n_unlisted,
            "edges": graph.n_edges,
            "features": graph.n_features,
            "named": graph.node_names is not None,
        }

    @property
    def places(self) -> np.ndarray:
        """Coordinates of every node, from 0 to 65535: n × 2."""
        steps = np.round((self.points.astype(np.float64) + 1) / 2 * _STEPS)
        return steps.clip(0, _STEPS).astype("<u2")


class ExplorerState(EvaluationData, ExplorerNodes):
    """Probabilities of all nodes, their coordinates and their names."""

    @cached_property
    def points(self) -> np.ndarray:
        """Coordinates of every node, by all replicas: n × 2, within [−1, 1]."""
        return node_positions(self.on, self.layout)

    @cached_property
    def by_position(self) -> NodeModelOnGraph:
        """The model on the graph without names: results identify nodes by position."""
        return replace(self.on, graph=replace(self.graph, node_names=None), known_g=self.on.g, prepared=None)

    @property
    def model_classes(self) -> tuple[str, ...]:
        """Names of the model's c classes."""
        return self.class_names[: len(self.model.classes)]

    def class_name(self, one: Any) -> str:
        """Return the name of one of the model's classes."""
        return self.model_classes[self.model.classes.index(one)]

    @cached_property
    def predicted(self) -> np.ndarray:
        """The class that ``predict`` gives every node: n."""
        return self.model.decided(self.chances)

    @cached_property
    def no_explanation(self) -> str | None:
        """The reason why there is no exact explanation; None if there is one."""
        try:
            explain_node(self.by_position, 0, 1)
        except InputError as error:
            return str(error)
        return None

    @cached_property
    def no_change(self) -> str | None:
        """The reason why what-if is not possible; None if it is."""
        try:
            require_new_graphs(self.on)
        except InputError as error:
            return str(error)
        return None

    def node(self, at: int) -> dict[str, Any]:
        """Return the fields that every mention of a node has."""
        label = int(self.known[at])
        return {
            "name": self.node_names[at],
            "index": int(at),
            "known_class": self.class_names[label] if label >= 0 else None,
            "predicted_class": self.class_names[self.predicted[at]],
            **self.graph.listed_marks(at)[0],
        }

    def prepared(self) -> ExplorerState:
        """Compute all that every answer needs; refuse a model without a kernel."""
        _ = self.picture, self.description
        return self

    @cached_property
    def description(self) -> dict[str, Any]:
        """What the page shows first."""
        model = self.model
        method: Any = model.method
        known = np.bincount(self.known[self.known >= 0], minlength=len(self.class_names))
        predicted = np.bincount(self.predicted, minlength=len(self.class_names))
        return {
            "task": "classes",
            **self.sizes,
            "variant": model.variant,
            "map": repr(getattr(method, "map", None)),
            "kernel": repr(method.kernel),
            "runs": len(model.seeds),
            "calibrated": model.calibration is not None,
            "classes": [
                {"name": name, "known": int(known[i]), "predicted": int(predicted[i])}
                for i, name in enumerate(self.class_names)
            ],
            "model_classes": list(self.model_classes),
            "no_explanation": self.no_explanation,
            "no_change": self.no_change,
            "columns": self.columns,
        }

    @cached_property
    def picture(self) -> bytes:
        """Every node's coordinates and classes in binary; numbers are little-endian.

        n and c (uint32 each), then n × 2 coordinates from 0 to 65535 (uint16), n predicted classes (uint16),
        n known classes counted from 1, 0 where not known (uint16), n chances of the predicted class from 0 to
        255 (uint8).
        """
        sure = np.round(self.chances.max(axis=1) * 255)
        return b"".join(
            (
                struct.pack("<II", len(self.points), len(self.class_names)),
                self.places.tobytes(),
                self.predicted.astype("<u2").tobytes(),
                (self.known + 1).astype("<u2").tobytes(),
                sure.astype(np.uint8).tobytes(),
            )
        )
