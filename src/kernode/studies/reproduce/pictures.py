"""Every figure, drawn from stored results: nothing is trained for a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernode.studies.reproduce.drawing import draw_embeddings, draw_gram, draw_hop_weights, draw_overview
from kernode.studies.reproduce.settings import Table
from kernode.search.results import Results

TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed"}
SYSTEMS = {"gcn": "GCN", "gat": "GAT", "k3": "K3"}


def draw_all(table: Table, results: Results, folder: Path) -> Iterator[Path]:
    """Draw the overview, and each figure whose cells are stored, as PNG and SVG."""
    yield from draw_overview(folder / "overview")
    stored = _stored(table, results)
    by_data: dict[str, dict[str, Any]] = {}
    for (figure, system, dataset), values in stored.items():
        if figure == "embedding":
            by_data.setdefault(dataset, {})[SYSTEMS.get(system, system)] = values
    for dataset, panels in by_data.items():
        title = f"{TITLES[dataset]}: t-SNE of the test nodes (run 0)"
        yield from draw_embeddings(panels, title, folder / f"tsne-{dataset}")
    weights = {TITLES[d]: values for (figure, _, d), values in stored.items() if figure == "hop-weights"}
    if weights:
        yield from draw_hop_weights(weights, folder / "hop-weights")
    for (figure, _, dataset), values in stored.items():
        if figure == "gram":
            title = f"K̄ among {TITLES[dataset]}'s test nodes, ordered by class"
            yield from draw_gram(values, title, folder / f"gram-{dataset}")


def _stored(table: Table, results: Results) -> dict[tuple[str, str, str], Any]:
    """Values by figure, system and data set."""
    found = {}
    for cell in table.cells():
        record = results.find(cell)
        if record is not None:
            figure = cell.settings["kind"]
            found[figure, cell.row.removeprefix(f"{figure}-"), cell.dataset] = record["figure"]
    return found
