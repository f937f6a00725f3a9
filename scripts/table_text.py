"""Text of the tables: Markdown, signs, means with their spread, names of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernode.metrics.accuracy import mean_and_std

TITLES = {
    "cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "amazon_photo": "Photo", "dblp": "DBLP",
    "coauthor_cs": "CS", "wordnet30_synsets": "WordNet", "tolokers": "tolokers",
    "squirrel_filtered": "squirrel, filtered", "minesweeper": "minesweeper",
}  # fmt: skip


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def spread(values: Sequence[float], bold: bool = False) -> str:
    """Return mean ± standard deviation, the mean in bold."""
    mean, std = mean_and_std(list(values))
    return f"{bolded(f'{mean:.2f}', bold)} ± {std:.2f}"


def bolded(text: str, bold: bool) -> str:
    """Return a text in bold, or as it is."""
    return f"**{text}**" if bold else text


def signed(value: float) -> str:
    """Return a number with its sign and two digits."""
    return f"{value:+.2f}".replace("-", "−")
