"""Measure the paper's own variants: 10 runs each, both readings of the hop operator, three data sets.

`python scripts/measure_core.py [cpu|cuda]` writes one file per cell to results/core/ and skips cells that
are there already; on two cores all of them take about 40 minutes, nearly all for K1 and K2 on Pubmed.
A cell is what `kernode fit --json` printed, with its command, the versions and the machine.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from itertools import product
from pathlib import Path

import torch

RESULTS = Path(__file__).parents[1] / "results"
CELLS = [*product(("cora", "citeseer", "pubmed"), ("k1", "k2", "k3", "n1"), ("each", "last"))]


def cell_of(command: str, printed: str) -> dict[str, object]:
    """Put together what is stored of a run."""
    return {
        "command": command,
        "report": json.loads(printed) | {"model": None},  # the model file was temporary
        "versions": {name: version(name) for name in ("kernode", "torch", "numpy", "scipy")},
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "system": platform.system(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        },
    }


def measure(path: Path, command: str, device: str) -> None:
    """Run a command for 10 seeds and store what it prints, unless it is stored already."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    command = f"{command} --replicas 10 --device {device} --json"
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "-m", *command.split(), "--out", f"{folder}/model.safetensors"]
        printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    path.write_text(json.dumps(cell_of(command, printed), indent=1) + "\n")
    print(path.stem, flush=True)


def main() -> None:
    """Measure what is missing."""
    device = sys.argv[1] if len(sys.argv) > 1 else "auto"
    for dataset, variant, powers in CELLS:
        command = f"kernode fit {dataset} --variant {variant} --powers {powers}"
        measure(RESULTS / "core" / f"{dataset}-{variant}-{powers}.json", command, device)


if __name__ == "__main__":
    main()
