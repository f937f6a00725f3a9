"""Posterior of a Gaussian process on a graph: exact for some thousand targets, by inducing nodes for more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.chunks import chunks
from kernode.compute.stack import Parameters
from kernode.hops.spectral import RegularizedLaplacian
from kernode.kernels.covariance import Between, Covariance, NodeInputs, between
from kernode.progress import report_progress
from kernode.tasks.numbers.hyperparameters import JITTER

_ROWS = 4096
_PROBES = 128  # samples that estimate a variance: its relative deviation is √(2 / 128) = 1/8
_TOLERANCE = 1e-8
_ITERATIONS = 1000
_RIGHT = 128  # right-hand sides solved at a time


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """What targets of some nodes (with mean 0 and variance 1) say about all nodes."""

    covariance: Covariance
    parameters: Parameters  # hyperparameters and noise
    inputs: NodeInputs
    train: np.ndarray  # m nodes
    targets: np.ndarray  # m

    @property
    def noise(self) -> float:
        """σ², of a target about the function."""
        return float(self.parameters["noise"].exp()) + JITTER

    def _gram(self, own: Between) -> Tensor:
        return self.covariance.gram(self.parameters, own)

    @property
    @abstractmethod
    def own(self) -> Between:
        """What the covariance needs between all nodes and its landmarks."""

    @property
    @abstractmethod
    def mean(self) -> np.ndarray:
        """Posterior mean of every node: n."""

    @property
    @abstractmethod
    def variance(self) -> np.ndarray:
        """Posterior variance of every node, without noise: n."""

    @abstractmethod
    def weights(self, node: int) -> np.ndarray:
        """w with mean(v) = ⟨w, targets⟩: m."""

    @abstractmethod
    def parts(self, nodes: np.ndarray) -> dict[str, np.ndarray]:
        """What features, edges and both together add to the mean: of each q numbers, which sum to it."""

    @abstractmethod
    def samples(self, nodes: np.ndarray, count: int, seed: int) -> np.ndarray:
        """Functions from the posterior, at some nodes: count × q."""

    @property
    @abstractmethod
    def vectors(self) -> Tensor:
        """g(v) of every node with ⟨g(u), g(v)⟩ = K(u, v) where one of both is a landmark: n × m."""

    @property
    @abstractmethod
    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (with noise) of each target by all others: m each."""


@dataclass(frozen=True, eq=False)
class ExactPosterior(Posterior):
    """By a Cholesky factor of K + σ² I."""

    @cached_property
    def own(self) -> Between:
        """Between all nodes and the training nodes."""
        n = len(self.inputs.degrees)
        return between(self.covariance, self.inputs, np.arange(n), self.train, self.parameters)

    @cached_property
    def factor(self) -> Tensor:
        """L with L Lᵀ = K + σ² I."""
        gram = self._gram(self.own.at(self.train))
        return torch.linalg.cholesky(gram + self.noise * torch.eye(len(gram), dtype=gram.dtype))

    @cached_property
    def dual(self) -> Tensor:
        """(K + σ² I)⁻¹ y: m."""
        return torch.cholesky_solve(torch.from_numpy(self.targets)[:, None], self.factor)[:, 0]

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        n = len(self.own.rows)
        mean, variance = np.empty(n), np.empty(n)
        for some in chunks(n, _ROWS):
            rows = self.own.at(np.arange(some.start, some.stop))
            gram = self._gram(rows)
            mean[some] = (gram @ self.dual).numpy()
            reached = torch.linalg.solve_triangular(self.factor, gram.T, upper=False).square().sum(dim=0)
            variance[some] = (self.covariance.diagonal(self.parameters, rows) - reached).numpy()
        # On large graphs K(v, v) is estimated, and rounding may exceed what is left.
        return mean, np.maximum(variance, 1e-6 * self.noise)

    @property
    def mean(self) -> np.ndarray:
        """Of every node: n."""
        return self._moments[0]

    @property
    def variance(self) -> np.ndarray:
        """Of every node: n."""
        return self._moments[1]

    @cached_property
    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (with noise) of each target by all others: m each."""
        inverse = torch.cholesky_inverse(self.factor).diagonal().numpy()
        return self.targets - self.dual.numpy() / inverse, 1 / inverse

    def weights(self, node: int) -> np.ndarray:
        """(K + σ² I)⁻¹ k(v): m."""
        own = self._gram(self.own.at(np.array([node])))
        return torch.cholesky_solve(own.T, self.factor)[:, 0].numpy()

    def parts(self, nodes: np.ndarray) -> dict[str, np.ndarray]:
        """Of each term of the covariance."""
        rows, found = self.own.at(nodes), dict[str, np.ndarray]()
        for about, term, own, path in self.covariance.parts(self.parameters):
            added = (term.gram(own, rows, path) @ self.dual).numpy()
            found[about] = found.get(about, 0.0) + added
        return found

    def samples(self, nodes: np.ndarray, count: int, seed: int) -> np.ndarray:
        """Functions from the posterior, at some nodes: count × q."""
        among = between(self.covariance, self.inputs, nodes, nodes, self.parameters)
        own = self._gram(self.own.at(nodes))
        reached = torch.linalg.solve_triangular(self.factor, own.T, upper=False)
        left = self._gram(among) - reached.T @ reached
        # By eigenvalues: it is singular where nodes are the same.
        values, vectors = torch.linalg.eigh((left + left.T) / 2)
        draws = torch.from_numpy(np.random.default_rng(seed).standard_normal((len(nodes), count)))
        spread = vectors @ (values.clamp_min(0).sqrt()[:, None] * draws)
        return self.mean[nodes] + spread.T.numpy()

    @cached_property
    def vectors(self) -> Tensor:
        """K(v, T) L⁻ᵀ with L Lᵀ = K(T, T) of the training nodes T."""
        return nystrom(self._gram, self.own, self.train)


@dataclass(frozen=True, eq=False)
class InducedPosterior(Posterior):
    """``f = Φ a + u``: terms with features by inducing nodes, the term of edges by its sparse precision.

    ``Φ = K(V, Z) K(Z, Z)^-½`` with a ~ N(0, I) are the terms with features. u ~ N(0, Q⁻¹) with
    ``Q = q (I − α S)`` is exact. Systems with Q + E / σ², E of the training nodes, are solved by conjugate
    gradients; a follows from a z × z system. Variances of u are estimated by samples. What Φ leaves out of
    K(v, v) is added to variances, or nodes unlike the inducing ones would seem well known.
    """

    inducing: np.ndarray

    @property
    def _edges(self) -> tuple[RegularizedLaplacian, float]:
        """The kernel of the term of edges, and its amplitude."""
        about = {about: (term, own) for about, term, own, _ in self.covariance.parts(self.parameters)}
        term, own = about["edges"]
        return term.kernels[0], float(own["amplitudes"].exp())  # type: ignore[attr-defined]

    @cached_property
    def own(self) -> Between:
        """Between all nodes and the inducing ones."""
        n = len(self.inputs.degrees)
        return between(self.covariance, self.inputs, np.arange(n), self.inducing, self.parameters, np.float32)

    def _features(self, own: Between) -> Tensor:
        """K of the terms with features."""
        parts = self.covariance.parts(self.parameters)
        grams = [term.gram(mine, own, path) for about, term, mine, path in parts if about != "edges"]
        return sum(grams[1:], grams[0]).double()

    @cached_property
    def phi(self) -> np.ndarray:
        """Φ: n × z."""
        return nystrom(self._features, self.own, self.inducing).numpy()

    @cached_property
    def _precision(self) -> tuple[float, sparse.csr_array, np.ndarray]:
        """q, I − α S, and the diagonal of E / σ²."""
        (kernel, amplitude), n = self._edges, len(self.inputs.degrees)
        q = float(self.inputs.diagonals[kernel].mean()) / amplitude
        known = np.zeros(n)
        np.add.at(known, self.train, 1 / self.noise)
        left = sparse.eye_array(n, format="csr") - kernel.alpha * self.inputs.adjacency
        return q, sparse.csr_array(left), known

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """(Q + E / σ²)⁻¹ B: n × k."""
        q, left, known = self._precision
        diagonal = q + known
        found = np.empty_like(right)
        for some in chunks(right.shape[1], _RIGHT):
            found[:, some] = conjugate_gradients(
                lambda x: q * (left @ x) + known[:, None] * x, right[:, some], diagonal
            )
        return found

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values of the training nodes (m × k) as those of all nodes, others 0: n × k."""
        found = np.zeros((len(self.inputs.degrees), values.shape[1]))
        np.add.at(found, self.train, values)
        return found

    @cached_property
    def _system(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """a, u, W = (Q + E/σ²)⁻¹ Eᵀ Φ / σ², and the covariance of a."""
        own = self.phi[self.train]
        right = np.hstack([own, self.targets[:, None]]) / self.noise
        solved = self._solve(self._spread(right))
        w, b = solved[:, :-1], solved[:, -1]
        inner = np.eye(own.shape[1]) + own.T @ (own - w[self.train]) / self.noise
        covariance = np.linalg.inv((inner + inner.T) / 2)
        a = covariance @ (own.T @ (self.targets - b[self.train])) / self.noise
        return a, b - w @ a, w, covariance

    @cached_property
    def mean(self) -> np.ndarray:
        """Of every node: n."""
        a, u, _, _ = self._system
        return np.asarray(self.phi @ a + u)

    @property
    def variance(self) -> np.ndarray:
        """Of every node: n."""
        return np.asarray(self._modelled + self._rest)

    @cached_property
    def _rest(self) -> np.ndarray:
        """K(v, v) − |Φ(v)|² of the terms with features: n, larger the less the inducing nodes are like v."""
        parts = self.covariance.parts(self.parameters)
        prior = [term.diagonal(own, self.own, path) for about, term, own, path in parts if about != "edges"]
        return np.maximum(sum(prior[1:], prior[0]).numpy() - np.square(self.phi).sum(axis=1), 0)

    @cached_property
    def _modelled(self) -> np.ndarray:
        """The variance of Φ a + u: n; that of u in part by samples."""
        _, _, w, covariance = self._system
        rest = self.phi - w
        fixed = np.einsum("ij,ij->i", rest @ covariance, rest)
        # Var(u_i) = 1 / P_ii + Var(E(u_i | all others)), P = Q + E / σ²: only the second part is estimated
        # (Sidén et al. 2018).
        q, left, known = self._precision
        drawn, own = self._deviations(_PROBES, 0), q * left.diagonal() + known
        by_others = drawn - (q * (left @ drawn) + known[:, None] * drawn) / own[:, None]
        return np.asarray(fixed + 1 / own + np.square(by_others).mean(axis=1))

    @cached_property
    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (with noise) of each target by all others: m each.

        ``K⁻¹_ii = (1 − s_i / σ²) / σ²`` with the posterior variance s_i of Φ a + u.
        """
        rest = self._rest[self.train]
        prior = self.covariance.diagonal(self.parameters, self.own.at(self.train)).numpy() - rest
        # A variance that is estimated may be too large, but no number says less than nothing.
        leverage = np.clip(self._modelled[self.train] / self.noise, 0, prior / (prior + self.noise))
        residual = (self.targets - self.mean[self.train]) / (1 - leverage)
        return self.targets - residual, self.noise / (1 - leverage) + rest

    def _deviations(self, count: int, seed: int) -> np.ndarray:
        """Samples of N(0, (Q + E / σ²)⁻¹): n × count.

        ``I − α S = (1 − |α|) I + |α| B Bᵀ``, where B has a column for each edge, and one for each node
        without edges.
        """
        q, _, known = self._precision
        rng, alpha = np.random.default_rng(seed), self._edges[0].alpha
        degrees, edges = self.inputs.degrees, sparse.triu(self.inputs.adjacency, 1).tocoo()
        n, m, alone = len(degrees), len(edges.data), degrees == 0
        turn = (degrees[edges.col] / degrees[edges.row]) ** 0.25
        root = np.sqrt(np.concatenate([edges.data, edges.data]))
        values = root * np.concatenate([turn, -np.sign(alpha) / turn])
        at = np.concatenate([edges.row, edges.col]), np.tile(np.arange(m), 2)
        incidence = sparse.csr_array((values, at), shape=(n, m))
        own = np.sqrt(q * np.where(alone, 1.0, 1 - abs(alpha)) + known)
        found = own[:, None] * rng.standard_normal((n, count))
        found += np.sqrt(q * abs(alpha)) * (incidence @ rng.standard_normal((m, count)))
        return self._solve(found)

    def weights(self, node: int) -> np.ndarray:
        """The derivative of the mean by the targets: m."""
        _, _, w, covariance = self._system
        one = np.zeros((len(w), 1))
        one[node] = 1
        h = covariance @ (self.phi[node] - w[node])
        own = self.phi[self.train] @ h - w[self.train] @ h + self._solve(one)[self.train, 0]
        return np.asarray(own / self.noise)

    def parts(self, nodes: np.ndarray) -> dict[str, np.ndarray]:
        """Of each term of the covariance."""
        a, u, _, _ = self._system
        factor = _landmark_factor(self._features, self.own, self.inducing)
        dual = torch.linalg.solve_triangular(factor.T, torch.from_numpy(a)[:, None], upper=True)[:, 0]
        rows, found = self.own.at(nodes), {"edges": u[nodes]}
        for about, term, own, path in self.covariance.parts(self.parameters):
            if about != "edges":
                added = (term.gram(own, rows, path).double() @ dual).numpy()
                found[about] = found.get(about, 0.0) + added
        return found

    def samples(self, nodes: np.ndarray, count: int, seed: int) -> np.ndarray:
        """Functions from the posterior, at some nodes: count × q."""
        a, _, w, covariance = self._system
        rng = np.random.default_rng([seed, 1])  # not the numbers that draw u
        off = np.linalg.cholesky(covariance) @ rng.standard_normal((len(a), count))
        own = np.sqrt(self._rest)[:, None] * rng.standard_normal((len(self._rest), count))
        deviations = (self._deviations(count, seed) + own)[nodes]
        rest = (self.phi[nodes] - w[nodes]) @ off
        return np.asarray(self.mean[nodes] + (rest + deviations).T)

    @cached_property
    def vectors(self) -> Tensor:
        """K(v, Z) L⁻ᵀ with L Lᵀ = K(Z, Z) of the inducing nodes Z, the term of edges included."""
        return nystrom(self._gram, self.own, self.inducing)


def nystrom(gram: Callable[[Between], Tensor], own: Between, landmarks: np.ndarray) -> Tensor:
    """``g(V) = K(V, Z) L⁻ᵀ`` with L Lᵀ = K(Z, Z) of landmarks Z, the columns of ``own``: n × m."""
    factor = _landmark_factor(gram, own, landmarks)
    found = torch.empty((len(own.rows), len(landmarks)), dtype=torch.float64)
    for some in chunks(len(own.rows), _ROWS):
        rows = gram(own.at(np.arange(some.start, some.stop))).double()
        found[some] = torch.linalg.solve_triangular(factor, rows.T, upper=False).T
    return found


def _landmark_factor(gram: Callable[[Between], Tensor], own: Between, landmarks: np.ndarray) -> Tensor:
    among = gram(own.at(landmarks)).double()
    among = (among + among.T) / 2
    # Columns in float32 are p.s.d. up to their rounding, and equal nodes need some.
    rounded = any(one.dtype == torch.float32 for one in own.graph.values())
    jitter = (1e-4 if rounded else JITTER) * among.diagonal().mean()
    return torch.linalg.cholesky(among + jitter * torch.eye(len(among), dtype=among.dtype))


def conjugate_gradients(
    multiply: Callable[[np.ndarray], np.ndarray], right: np.ndarray, diagonal: np.ndarray
) -> np.ndarray:
    """Solve ``A X = B`` for p.d. A and several columns at once, with the diagonal as preconditioner."""
    x, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal[:, None]
    direction = scaled.copy()
    energy = np.einsum("ij,ij->j", residual, scaled)
    target = _TOLERANCE**2 * np.maximum(energy, 1e-300)
    for step in range(_ITERATIONS):
        if (energy <= target).all():
            break
        report_progress("conjugate gradients", step, _ITERATIONS)
        product = multiply(direction)
        size = energy / np.maximum(np.einsum("ij,ij->j", direction, product), 1e-300)
        x += size * direction
        residual -= size * product
        scaled = residual / diagonal[:, None]
        former, energy = energy, np.einsum("ij,ij->j", residual, scaled)
        direction *= energy / np.maximum(former, 1e-300)
        direction += scaled
    return x
