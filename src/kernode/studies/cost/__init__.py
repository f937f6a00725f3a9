"""What a run will take, before anything is computed: memory and time by part, and whether it fits."""

from kernode.studies.cost.refusal import require_memory
from kernode.studies.cost.run import Estimate, estimate
from kernode.studies.cost.sizes import Sizes, look_up

__all__ = ["Estimate", "Sizes", "estimate", "look_up", "require_memory"]
