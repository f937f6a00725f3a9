"""What a run will take, before anything is computed: memory and time by part, and whether it fits."""

from kernode.estimate.refusal import require_memory
from kernode.estimate.run import Estimate, estimate
from kernode.estimate.sizes import Sizes, look_up

__all__ = ["Estimate", "Sizes", "estimate", "look_up", "require_memory"]
