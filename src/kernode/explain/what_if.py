"""What if: the answer about a node if some edges or features were others, without training again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from scipy import sparse

from kernode.compute.stack import part
from kernode.compute.tensor_options import cpu_threads
from kernode.errors import InputError, bad_setting
from kernode.explain.explain import Lead, names_of
from kernode.explain.parts import feature_names
from kernode.graph import Graph
from kernode.graph.edits import Edit, Pair
from kernode.graph.lookup import as_nodes
from kernode.graph.neighbourhoods import ball, induced
from kernode.io.tables.columns import as_features
from kernode.progress import progress_listener

if TYPE_CHECKING:
    from kernode.tasks.classes.on_graph import NodeModelOnGraph

What = Literal["edges", "features"]
_SHOWN = 5  # classes, in text
_ALL_PAIRS = 40  # candidates of which every pair is tried, before many go at once


@dataclass(frozen=True)
class WhatIf:
    """Class probabilities of a node before and after a change."""

    node: Any
    classes: tuple[Any, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    edit: Edit = field(repr=False)

    @property
    def was(self) -> Any:
        """The class that is predicted."""
        return self.classes[int(np.argmax(self.before))]

    @property
    def becomes(self) -> Any:
        """The class that would be predicted."""
        return self.classes[int(np.argmax(self.after))]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, without the edit."""
        names = [str(name) for name in self.classes]
        before, after = (dict(zip(names, values, strict=True)) for values in (self.before, self.after))
        return {"node": self.node, "was": self.was, "becomes": self.becomes, "before": before, "after": after}

    def __str__(self) -> str:
        same = self.was == self.becomes
        lines = [f"{self.node}: {f'stays {self.was}' if same else f'{self.was} becomes {self.becomes}'}"]
        lines += [f"{'before':>8} {'after':>8}  class"]
        order = sorted(range(len(self.classes)), key=lambda i: -max(self.before[i], self.after[i]))
        for i in order[:_SHOWN]:
            lines.append(f"{100 * self.before[i]:6.1f} % {100 * self.after[i]:6.1f} %  {self.classes[i]}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Smallest:
    """The fewest of a node's own edges or features that decide its class, all verified; none where none do.

    ``proved``: every smaller choice was tried; otherwise none of those found can be left out, but fewer
    others might do.
    """

    what: What
    found: tuple[int, ...]  # the nodes at the other ends of the edges, or columns of X
    proved: bool
    tried: int
    result: WhatIf
    names: tuple[Any, ...] = ()  # of those found

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        found = {"of": self.what, "found": list(self.names), "proved": self.proved, "tried": self.tried}
        return {**self.result.to_json(), "smallest": found}

    def __str__(self) -> str:
        own, fewest = f"of its own {self.what}", "no fewer do" if self.proved else "fewer others might do"
        listed = ", ".join(map(str, self.names))
        changes = f"without {len(self.found)} {own} it gets another class: {listed}; {fewest}"
        said = changes if self.found else f"no choice {own} changes the class"
        return f"{said} ({self.tried:,} answers computed)\n{self.result}"


@cpu_threads(1)  # as explanations
def what_if(on: NodeModelOnGraph, node: int, edit: Edit) -> WhatIf:
    """Answer about a node of a changed graph; nearest centroids stay as they were trained."""
    edit.require(on.graph)
    return _Queries(on, node).result(edit)


def as_edit(
    graph: Graph, node: Any, add: Any, remove: Any, features: Any, columns: Any = None
) -> tuple[int, Edit]:
    """Return a node and its changes from nodes and features by name or number."""

    def at(one: Any) -> int:
        return int(graph.find(as_nodes(np.atleast_1d(np.asanyarray(one))))[0])

    def pairs(given: Any) -> tuple[Pair, ...]:
        found = []
        for one in [given] if isinstance(given, str | int | np.integer) else given:
            ends = (node, one) if isinstance(one, str | int | np.integer) else tuple(one)
            if len(ends) != 2:
                raise InputError(f"an edge is a node, or two of them. Got {one!r}.", "shape", value=one)
            found.append((at(ends[0]), at(ends[1])))
        return tuple(found)

    v = at(node)
    return v, Edit(pairs(add), pairs(remove), changed_features(graph, v, features or {}, columns or {}))


def changed_features(
    graph: Graph, node: int, features: Mapping[Any, float], columns: Mapping[str, Any]
) -> dict[Pair, float]:
    """Return new entries of X, by node and column.

    ``features`` are numbers as the model sees them, ``columns`` values as the table has them.
    """
    bounds = None if graph.encoding is None else graph.encoding.feature_bounds
    found = as_features(graph, columns)
    for name, value in features.items():
        column, number = column_of(graph, name), float(value)
        of = {"setting": "features", "name": name}
        if column in found:
            raise InputError(f"feature {name!r} would change twice. Give it once.", "duplicate", **of)
        if not np.isfinite(number):
            raise InputError(f"feature {name!r} must be a finite number. Got {value}.", "not-finite", **of)
        if bounds is not None and abs(number) > bounds[column]:
            raise InputError(
                f"feature {name!r} is {graph.encoding.feature_units[column]}, and never beyond "
                f"±{bounds[column]:g}. Got {number:g}: for a value of the table give columns, not features.",
                "setting", **of, value=number,
            )  # fmt: skip
        found[column] = number
    return {(node, column): number for column, number in found.items()}


def column_of(graph: Graph, name: Any) -> int:
    """Return the number of a column of X by number, or by its name in explanations."""
    names = feature_names(graph)
    if isinstance(name, str) and name in names:
        return list(names).index(name)
    if not isinstance(name, str) and 0 <= name < graph.n_features:
        return int(name)
    raise InputError(
        f"{graph.name!r} has no feature {name!r} among its {graph.n_features}. Explanations name them.",
        "unknown", what="feature", name=name,
    )  # fmt: skip


@cpu_threads(1)
def smallest_change(on: NodeModelOnGraph, node: int, what: What = "edges") -> Smallest:
    """The fewest of a node's own edges, or of its own features, without which it would get another class.

    Candidates are ordered by what they add, exactly, to the lead of the class; every choice of one or two is
    then tried, and beyond that as many of the first as it takes, less those that it does not take. Each is
    verified by computing the answer anew: removing an edge changes degrees, and features switch units.
    """
    queries, candidates = _Queries(on, node), _candidates(on, node, what)

    def without(chosen: Sequence[int]) -> Edit:
        if what == "edges":
            return Edit(remove=tuple((node, one) for one in chosen))
        return Edit(features={(node, one): 0.0 for one in chosen})

    def decides(chosen: Sequence[int]) -> bool:
        return bool(queries.probabilities(without(chosen)).argmax() != queries.own)

    chosen, proved = _search(candidates, decides)
    named = names_of(on.graph, chosen) if what == "edges" else [feature_names(on.graph)[i] for i in chosen]
    tried, result = queries.count, queries.result(without(chosen))
    return Smallest(what, tuple(chosen), proved, tried, result, tuple(named))


def _search(candidates: list[int], decides: Callable[[Sequence[int]], bool]) -> tuple[list[int], bool]:
    """The fewest that decide, and whether no fewer can: all that are smaller were tried."""
    # Each alone, and each pair of the first.
    for some in (*combinations(candidates, 1), *combinations(candidates[:_ALL_PAIRS], 2)):
        if decides(some):
            return list(some), True
    enough = next((k for k in range(3, len(candidates) + 1) if decides(candidates[:k])), None)
    if enough is None:
        return [], False
    chosen = candidates[:enough]
    for one in reversed(candidates[:enough]):
        rest = [other for other in chosen if other != one]
        chosen = rest if decides(rest) else chosen
    return chosen, len(chosen) == 3 and len(candidates) <= _ALL_PAIRS


def _candidates(on: NodeModelOnGraph, node: int, what: What) -> list[int]:
    """A node's own edges or features, those first that add most to its lead."""
    if what not in ("edges", "features"):
        raise bad_setting("what", "'edges' or 'features'", what)
    lead = Lead.of(on, node)
    if what == "edges":
        adds = dict(zip(lead.row.nodes.tolist(), lead.by_node.mean(axis=0).tolist(), strict=True))
        own = on.graph.adjacency[[node]].indices.tolist()
        return sorted(own, key=lambda one: -adds.get(one, 0.0))
    names = feature_names(on.graph)
    (of_features,) = lead.row.by_feature(np.array([node]), lead.towards, names, 1)[1]
    row: Any = on.graph.features[[node]]
    row = row.toarray() if sparse.issparse(row) else row
    return sorted(np.flatnonzero(row[0]).tolist(), key=lambda one: -of_features.get(names[one], 0.0))


class _Queries:
    """Answers of a model about one node of many changed graphs."""

    def __init__(self, on: NodeModelOnGraph, node: int) -> None:
        require_new_graphs(on)
        model = on.model
        if model.method.classifier == "centroid":  # nearest centroids stay as they were trained
            model = replace(model, references=on.class_references.cpu().numpy())
        self.on = replace(on, model=model, has_training_nodes=False, prepared=None)
        self.node, self.count = node, 0
        self.before = self._probabilities(on.graph, node)
        self.own = int(self.before.argmax())

    def probabilities(self, edit: Edit) -> np.ndarray:
        """Return class probabilities after an edit: c."""
        self.count += 1
        if edit.add or self._around is None:
            return self._probabilities(edit(self.on.graph), self.node)
        nodes, part = self._around
        return self._probabilities(edit.within(nodes)(part), int(np.searchsorted(nodes, self.node)))

    @cached_property
    def _around(self) -> tuple[np.ndarray, Graph] | None:
        """A part of the graph with the same g of the node; None if the whole graph is needed.

        It reaches one edge further than the map, so that degrees are true where they count.
        """
        graph, reach = self.on.graph, self.on.model.method.map.reach
        placed = graph.encoding is not None and graph.encoding.structure is not None
        if reach is None or placed:  # columns that say where a node is are computed of the whole graph
            return None
        nodes = ball(graph, [self.node], reach + 1)
        return nodes, induced(graph, nodes)

    def result(self, edit: Edit) -> WhatIf:
        """Return probabilities before and after an edit."""
        graph = self.on.graph
        name = int(self.node) if graph.node_names is None else graph.node_names[self.node].item()
        before, after = self.before.tolist(), self.probabilities(edit).tolist()
        return WhatIf(name, self.on.model.classes, tuple(before), tuple(after), edit)

    @torch.no_grad()
    def _probabilities(self, graph: Graph, node: int) -> np.ndarray:
        on, parameters = self.on, part(self.on.parameters, "map.")
        with progress_listener(lambda *_: None):  # no progress of a single row
            g = on.model.method.map.rows(parameters, graph, np.array([node]), on.options)
        return replace(on, known_g=g.expand(len(on.model.seeds), -1, -1)).calibrated(np.array([0]))[0]


def require_new_graphs(on: NodeModelOnGraph) -> None:
    """Raise if a model must be trained again for a changed graph."""
    method = on.model.method
    if not method.has_kernel or method.map.per_node:
        raise InputError(
            f"{method.title} has parameters of single nodes: train again on the changed graph.", "unsupported"
        )
