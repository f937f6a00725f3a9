"""What a graph from tables remembers of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.tables.columns import Encoding
from kernode.data.tables.repairs import Repair
from kernode.graph.graph import Origin


@dataclass(frozen=True)
class TableOrigin(Origin):
    """What the columns became, to be repeated on other tables, and the rows that were dropped or changed."""

    encoding: Encoding
    repairs: tuple[Repair, ...] = ()

    def placed(self, features: Any, adjacency: sparse.csr_array, names: np.ndarray | None) -> Any:
        """Positions of nodes belong to the edges they were computed from."""
        return features if names is None else self.encoding.placed(features, adjacency, names)
