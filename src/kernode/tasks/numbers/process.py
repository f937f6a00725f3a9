"""The Gaussian process that predicts numbers of nodes: its covariance, and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse.csgraph import breadth_first_order
from torch import Tensor

from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import LATER, Config, require_part, require_setting
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.hops.spectral import GraphDiffusion, GraphMatern, RegularizedLaplacian
from kernode.kernels.base import BaseKernel
from kernode.kernels.covariance import (
    Covariance,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
    NodeInputs,
    between,
)
from kernode.kernels.linear import Linear
from kernode.kernels.rbf import RBF
from kernode.maps import FeatureMap
from kernode.maps.module import require_map
from kernode.tasks.numbers.hyperparameters import fit_hyperparameters
from kernode.tasks.numbers.inputs import COMPONENTS, learn_columns, node_inputs, spread_of
from kernode.tasks.numbers.posterior import ExactPosterior, InducedPosterior, Posterior

_COLUMNS = 512  # of graph kernels, computed at a time
_EXACT_ENTRIES = 5 * 10**7  # of K between all nodes and those with targets
_INDUCED_ENTRIES = 5 * 10**7  # of K between all nodes and the inducing ones
_FEWEST, _MOST = 200, 2000  # inducing nodes
_RANGES = (RegularizedLaplacian(0.9), RegularizedLaplacian(0.99))  # of edges alone, on large graphs
_NEAR = 100
_LIKELIHOOD = 500  # nodes of a large graph whose likelihood is computed


def _features(kernel: BaseKernel, hops: int = 0) -> FeatureCovariance:
    return FeatureCovariance(kernel, hops)


# Features, features with their means over two hops, edges, and both together: nodes that are similar by
# features and near. The kernels of edges are chosen so that any mixture of near and far is at hand.
DEFAULT = (
    _features(RBF(gamma=0.5))
    + _features(Linear())
    + _features(RBF(gamma=0.5), hops=2)
    + _features(Linear(), hops=2)
    + GraphCovariance(
        (
            RegularizedLaplacian(0.5),
            RegularizedLaplacian(0.99),
            GraphMatern(nu=2.0, length_scale=20.0),
            RegularizedLaplacian(-0.9),
            GraphDiffusion(8.0),
        )
    )
    + _features(RBF(gamma=0.5))
    * GraphCovariance((GraphDiffusion(8.0), GraphMatern(nu=2.0, length_scale=20.0)), unit=True)
)
# Added where a map is learned.
LEARNED = FeatureCovariance(RBF(gamma=0.5), columns="learned") + FeatureCovariance(
    Linear(), columns="learned"
)


@dataclass(frozen=True)
class GaussianProcess(Config):
    """``f ~ GP(0, K)``, ``y = μ + s (f + ε)``, ε ~ N(0, σ²): hyperparameters by marginal likelihood.

    - ``covariance``: K, such as a sum of :class:`~kernode.kernels.FeatureCovariance` and
      :class:`~kernode.kernels.GraphCovariance`.
    - ``nodes``: on how many random nodes with targets the likelihood is computed; all targets are used
      afterwards.
    - ``inducing``: how many nodes stand for all in terms with features, where K is too large to be exact;
      None for up to 2,000, as memory allows.
    - ``exact``: up to how many targets K is exact, if memory allows.
    - ``map``: what terms with learned columns compare nodes by, trained before the hyperparameters.
    """

    covariance: Covariance = DEFAULT
    nodes: int = 800
    inducing: int | None = None
    exact: int = 5000
    map: FeatureMap | None = field(default=None, metadata=LATER)

    has_kernel: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_part("covariance", self.covariance, Covariance, "kernode.kernels.FeatureCovariance(…)")
        require_setting(self.nodes >= 2, "nodes", "at least 2", self.nodes)
        require_setting(self.inducing is None or self.inducing >= 2, "inducing", "at least 2", self.inducing)
        require_setting(self.exact >= 0, "exact", "at least 0", self.exact)
        if self.map is None:
            if self.covariance.needs_map:
                sentence = "the covariance has a term of learned columns: give a map to learn."
                raise InputError(sentence, "missing", setting="map")
            return
        require_map(self.map, "kernode.maps.HopMLP()")
        if not self.map.learns or self.map.per_node or self.map.of_one_graph:
            name = type(self.map).__name__
            raise InputError(
                f"map must learn what applies to any node, such as kernode.maps.HopMLP(). {name} does not.",
                "unsupported", setting="map",
            )  # fmt: skip
        if not self.covariance.needs_map:
            sentence = "map has no effect on this kernel: add a FeatureCovariance(…, columns='learned')."
            raise InputError(sentence, "no-effect", setting="map")

    @property
    def title(self) -> str:
        """Name in messages."""
        return "a Gaussian process"

    def is_exact(self, nodes: int, targets: int) -> bool:
        """Whether K between so many nodes and targets is computed."""
        return targets <= self.exact and nodes * targets <= _EXACT_ENTRIES

    def for_size(self, nodes: int, targets: int) -> GaussianProcess:
        """Return the process for a graph of a size.

        Where K would be too large, the terms of edges alone become one kernel whose inverse is sparse; one is
        added where there is none, with an amplitude that the likelihood chooses. So is a term of features.
        """
        if self.is_exact(nodes, targets):
            return self
        own = self.covariance
        terms = own.terms if isinstance(own, CovarianceSum) else (own,)
        kept = tuple(one for one in terms if one.about != "edges")
        if not kept:
            kept = (_features(Linear()),)
        return replace(self, covariance=CovarianceSum((*kept, GraphCovariance(_RANGES))))

    def inducing_count(self, nodes: int) -> int:
        """How many nodes stand for all."""
        return self.inducing or int(np.clip(_INDUCED_ENTRIES // nodes, _FEWEST, _MOST))

    def least_bytes(self, nodes: int, features: int, targets: int) -> float:
        """A lower bound of the memory of a fit: the largest arrays that are held at a time."""
        own = self.for_size(nodes, targets)
        terms = [term for _, term in own.covariance.graph_terms()]
        kernels = len({one for term in terms for one in term.kernels})
        inputs = 3.0 * nodes * min(features, 2 * COMPONENTS) * 8
        if self.is_exact(nodes, targets):
            columns = (len(terms) * targets + kernels * min(targets, _COLUMNS)) * nodes * 8.0
            return inputs + max(columns, (kernels + len(terms)) * min(self.nodes, targets) ** 2 * 8.0)
        # Φ, and (Q + E/σ²)⁻¹ Eᵀ Φ.
        return inputs + 2.0 * nodes * min(self.inducing_count(nodes), targets) * 8


@dataclass(frozen=True, eq=False)
class Fitted:
    """Hyperparameters, and what was computed for them."""

    process: GaussianProcess
    parameters: Parameters
    inputs: NodeInputs
    inducing: np.ndarray | None = None  # None: exact


def fit_process(
    process: GaussianProcess,
    graph: Graph,
    nodes: np.ndarray,
    targets: np.ndarray,
    seed: int,
    *,
    exact: bool,
    map_parameters: Parameters | None = None,
    unseen: np.ndarray | None = None,
) -> Fitted:
    """Fit columns and hyperparameters to some nodes with targets of mean 0 and variance 1.

    ``map_parameters``: of the map that was learned. ``unseen``: a mask of the nodes that it was not trained
    on, whose targets alone say how much it is worth.
    """
    columns, order = learn_columns(graph), np.random.default_rng(seed).permutation(len(nodes))
    inducing = None if exact else nodes[order[: process.inducing_count(graph.n_nodes)]]
    if unseen is not None:
        order = order[unseen[order]]
    nodes, targets = nodes[order], targets[order]
    columns |= {} if process.map is None else learned_columns(process.map, map_parameters or {}, graph)
    inputs = process_inputs(process, columns, graph)
    covariance = process.covariance
    if exact:
        some = nodes[: process.nodes]
        found, _ = fit_hyperparameters(
            covariance, between(covariance, inputs, some, some), targets[: process.nodes]
        )
    else:
        process, found = _fit_on_large(process, graph, inputs, nodes, targets)
    parameters = columns | {f"process.{name}": value[None] for name, value in found.items()}
    return Fitted(process, parameters, inputs, inducing)


def _fit_on_large(
    process: GaussianProcess, graph: Graph, inputs: NodeInputs, nodes: np.ndarray, targets: np.ndarray
) -> tuple[GaussianProcess, Parameters]:
    """Return the process with the kernel of edges that has the highest evidence, and hyperparameters."""
    some = _near_and_far(graph, nodes, min(process.nodes, _LIKELIHOOD))
    covariance = process.covariance
    among = between(covariance, inputs, nodes[some], nodes[some], dtype=np.float32)
    tried = []
    *kept, edges = covariance.terms  # type: ignore[attr-defined]
    for at, kernel in enumerate(edges.kernels):
        own = {path: held.double() for path, held in among.graph.items()}
        path = f"{len(kept)}."
        own[path] = own[path][at : at + 1]
        one = CovarianceSum((*kept, GraphCovariance((kernel,))))
        tried.append((one, *fit_hyperparameters(one, replace(among, graph=own), targets[some])))
    best, found, _ = max(tried, key=lambda one: one[2])
    return replace(process, covariance=best), found


def _near_and_far(graph: Graph, nodes: np.ndarray, count: int) -> np.ndarray:
    """Places of nodes whose likelihood is computed: the first of a random list, and neighbourhoods of 100.

    Among some hundred random nodes of a large graph hardly two are near, so that edges would explain nothing.
    """
    chosen = list(range(min(count // 2, len(nodes))))
    place = np.full(graph.n_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    place[nodes[chosen]] = -1
    for start in nodes[count // 2 :]:
        if len(chosen) >= min(count, len(nodes)):
            break
        around = breadth_first_order(graph.adjacency, start, directed=False, return_predecessors=False)
        near = place[around]
        near = near[near >= 0][: min(_NEAR, count - len(chosen))]
        place[nodes[near]] = -1
        chosen += near.tolist()
    return np.array(chosen)


@torch.no_grad()
def _g(feature_map: FeatureMap, parameters: Parameters, graph: Graph) -> Tensor:
    """g of every node, by each replica: r × n × d."""
    return feature_map(parameters, feature_map.prepare(graph, TensorOptions.of(64, "cpu")))


def learned_columns(feature_map: FeatureMap, parameters: Parameters, graph: Graph) -> Parameters:
    """Return a map's parameters, and what standardises its columns."""
    g = _g(feature_map, parameters, graph)
    return {f"map.{name}": value for name, value in parameters.items()} | {
        "learned.center": g.mean(dim=1),
        "learned.spread": torch.from_numpy(np.stack([spread_of(one.numpy()) for one in g])),
    }


def process_inputs(process: GaussianProcess, columns: Parameters, graph: Graph) -> NodeInputs:
    """Return what the covariance compares the nodes of a graph by."""
    inputs = node_inputs({k: v for k, v in columns.items() if k.startswith("columns.")}, graph)
    if process.map is not None:
        g = _g(process.map, under_prefix(columns, "map."), graph)
        g = (g - columns["learned.center"][:, None]) / columns["learned.spread"][:, None]
        inputs = replace(inputs, learned=g.transpose(0, 1).reshape(graph.n_nodes, -1))
    kernels = {one for _, term in process.covariance.graph_terms() for one in term.kernels}
    return inputs.with_diagonals(sorted(kernels, key=repr))


def posterior_of(
    process: GaussianProcess,
    parameters: Parameters,
    inputs: NodeInputs,
    nodes: np.ndarray,
    targets: np.ndarray,
    inducing: np.ndarray | None = None,
) -> Posterior:
    """Return the posterior of targets of mean 0 and variance 1."""
    hyperparameters = {name: value[0] for name, value in under_prefix(parameters, "process.").items()}
    given = process.covariance, hyperparameters, inputs, nodes, targets
    return ExactPosterior(*given) if inducing is None else InducedPosterior(*given, inducing)
