"""What is minimised: L_K on the kernel, softmax L_Y, both, and links; who is compared."""

from kernode.losses.base import Loss, Objective
from kernode.losses.joint import Joint
from kernode.losses.kernel_loss import Hinge, KernelLoss, Logistic, Squared
from kernode.losses.link_cross_entropy import LinkCrossEntropy
from kernode.losses.softmax import Softmax

__all__ = [
    "Hinge",
    "Joint",
    "KernelLoss",
    "LinkCrossEntropy",
    "Logistic",
    "Loss",
    "Objective",
    "Softmax",
    "Squared",
]
