"""Write the tables of README.md from results/: `python scripts/write_tables.py`. A test compares them."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Table 2 of the paper.
PAPER = {
    "k1": ("86.68 ± 0.17", "77.92 ± 0.25", "89.22 ± 0.17"),
    "k2": ("86.12 ± 0.05", "78.68 ± 0.38", "89.36 ± 0.21"),
    "k3": ("88.40 ± 0.24", "80.28 ± 0.03", "89.42 ± 0.01"),
    "n1": ("87.56 ± 0.14", "79.80 ± 0.03", "89.24 ± 0.14"),
}
DATASETS = ("cora", "citeseer", "pubmed")


def core_table() -> str:
    """Our 10-run figures beside the paper's, FastGCN split."""
    lines = [
        "| test accuracy, % | Cora | paper | Citeseer | paper | Pubmed | paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for variant, paper in PAPER.items():
        for powers in ("each", "last"):
            cells = [
                _ours(ROOT / "results" / "core" / f"{dataset}-{variant}-{powers}.json")
                for dataset in DATASETS
            ]
            printed = paper if powers == "each" else ("", "", "")
            both = " | ".join(f"{ours} | {theirs}" for ours, theirs in zip(cells, printed, strict=True))
            name = f"**{variant.upper()}**" if powers == "each" else f"{variant.upper()}, `--powers last`"
            lines.append(f"| {name} | {both} |")
    return "\n".join(lines)


def _ours(path: Path) -> str:
    report = json.loads(path.read_text())["report"]
    test, mark = report["test"], " †" if report["device"] == "cuda" else ""
    return f"{test['accuracy_mean']:.2f} ± {test['accuracy_std']:.2f}{mark}"


def with_tables(text: str) -> str:
    """Replace what stands between the markers of each table."""
    return re.sub(
        r"(<!-- table: core -->\n).*?(<!-- end of table -->)",
        lambda found: f"{found[1]}{core_table()}\n{found[2]}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text()))
