"""The paper's tables and the benchmarks: run from a clone of the repository, not part of the wheel.

Importing this package adds the systems that only the paper's tables have to kernode's variants, so that
their model files load, too.
"""

from pathlib import Path

from experiments import rivals as rivals

ROOT = Path(__file__).resolve().parents[1]  # of the repository
RESULTS = ROOT / "results"
