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

RESULTS = Path(__file__).parents[1] / "results" / "core"
CELLS = [*product(("cora", "citeseer", "pubmed"), ("k1", "k2", "k3", "n1"), ("each", "last"))]


def command_of(dataset: str, variant: str, powers: str, device: str) -> str:
    """Return the command that measures a cell."""
    fit = f"kernode fit {dataset} --variant {variant} --powers {powers}"
    return f"{fit} --replicas 10 --device {device} --json"


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


def main() -> None:
    """Measure what is missing."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    device = sys.argv[1] if len(sys.argv) > 1 else "auto"
    for cell in CELLS:
        path = RESULTS / f"{'-'.join(cell)}.json"
        if path.exists():
            continue
        command = command_of(*cell, device)
        with tempfile.TemporaryDirectory() as folder:
            arguments = [sys.executable, "-m", *command.split(), "--out", f"{folder}/model.safetensors"]
            printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        path.write_text(json.dumps(cell_of(command, printed), indent=1) + "\n")
        print(path.stem, json.loads(printed)["test"]["accuracy_mean"], flush=True)


if __name__ == "__main__":
    main()
