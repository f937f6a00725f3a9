"""Base classes of feature maps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters, take
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config, require_setting
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.neighbourhoods import entries, induced, spheres
from kernode.graph.share import require_whole
from kernode.io.sizes import GraphSizes
from kernode.maps.layers.features import Features, node_features
from kernode.maps.layers.mlp import finish_mlp, first_layer

LARGEST_PART = 0.5  # largest share of adjacency entries worth cutting out


# Values for a search. ``hidden`` is one width for all hidden layers; their number stays.
WIDTHS = {"hidden": (16, 32, 64, 128, 256)}
ROWS = {"normalize_rows": (True, False)}
HOPS = {"hops": (1, 2, 3), "powers": ("each", "last", "plain")}


def check_widths(hidden: tuple[int, ...], outputs: int | None) -> None:
    """Raise unless every layer has a width."""
    whole = isinstance(hidden, tuple) and all(type(width) is int for width in hidden)
    require_setting(whole, "hidden", "a tuple of widths, such as (16,)", hidden)
    require_setting(all(width >= 1 for width in hidden), "hidden", "widths of at least 1", hidden)
    require_setting(outputs is None or outputs >= 1, "outputs", "at least 1", outputs)


def check_heads(hidden: tuple[int, ...], heads: int) -> None:
    """Raise unless attention heads share each hidden width evenly."""
    fits = heads >= 1 and not any(width % heads for width in hidden)
    require_setting(fits, "hidden", f"multiples of the {heads} heads", hidden)


def width_of(feature_map: Any) -> int:
    """d, the width of a map's output."""
    if feature_map.outputs is None:
        sentence = f"{type(feature_map).__name__} has no classes to take its width from: pass outputs=."
        raise InputError(sentence, "missing", setting="outputs")
    require_setting(feature_map.outputs >= 1, "outputs", "at least 1", feature_map.outputs)
    return int(feature_map.outputs)


def features_held(sizes: GraphSizes, options: TensorOptions, *, normalize_rows: bool) -> float:
    """Bytes of X as a tensor; 0 where a dense X may be used as the graph has it."""
    size = options.dtype.itemsize
    dense = float(sizes.nodes * sizes.features * size)
    if sizes.filled is None:
        return dense if normalize_rows or options.device.type != "cpu" else 0.0
    return min(dense, 2.0 * sizes.filled * (size + 4))  # with its transpose, each number with an index


@dataclass(frozen=True)
class FeatureMap(Config):
    """g: a vector for every node of a graph, for a stack of r replicas at once.

    A map is a frozen dataclass of settings with three pure functions: what depends on the graph alone
    (:meth:`prepare`), the first parameters (:meth:`initial`), and g itself. To add a map, write these three
    in one file. The other methods and attributes have defaults that are right for any map.
    """

    operator: ClassVar[str] = "none"  # how neighbours are summed in training
    capturable: ClassVar[bool] = True  # whether g runs without synchronising with the GPU
    drops: ClassVar[bool] = True  # whether the training setting dropout has an effect
    drops_input: ClassVar[bool] = False  # and input_dropout, on the entries of X
    learns: ClassVar[bool] = True  # whether g has parameters that training moves
    takes_shares: ClassVar[bool] = False  # whether it can be prepared from one rank's share of a graph
    per_node: ClassVar[bool] = False  # whether g has parameters for each node, which a new node lacks
    of_one_graph: ClassVar[bool] = False  # whether its parameters apply only to the training graph
    search_space: ClassVar[Mapping[str, tuple[Any, ...]]] = {}  # values that `kernode tune` tries, by field

    @property
    def reach(self) -> int | None:
        """Largest distance from v at which features, edges or degrees change g(v); None for any distance.

        None is always correct. A number makes new nodes as cheap as their neighbourhood.
        """
        return None

    def check_graph(self, graph: Graph) -> None:
        """Raise if the graph is a share and the map needs the whole graph."""
        if not self.takes_shares:
            require_whole(graph, type(self).__name__)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Names of training settings that this map ignores or refuses."""
        has_effect = {"dropout": self.drops, "input_dropout": self.drops_input}
        return frozenset(name for name, has in has_effect.items() if not has)

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """Lower bound of the bytes that one replica takes besides the graph while it trains.

        X and the layers, of a map that has hidden ones.
        """
        hidden: tuple[int, ...] | None = getattr(self, "hidden", None)
        if hidden is None:
            return 0.0
        widths = (sizes.features, *hidden, width_of(self))
        weights = sum(rows * columns for rows, columns in pairwise(widths))
        # Adam's two moments and the gradient; hidden outputs are kept for the backward pass, g for the loss
        numbers = 4 * weights + sizes.nodes * sum(widths[1:])
        held = features_held(sizes, options, normalize_rows=getattr(self, "normalize_rows", False))
        return held + float(options.dtype.itemsize * numbers)

    def operator_reason(self, sizes: GraphSizes) -> str:
        """How neighbours are summed in training, a colon, and the cost."""
        products = 0 if self.operator == "none" else sizes.step_entries
        return f"{self.operator}: {products:,} multiply-adds per column in every product"

    @property
    def unwrapped(self) -> FeatureMap:
        """The map inside a wrapper such as :class:`~kernode.maps.Standardized`; without one the map itself.

        It takes the wrapper's parameters and gives the same g.
        """
        return self

    def for_classes(self, classes: int) -> Self:
        """The map with one output per class if its width is open."""
        return replace(self, **{"outputs": classes}) if getattr(self, "outputs", 0) is None else self

    def with_open_width(self) -> Self:
        """The map with an open width, if it has one."""
        return replace(self, **{"outputs": None}) if hasattr(self, "outputs") else self

    def for_graph(self, graph: Graph) -> Self:
        """The map for its training graph."""
        return self

    def finished(self, parameters: Parameters, prepared: Any) -> Parameters:
        """The parameters after training, with statistics that the map measured on the training graph."""
        return parameters

    @abstractmethod
    def prepare(self, graph: Graph, options: TensorOptions) -> Any:
        """Compute what depends on the graph alone, once."""

    @abstractmethod
    def initial(self, prepared: Any, draws: Draws, options: TensorOptions) -> Parameters:
        """Draw the first parameters, each with a leading replica axis."""

    @abstractmethod
    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d. Without ``dropout`` it is deterministic."""

    def rows(self, parameters: Parameters, graph: Graph, nodes: np.ndarray, options: TensorOptions) -> Tensor:
        """g of some nodes (r × m × d), reading only the part of the graph that they need."""
        part = self._part_around(graph, nodes)
        if part is None:
            return _taken(self(parameters, self.prepare(graph, options)), nodes)
        g = self(parameters, self.prepare(induced(graph, part), options))
        return _taken(g, np.searchsorted(part, nodes))

    def _part_around(self, graph: Graph, nodes: np.ndarray) -> np.ndarray | None:
        """Nodes of a smaller graph on which g of some nodes is the same; None if it is hardly smaller."""
        if self.reach is None:
            return None
        nodes = nodes if len(nodes) else np.zeros(1, int)  # g of no nodes still has a width
        # One edge further than reach: then every node that g depends on has all its neighbours, and so its
        # true degree. Those of the outermost nodes are wrong, but g does not reach that far. Shortest paths
        # of up to reach edges lie inside, so that no map needs to know that it sees a part.
        found, looked_at = [], 0
        for sphere in spheres(graph, nodes, self.reach + 1):
            found.append(sphere)
            looked_at += entries(graph, sphere)
            if looked_at > LARGEST_PART * graph.adjacency.nnz:
                return None
        return np.sort(np.concatenate(found))


@dataclass(frozen=True)
class StagedMap(FeatureMap):
    """A map whose first layer is a product with X, before any dropout except that on X.

    Without dropout on X, the evaluation after a training step and the next step share it, since no
    parameter moves between.
    """

    drops_input: ClassVar[bool] = True
    multiplies_features: ClassVar[bool] = True  # with X itself, not with sums of its rows

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Dropout, without hidden layers."""
        return frozenset({"dropout"}) if getattr(self, "hidden", None) == () else frozenset()

    def first_layer(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """The first part, by default the product with X: n × r × width."""
        return first_layer(parameters, prepared.features, dropout)

    @abstractmethod
    def later_layers(
        self, parameters: Parameters, prepared: Any, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The rest: r × n × d."""

    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d."""
        first = self.first_layer(parameters, prepared, dropout)
        return self.later_layers(parameters, prepared, first, dropout)


def of_map(name: str) -> Any:
    """An attribute of a wrapper that reads the inner map's."""
    return property(lambda wrapper: getattr(wrapper.map, name), doc="The inner map's value.")


@dataclass(frozen=True)
class MapWrapper(StagedMap):
    """A map on other columns: subclasses define what differs from the inner map."""

    map: StagedMap

    capturable = of_map("capturable")
    search_space = of_map("search_space")
    ignored_settings = of_map("ignored_settings")
    unwrapped = of_map("unwrapped")
    least_bytes = of_map("least_bytes")
    operator_reason = of_map("operator_reason")
    initial = of_map("initial")
    first_layer = of_map("first_layer")
    later_layers = of_map("later_layers")
    finished = of_map("finished")

    def for_classes(self, classes: int) -> Self:
        """The wrapper with one output per class in its map, if the width is open."""
        return replace(self, map=self.map.for_classes(classes))

    def with_open_width(self) -> Self:
        """The wrapper with an open width in its map."""
        return replace(self, map=self.map.with_open_width())


@dataclass(frozen=True)
class FeatureInputs:
    """Inputs of a map from the graph: X, and the operator if neighbours are summed."""

    features: Features  # n × f
    neighbours: Any = None  # sums over neighbours: Ā, a hop operator, or edges
    loops: Tensor | None = None  # n: Ā's diagonal, for HopNet
    statistics: np.ndarray | None = None  # of the columns of X, for Standardized: 2 × f, in float64


class LayersMap(FeatureMap):
    """A map of several layers; each subclass declares these settings, in its own order."""

    hidden: tuple[int, ...]
    outputs: int | None
    normalize_rows: bool

    def __post_init__(self) -> None:
        check_widths(self.hidden, self.outputs)

    def widths(self, features: int) -> tuple[int, ...]:
        """Return the widths of all layers, from that of X to that of g."""
        return features, *self.hidden, width_of(self)

    @property
    def reach(self) -> int:
        """One edge for each layer."""
        return len(self.hidden) + 1

    def prepare(self, graph: Graph, options: TensorOptions) -> FeatureInputs:
        """X, and the operator that sums over neighbours."""
        x = node_features(graph, options, normalize_rows=self.normalize_rows)
        return FeatureInputs(x, self.neighbours(graph, options))

    def neighbours(self, graph: Graph, options: TensorOptions) -> Any:
        """Compute the operator that sums over neighbours; None if the map uses no edges."""


class LayeredMap(LayersMap, StagedMap):
    """``H ← relu(LayerNorm(sums(H W) + b))``, layer by layer, and the last one without relu.

    Subclasses define :meth:`sums`. Biases and LayerNorm are used if the parameters contain them.
    """

    def sums(self, prepared: Any, z: Tensor) -> Tensor:
        """Sum a layer's product with its weights over neighbours: n × r × width."""
        return z

    def first_layer(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """The first layer's sums."""
        return self.sums(prepared, super().first_layer(parameters, prepared, dropout))

    def later_layers(
        self, parameters: Parameters, prepared: Any, first: Tensor, dropout: Dropout | None
    ) -> Tensor:
        """The other layers: r × n × d."""
        return finish_mlp(parameters, first, dropout, partial(self.sums, prepared)).transpose(0, 1)


def _taken(g: Tensor, nodes: np.ndarray) -> Tensor:
    """Rows of g (r × n × d) at some nodes: r × m × d."""
    return take(g, torch.from_numpy(np.asarray(nodes, dtype=np.int64)).to(g.device)[None])


def input_rates(feature_map: FeatureMap, rates: Tensor) -> Tensor | None:
    """Rates of dropout on X (r), or None where there is nothing to drop."""
    if not rates.any():
        return None
    if not feature_map.drops_input:
        sentence = f"{type(feature_map).__name__} has no dropout on X: leave input_dropout out."
        raise InputError(sentence, "no-effect", setting="input_dropout")
    return rates
