"""What is minimised."""

from kernode.losses.base import *  # noqa: F403
from kernode.losses.base import KERNEL_LOSSES, kernel_loss, node_weights, softmax_loss  # noqa: F401
