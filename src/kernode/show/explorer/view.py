"""A model on a graph, prepared to be asked again and again: what every answer of the explorer starts from."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.explain.explain import explain_node, feature_names
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.show.evidence import known_classes
from kernode.show.explorer.kept import keep_for_explanations
from kernode.show.explorer.names import Names
from kernode.show.layout import Plane, layout

_LISTED = 200  # values of a category that a form offers
_STEPS = 65535  # of a coordinate in the picture: finer than any screen


@dataclass(frozen=True)
class View:
    """What is computed once: chances of all nodes, their places in the picture, their names."""

    on: NodeModelOnGraph
    by_position: NodeModelOnGraph  # the same on a graph without names: its answers name nodes by position
    names: Names
    points: np.ndarray  # n × 2, within [−1, 1]
    chances: np.ndarray  # n × c
    classes: tuple[str, ...]  # what colours stand for: the model's c, then those that only the graph knows
    known: np.ndarray  # n: the class that a node is known to have, −1 where it has none or none that is meant

    @classmethod
    def of(cls, on: NodeModelOnGraph, plane: Plane = "tsne") -> View:
        """Refuses what has no kernel; what takes long tells of its progress."""
        method = on.model.method
        if not method.has_kernel:
            raise InputError(
                f"{method.title} has no kernel: there is nothing to explore. Train one that has, such as k3."
            )
        bare = replace(on.graph, node_names=None)
        points = layout(on, plane)
        by_position = replace(on, graph=bare, known_g=on.g, prepared=None)
        keep_for_explanations(by_position)
        return cls(on, by_position, Names(on.graph), points, on.calibrated(), *known_classes(on))

    @property
    def model_classes(self) -> tuple[str, ...]:
        """What the model's c classes are called."""
        return self.classes[: len(self.on.model.classes)]

    @cached_property
    def predicted(self) -> np.ndarray:
        """Of every node the number of its likeliest class: n."""
        return self.chances.argmax(axis=1)

    @cached_property
    def is_weighted(self) -> bool:
        """Whether some edge of the graph counts more or less than a new one, whose weight is 1."""
        return bool((self.on.graph.adjacency.data != 1).any())

    @cached_property
    def feature_names(self) -> list[str]:
        """What the columns of X are called."""
        return list(feature_names(self.on.graph))

    @cached_property
    def feature_units(self) -> list[str | None]:
        """What the numbers in the columns of X are, where a table's values were turned into them."""
        encoding = self.on.graph.encoding
        return [None] * self.on.graph.n_features if encoding is None else list(encoding.feature_units)

    @cached_property
    def no_explanation(self) -> str | None:
        """Why there is no exact explanation, in a sentence; None where there is one."""
        try:
            explain_node(self.by_position, 0, 1)
        except InputError as error:
            return str(error)
        return None

    @cached_property
    def no_change(self) -> str | None:
        """Why it cannot be said what would be otherwise, in a sentence; None where it can."""
        method = self.on.model.method
        if isinstance(method, Method) and not method.map.per_node:
            return None
        return f"{method.title} has learned about single nodes: train again to see what would be otherwise."

    def node(self, at: int) -> dict[str, Any]:
        """What is said of a node wherever it is mentioned."""
        label = int(self.known[at])
        return {
            "name": self.names.texts[at],
            "index": int(at),
            "known_class": self.classes[label] if label >= 0 else None,
            "predicted_class": self.classes[self.predicted[at]],
        }

    def model(self) -> dict[str, Any]:
        """What the page needs to know before anything is asked."""
        graph, model = self.on.graph, self.on.model
        method: Any = model.method
        known = np.bincount(self.known[self.known >= 0], minlength=len(self.classes))
        predicted = np.bincount(self.predicted, minlength=len(self.classes))
        return {
            "graph": graph.name,
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
            "features": graph.n_features,
            "named": graph.node_names is not None,
            "variant": model.variant,
            "map": repr(getattr(method, "map", None)),
            "kernel": repr(method.kernel),
            "runs": len(model.seeds),
            "calibrated": model.calibration is not None,
            "classes": [
                {"name": name, "known": int(known[i]), "predicted": int(predicted[i])}
                for i, name in enumerate(self.classes)
            ],
            "model_classes": list(self.model_classes),
            "no_explanation": self.no_explanation,
            "no_change": self.no_change,
            "columns": self._columns(),
        }

    def _columns(self) -> list[dict[str, Any]] | None:
        """Of a graph from tables what a new node is asked for; None: feature numbers."""
        encoding = self.on.graph.encoding
        if encoding is None:
            return None
        return [
            {
                "name": column.name,
                "kind": column.kind,
                "values": list(getattr(column, "values", ()))[:_LISTED],
            }
            for column in encoding.columns
        ]

    def picture(self) -> bytes:
        """All that is drawn, as small as it gets; numbers are little-endian.

        n and c (uint32 each), then n × 2 coordinates from 0 to 65535 (uint16), n predicted classes (uint16),
        n known classes counted from 1, 0 where not known (uint16), n chances of the predicted class from 0 to
        255 (uint8).
        """
        places = np.round((self.points.astype(np.float64) + 1) / 2 * _STEPS).clip(0, _STEPS)
        sure = np.round(self.chances.max(axis=1) * 255)
        return b"".join(
            (
                struct.pack("<II", len(self.points), len(self.classes)),
                places.astype("<u2").tobytes(),
                self.predicted.astype("<u2").tobytes(),
                (self.known + 1).astype("<u2").tobytes(),
                sure.astype(np.uint8).tobytes(),
            )
        )
