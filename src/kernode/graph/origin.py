"""Where a graph came from: carried along by the graph, read by whoever made it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class Origin:
    """What a reader keeps of its input beside the graph itself: of tables, their columns and repairs."""

    def placed(self, features: Any, adjacency: sparse.csr_array, names: np.ndarray | None) -> Any:
        """Features after edges changed: what they say of a node's place in the graph, computed anew."""
        return features
