"""A graph kernel as a map: edges alone, without features and without training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.nystrom import landmark_factor, nystrom
from kernode.compute.sharing import shared
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part
from kernode.graph import Graph
from kernode.hops.spectral import GraphKernel, RegularizedLaplacian, normalized_adjacency, spectral_columns
from kernode.io.sizes import GraphSizes
from kernode.maps.base import FeatureMap


@dataclass(frozen=True)
class GraphKernelMap(FeatureMap):
    """``K = f(S)``, a graph kernel: nodes are similar where many short walks lead from one to the other.

    g(v) is Nyström's, as that of :class:`~kernode.maps.SmoothedKernel`: ⟨g(u), g(v)⟩ is K where one of both
    is a landmark. Landmarks are parameters, and are not trained.

    - ``graph_kernel``: such as :class:`~kernode.kernels.RegularizedLaplacian` or
      :class:`~kernode.kernels.GraphDiffusion`.
    """

    graph_kernel: GraphKernel = field(default_factory=lambda: RegularizedLaplacian(0.9))

    drops: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    capturable: ClassVar[bool] = False
    of_one_graph: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_part("graph_kernel", self.graph_kernel, GraphKernel, "kernode.kernels.RegularizedLaplacian()")

    def least_bytes(self, sizes: GraphSizes, options: TensorOptions) -> float:
        """The adjacency matrix."""
        return float(12 * sizes.entries)

    def prepare(self, graph: Graph, options: TensorOptions) -> tuple[sparse.csr_array, Any]:
        """S, and the type of g."""
        dtype = np.float64 if options.dtype == torch.float64 else np.float32
        return shared(graph, ("normalized adjacency",), lambda: normalized_adjacency(graph)), dtype

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions) -> Parameters:
        """No landmarks yet: a method chooses them among its training nodes."""
        return {"landmarks": torch.zeros((len(draws.seeds), 0), dtype=torch.int64)}

    def __call__(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × landmarks."""
        s, dtype = prepared
        found = []
        for landmarks in parameters["landmarks"]:
            (columns,) = spectral_columns(s, [self.graph_kernel], landmarks.cpu().numpy(), dtype=dtype)
            held = torch.from_numpy(columns).to(landmarks.device)
            factor = landmark_factor(held[landmarks])
            found.append(nystrom(factor, held.__getitem__, len(held)))
        return torch.stack(found)
