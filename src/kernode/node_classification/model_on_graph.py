"""A model together with a graph: all that it answers about the graph's nodes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.place import Place
from kernode.compute.ranks import Exchange, rows_for_all
from kernode.compute.stack import Parameters, part
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph, checked_nodes
from kernode.graph.edits import touched
from kernode.graph.lookup import as_nodes
from kernode.graph.neighbourhoods import ball
from kernode.graph.share import GraphShare, require_whole
from kernode.kernels import NodeKernel
from kernode.losses.nodes_by_class import NodesByClass
from kernode.maps import FeatureMap
from kernode.maps.base import LARGEST_PART
from kernode.node_classification.method import Method
from kernode.training.file_checks import fitting
from kernode.training.run import Run

if TYPE_CHECKING:
    from kernode.node_classification.model import Model


@dataclass(frozen=True)
class ModelOnGraph:
    """A model on its own graph, on one that grew from it, or on another with the same columns.

    What it computes it keeps: g, the kernel, what a method without a map needs.
    """

    model: Model
    graph: Graph
    place: Place
    has_training_nodes: bool = True  # whether the training nodes are nodes of this graph
    recomputed: np.ndarray | None = field(default=None, compare=False)  # when it last grew; None: all nodes
    known_g: Tensor | None = field(default=None, compare=False, repr=False)  # where nothing is left to do
    prepared: Any = field(default=None, compare=False, repr=False)  # by the map while training, used once

    @cached_property
    @torch.no_grad()
    def g(self) -> Tensor:
        """The learned representation of every node: r × n × d."""
        if self.known_g is not None:
            return self.known_g.to(self.place.device)
        with self._fitting():
            g = self.model.method.embed_all(self)
        object.__setattr__(self, "prepared", None)  # it is larger than g, and has served
        return g

    def together(self, nodes: np.ndarray) -> tuple[Tensor, np.ndarray]:
        """A g that has rows of some nodes (of whatever shape), and where they stand in it.

        That is g itself, but where ranks share the nodes: then these nodes' rows alone come together.
        """
        if not isinstance(self.graph, GraphShare):
            return self.g, nodes
        share, own = self.graph, self.g
        exchange = Exchange(share.ranks, share.bounds, nodes, self.place.device, "answers")
        return rows_for_all(exchange, own), exchange.at(nodes)

    @cached_property
    def kernel(self) -> NodeKernel:
        """K(u, v), the mean over replicas."""
        require_whole(self.graph, "K(u, v) of any two nodes")
        g = self.g
        base = self.model.method.kernel  # type: ignore[attr-defined]  # what has g has a kernel
        return NodeKernel(base, g, part(self.parameters, "kernel."), self.graph.node_names)

    def find(self, nodes: Any) -> np.ndarray:
        """Indices of nodes, by name or by index."""
        return self.graph.find(as_nodes(nodes))

    @torch.no_grad()
    def probabilities(self, nodes: Any = None) -> np.ndarray:
        """As the method gives them: r × m × c, for nodes (m, or q × m where replicas differ; all if None).

        They order the classes; how likely a class is :meth:`chances` say.
        """
        nodes = np.arange(self.graph.n_nodes) if nodes is None else nodes
        indices = np.atleast_2d(checked_nodes(nodes, self.graph.n_nodes))
        with self._fitting():
            found = self.model.method.probabilities(self, indices)
        if np.isnan(found.sum()):
            raise KernodeError(
                f"the model has probabilities on {self.graph.name!r} that are no numbers: a feature is too "
                "large for it. Scale the features, or train in 64 bits."
            )
        return found

    def chances(self, nodes: Any = None) -> np.ndarray:
        """Class probabilities by all runs together, calibrated where the model is: m × c, for nodes (m)."""
        return self.model.as_chances(self.probabilities(nodes).mean(axis=0))

    @torch.no_grad()
    def extended(self, larger: Graph) -> ModelOnGraph:
        """The same model after nodes or edges arrived: :func:`kernode.graph.edits.extended` of this graph.

        g equals what the whole larger graph gives, degrees of old neighbours included, but is computed only
        where it can differ: within ``reach`` edges of a node whose edges or features changed. Elsewhere it
        keeps its bits. Weights stay as they were learned.
        """
        return self.model.method.extended(self, larger)

    def recomputed_on(self, larger: Graph, feature_map: FeatureMap) -> ModelOnGraph:
        """The same on a larger graph, with g of a map computed anew where it can differ."""
        new = touched(self.graph, larger)
        if feature_map.per_node:
            raise InputError(
                f"{type(feature_map).__name__} has a vector for each node it was trained on, and none for "
                "others. Train again on the larger graph, or use a map of features, such as HopMLP."
            )
        anew = replace(self, graph=larger, known_g=None, recomputed=None, prepared=None)
        if feature_map.reach is None:
            return anew
        # Within reach in the larger graph. Where an edge is gone, the ends of it are touched themselves, and
        # from the last touched node of any old path on, that path is still there.
        around = ball(larger, new, feature_map.reach)
        if len(around) > LARGEST_PART * larger.n_nodes:  # then everything at once is less work
            return anew
        rows = feature_map.rows(part(self.parameters, "map."), larger, around, self.place)
        return replace(anew, known_g=_with_rows(self.g, rows, around, larger.n_nodes), recomputed=around)

    def noted(self, **about: Any) -> ModelOnGraph:
        """The same with more fields of its model set, on none of which g depends: g stays computed."""
        found = replace(self, model=replace(self.model, **about))
        if "g" in vars(self):
            vars(found)["g"] = self.g
        return found

    def settled(self) -> ModelOnGraph:
        """The same with g computed, so that what training prepared of the graph need not be held."""
        if not self.model.method.has_kernel or (self.prepared is None and "g" not in vars(self)):
            return self
        return replace(self, known_g=self.g, prepared=None)

    def of_replicas(self, replicas: list[int]) -> ModelOnGraph:
        """The same with some of the model's replicas."""
        known = self.g[replicas] if self.model.method.has_kernel else None
        return replace(self, model=self.model.of_replicas(replicas), known_g=known, prepared=None)

    @cached_property
    def parameters(self) -> Parameters:
        """The model's parameters, where they are computed with."""
        return {name: value.to(self.place.device) for name, value in self.model.parameters.items()}

    def _fitting(self) -> AbstractContextManager[None]:
        """Where computing fails, it may be for parameters that do not fit the method."""
        method, seeds, place = self.model.method, self.model.seeds, self.place
        if not isinstance(method, Method):
            return nullcontext()

        def expected() -> Parameters:
            prepared = method.map.prepare(self.graph, place)
            return method.initial(prepared, len(self.model.classes), Run(seeds[:1], place).draws(), place)

        return fitting(method.title, self.model.parameters, expected)

    @cached_property
    def references(self) -> Tensor | None:
        """What stands for training nodes that are not in the graph; None where they are."""
        held = self.model.references
        return None if self.has_training_nodes or held is None else held.to(self.place.device)

    @cached_property
    def training_nodes(self) -> NodesByClass:
        """The model's training nodes, class by class."""
        model = self.model
        known = model.train, model.train_labels, len(model.classes), self.place.device
        return NodesByClass.of(*known, model.train_weights)

    @cached_property
    def kept(self) -> dict[str, Any]:
        """Room for what a method computes once for all nodes."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again: a pickle goes to another process, or another machine."""
        known = None if self.known_g is None else self.known_g.cpu()  # which may have no such device
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"prepared": None, "known_g": known}


def _with_rows(g: Tensor, rows: Tensor, nodes: np.ndarray, n: int) -> Tensor:
    """g (r × n' × d) as r × n × d with other rows at some nodes, those beyond n' among them."""
    r, old, d = g.shape
    held = g[: len(rows)].transpose(0, 1)  # a map without parameters gives one for all replicas
    grown = held.new_empty(n, len(rows), d)
    grown[:old] = held
    grown[torch.from_numpy(nodes).to(g.device)] = rows.transpose(0, 1)
    return grown.transpose(0, 1).expand(r, -1, -1)
