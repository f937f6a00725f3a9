"""L_{K+Y}: both losses together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from kernode.compute.draws import Draws
from kernode.compute.replicas import PerReplica, plain_numbers
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.config import require_part
from kernode.kernels import BaseKernel
from kernode.losses.base import Loss, Settings
from kernode.losses.kernel_loss import Hinge, KernelLoss
from kernode.losses.nodes_by_class import NodesByClass
from kernode.losses.softmax import Softmax


@dataclass(frozen=True)
class Joint(Loss):
    """``L_Y + λ L_K``.

    - ``kernel_weight``: λ.
    """

    kernel: KernelLoss = Hinge()
    softmax: Softmax = Softmax()
    kernel_weight: PerReplica = 0.1  # not stated

    objective: ClassVar = "joint"
    per_replica: ClassVar = ("kernel_weight",)

    def __post_init__(self) -> None:
        require_part("kernel", self.kernel, KernelLoss, "kernode.losses.Hinge()")
        require_part("softmax", self.softmax, Softmax, "kernode.losses.Softmax()")
        object.__setattr__(self, "kernel_weight", plain_numbers("kernel_weight", self.kernel_weight))

    def replica_settings(self) -> dict[str, PerReplica]:
        """λ, and what the parts have."""
        return super().replica_settings() | self.kernel.replica_settings() | self.softmax.replica_settings()

    def prepare(self, nodes: NodesByClass, own: Settings, options: TensorOptions) -> tuple[Any, Any, Tensor]:
        """What both parts hold, and λ of each replica."""
        parts = (self.kernel.prepare(nodes, own, options), self.softmax.prepare(nodes, own, options))
        return *parts, own["kernel_weight"]

    def __call__(
        self, prepared: Any, kernel: BaseKernel, parameters: Parameters, g: Tensor, draws: Draws
    ) -> dict[str, Tensor]:
        """L_Y + λ L_K, and both."""
        of_kernel, of_softmax, weight = prepared
        parts = self.kernel(of_kernel, kernel, parameters, g, draws)
        parts |= self.softmax(of_softmax, kernel, parameters, g, draws)
        loss = parts["softmax_loss"] + weight * parts["kernel_loss"]
        return {**parts, "loss": loss}
