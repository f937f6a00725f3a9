"""Write the tables of README.md and docs/ from results/ and from the code: `python scripts/write_tables.py`.

A test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench_tables import bench_tables
from comparison_tables import comparison_tables
from measurement_tables import measurement_tables
from mutant_tables import mutant_tables
from reproduction_tables import reproduction_tables
from variant_tables import variant_tables

ROOT = Path(__file__).parents[1]
# Those with tables.
DOCUMENTS = (
    "README.md",
    *(f"docs/{name}.md" for name in ("reproduction", "comparison", "systems", "performance", "variants")),
    "docs/numbers.md",
    "docs/scale.md",
    "docs/sure.md",
    "docs/why.md",
    "docs/testing.md",
)

TABLES: dict[str, Callable[[], str]] = {
    **reproduction_tables(),
    **comparison_tables(),
    **bench_tables(ROOT / "results", ROOT / "docs"),
    **measurement_tables(),
    **variant_tables(),
    **mutant_tables(),
}


def with_tables(text: str) -> str:
    """Replace what stands between the markers of each table."""
    return re.sub(
        r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)",
        lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for document in (ROOT / name for name in DOCUMENTS):
        document.write_text(with_tables(document.read_text()))
