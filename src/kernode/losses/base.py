"""Base class of losses on classes: frozen settings and a mean loss per replica.

The paper writes sums; its released code takes means. Links have their own loss, on pairs of nodes:
link_cross_entropy.py.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.replicas import PerReplica, one_each
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.kernels import BaseKernel
from kernode.losses.nodes_by_class import NodesByClass

Objective = Literal["kernel", "softmax", "joint"]
Settings = dict[str, Tensor]  # those that may differ between replicas, by name: r numbers each


@dataclass(frozen=True)
class Loss(Config):
    """Loss of a node classifier, for a stack of r replicas at once.

    Like a map, a frozen dataclass of settings with two pure functions: :meth:`prepare`, which depends on the
    training nodes alone, and the loss itself.
    """

    objective: ClassVar[Objective]  # the classifier: "kernel" C_K, the others C_Y
    per_replica: ClassVar[tuple[str, ...]] = ()  # settings that may differ between replicas

    @abstractmethod
    def prepare(self, nodes: NodesByClass, own: Settings, options: TensorOptions) -> Any:
        """Compute once what does not change from epoch to epoch; ``own`` comes from :meth:`by_replica`."""

    @abstractmethod
    def __call__(
        self, prepared: Any, kernel: BaseKernel, parameters: Parameters, g: Tensor, draws: Draws
    ) -> dict[str, Tensor]:
        """``loss``, and its parts by name, from g of the training nodes (r × m × d): r numbers each."""

    def replica_settings(self) -> dict[str, PerReplica]:
        """The settings that may differ between replicas, by name."""
        return {name: getattr(self, name) for name in self.per_replica}

    def by_replica(self, replicas: int, options: TensorOptions) -> Settings:
        """The same as one number for each of r replicas."""
        settings = self.replica_settings().items()
        return {name: one_each(name, value, replicas, options) for name, value in settings}
