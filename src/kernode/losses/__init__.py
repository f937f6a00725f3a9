"""What is minimised, one file each: L_K on the kernel, softmax L_Y, both, and links; who is compared."""

from kernode.losses.base import Loss, Objective
from kernode.losses.hinge import Hinge
from kernode.losses.joint import Joint
from kernode.losses.kernel_loss import KernelLoss
from kernode.losses.link_cross_entropy import LinkCrossEntropy
from kernode.losses.logistic import Logistic
from kernode.losses.softmax import Softmax
from kernode.losses.squared import Squared

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
