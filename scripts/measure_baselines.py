"""Measure the systems that the paper compares with: 10 runs each, its two splits, and its link table.

`python scripts/measure_baselines.py [cpu|cuda]` writes one file per cell to results/baselines/ and
results/links/, and skips cells that are there already.
"""

from __future__ import annotations

import sys
from itertools import product

from measure_core import RESULTS, measure

DATASETS = ("cora", "citeseer", "pubmed")
NODES = ("kled", "gcn", "gat", "fastgcn", "k1-gcn", "k2-gat", "sgc", "appnp", "jk", "presmoothed")
CELLS = [
    *((dataset, variant, "fastgcn") for dataset, variant in product(DATASETS, NODES)),
    *((dataset, variant, "jk") for dataset, variant in product(DATASETS[:2], ("gcn", "gat", "jk", "k3"))),
]


def main() -> None:
    """Measure what is missing."""
    device = sys.argv[1] if len(sys.argv) > 1 else "auto"
    for dataset, variant, split in CELLS:
        command = f"kernode fit {dataset} --variant {variant} --split {split}"
        measure(RESULTS / "baselines" / f"{dataset}-{variant}-{split}.json", command, device)
    for dataset, method in product(DATASETS, ("kernel", "gae", "vgae")):
        measure(
            RESULTS / "links" / f"{dataset}-{method}.json",
            f"kernode links {dataset} --method {method}",
            device,
        )


if __name__ == "__main__":
    main()
