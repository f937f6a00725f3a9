"""Base class of methods with a kernel: a map and a base kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config, require_part
from kernode.io.sizes import GraphSizes
from kernode.kernels import BaseKernel
from kernode.maps import FeatureMap
from kernode.maps.module import require_map
from kernode.models.overrides import Changes, changed_kernel, changed_map
from kernode.training.settings import OF_LEARNING, Training


@dataclass(frozen=True)
class KernelMethod(Config):
    """K(u, v) = kernel(map(u), map(v)). A task may add settings of its own, and parameters in ``initial``."""

    map: FeatureMap
    kernel: BaseKernel

    has_kernel: ClassVar[bool] = True
    closed_form: ClassVar[bool] = False  # learned without the training loop

    def __post_init__(self) -> None:
        require_map(self.map, "kernode.maps.HopMLP()")
        require_part("kernel", self.kernel, BaseKernel, "kernode.kernels.Linear()")

    @property
    def title(self) -> str:
        """Name in messages: the map's."""
        return type(self.map).__name__

    def initial(self, prepared: Any, draws: Draws, options: TensorOptions, classes: int = 1) -> Parameters:
        """Initial parameters, named ``map.…`` and ``kernel.…``."""
        parameters = {f"map.{k}": v for k, v in self.map.initial(prepared, draws, options).items()}
        for name, value in self.kernel.initial(len(draws.seeds)).items():
            parameters[f"kernel.{name}"] = value.to(options.dtype).to(options.device)
        return parameters

    def represent(self, parameters: Parameters, prepared: Any, dropout: Dropout | None = None) -> Tensor:
        """g of every node: r × n × d. A map without parameters gives one g for all replicas."""
        g = self.map(under_prefix(parameters, "map."), prepared, dropout)
        replicas = len(next(iter(parameters.values()), g))
        return g.expand(replicas, -1, -1) if len(g) == 1 else g

    def changed(self, changes: Changes) -> Self:
        """Return the method with changes; a new map without a width gets this map's."""
        feature_map = changed_map(self.map, changes.get("map", {}))
        width = getattr(self.map.unwrapped, "outputs", None)
        if width is not None:
            feature_map = feature_map.for_classes(width)
        return replace(self, map=feature_map, kernel=changed_kernel(self.kernel, changes.get("kernel", {})))

    @property
    def learns(self) -> bool:
        """Whether there are parameters to train."""
        return self.map.learns or bool(self.kernel.initial(1))

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Training settings without effect: the map's, and all of learning where nothing is learned."""
        return self.map.ignored_settings | (frozenset() if self.learns else OF_LEARNING)

    def least_bytes(self, sizes: GraphSizes, training: Training, options: TensorOptions) -> float:
        """A lower bound of the memory that training takes in addition to the graph, one replica at a time."""
        wide = self.map.for_classes(max(1, sizes.classes))
        return wide.least_bytes(sizes, options) if training.epochs else 0.0
