"""The Gaussian process that predicts numbers of nodes: its covariance, and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernode.compute.stack import Parameters, under_prefix
from kernode.config import Config, require_part, require_setting
from kernode.graph import Graph
from kernode.hops.spectral import GraphDiffusion, GraphMatern, RegularizedLaplacian
from kernode.kernels.base import BaseKernel
from kernode.kernels.covariance import (
    Between,
    Covariance,
    CovarianceSum,
    FeatureCovariance,
    GraphCovariance,
    NodeInputs,
    between,
)
from kernode.kernels.linear import Linear
from kernode.kernels.rbf import RBF
from kernode.tasks.numbers.hyperparameters import fit_hyperparameters
from kernode.tasks.numbers.inputs import learn_columns, node_inputs
from kernode.tasks.numbers.posterior import ExactPosterior, InducedPosterior, Posterior

_EXACT_ENTRIES = 5 * 10**7  # of K between all nodes and those with targets
_INDUCED_ENTRIES = 5 * 10**7  # of K between all nodes and the inducing ones
_FEWEST, _MOST = 200, 2000  # inducing nodes
_LARGE = GraphCovariance((RegularizedLaplacian(0.99),))


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
    """

    covariance: Covariance = DEFAULT
    nodes: int = 800
    inducing: int | None = None
    exact: int = 5000

    has_kernel: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_part("covariance", self.covariance, Covariance, "kernode.kernels.FeatureCovariance(…)")
        require_setting(self.nodes >= 2, "nodes", "at least 2", self.nodes)
        require_setting(self.inducing is None or self.inducing >= 2, "inducing", "at least 2", self.inducing)
        require_setting(self.exact >= 0, "exact", "at least 0", self.exact)

    @property
    def title(self) -> str:
        """Name in messages."""
        return "a Gaussian process"

    def is_exact(self, nodes: int, targets: int) -> bool:
        """Whether K between so many nodes and targets is computed."""
        return targets <= self.exact and nodes * targets <= _EXACT_ENTRIES

    def for_size(self, nodes: int, targets: int) -> GaussianProcess:
        """Return the process for a graph of a size.

        Where K would be too large, the terms of edges alone become one kernel whose inverse is sparse.
        """
        if self.is_exact(nodes, targets):
            return self
        own = self.covariance
        terms = own.terms if isinstance(own, CovarianceSum) else (own,)
        kept = tuple(one for one in terms if one.about != "edges")
        if not kept:
            kept = (_features(Linear()),)
        return replace(self, covariance=CovarianceSum((*kept, _LARGE)))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Hyperparameters, and what was computed for them."""

    parameters: Parameters
    inputs: NodeInputs
    inducing: np.ndarray | None = None  # None: exact
    own: Between | None = None  # between all nodes and the inducing ones


def fit_process(
    process: GaussianProcess, graph: Graph, nodes: np.ndarray, targets: np.ndarray, seed: int, *, exact: bool
) -> Fitted:
    """Fit columns and hyperparameters to some nodes with targets of mean 0 and variance 1."""
    columns = learn_columns(graph)
    inputs = process_inputs(process, columns, graph)
    order = np.random.default_rng(seed).permutation(len(nodes))
    covariance = process.covariance
    if exact:
        some = order[: process.nodes]
        among = between(covariance, inputs, nodes[some], nodes[some])
        found, inducing, own = fit_hyperparameters(covariance, among, targets[some]), None, None
    else:
        n = graph.n_nodes
        count = process.inducing or int(np.clip(_INDUCED_ENTRIES // n, _FEWEST, _MOST))
        inducing = nodes[order[:count]]  # the first of them have the hyperparameters
        own = between(covariance, inputs, np.arange(n), inducing, dtype=np.float32)
        few = own.at(inducing[: process.nodes]).to(np.arange(min(process.nodes, len(inducing))))
        few = replace(few, graph={path: one.double() for path, one in few.graph.items()})
        found = fit_hyperparameters(covariance, few, targets[order[: len(few.columns)]])
        own = own.weighted(found)
    parameters = columns | {f"process.{name}": value[None] for name, value in found.items()}
    return Fitted(parameters, inputs, inducing, own)


def process_inputs(process: GaussianProcess, columns: Parameters, graph: Graph) -> NodeInputs:
    """Return what the covariance compares the nodes of a graph by."""
    inputs = node_inputs({k: v for k, v in columns.items() if k.startswith("columns.")}, graph)
    kernels = {one for _, term in process.covariance.graph_terms() for one in term.kernels}
    return inputs.with_diagonals(sorted(kernels, key=repr))


def posterior_of(
    process: GaussianProcess,
    parameters: Parameters,
    inputs: NodeInputs,
    nodes: np.ndarray,
    targets: np.ndarray,
    inducing: np.ndarray | None = None,
    own: Between | None = None,
) -> Posterior:
    """Return the posterior of targets of mean 0 and variance 1.

    ``own``: what is needed between all nodes and those with targets, or the inducing ones, if it is known.
    """
    hyperparameters = {name: value[0] for name, value in under_prefix(parameters, "process.").items()}
    given = process.covariance, hyperparameters, inputs, nodes, targets
    found = ExactPosterior(*given) if inducing is None else InducedPosterior(*given, inducing)
    if own is not None:
        vars(found)["own"] = own
    return found
