"""Cora as somebody's own tables: what docs/tutorial.md starts from.

    python examples/cora_as_tables.py FOLDER

writes (into cora-tables where no folder is named)

- papers.csv: id, words (the paper's words; Cora has them as numbers only, so they read w0017), n_words and
  topic, which only about a tenth of the papers have;
- citations.csv: citing, cited. The graph in the package does not keep the direction: of two papers the one
  with the larger index is written first;
- new-papers.csv, new-citations.csv: a hundred papers that arrive later, and all citations with one of them;
- later-papers.csv, later-citations.csv: all papers and all citations, without any topic;
- topics.csv: the topic of every paper, to check predictions with.

About one row in a hundred of papers.csv and citations.csv is broken on purpose, with a fixed seed: no id, an
id twice, cells that are missing or too many, "unknown" for a number, a citation of a paper that nobody lists.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

import kernode as kn

LATER = 100  # papers that arrive later
LABELLED = 0.1
BROKEN = 0.01


def main(folder: Path) -> None:
    """Write all files."""
    graph, _ = kn.load("cora")
    random = np.random.Generator(np.random.PCG64(0))
    ids = [f"paper-{node:05}" for node in range(graph.n_nodes)]
    topics = [graph.class_names[label] for label in graph.labels]
    known = random.random(graph.n_nodes) < LABELLED
    rows = []
    for node in range(graph.n_nodes):
        words = graph.features[[node]].indices
        text = " ".join(f"w{word:04}" for word in words)
        rows.append([ids[node], text, str(len(words)), topics[node] if known[node] else ""])
    new = set(random.permutation(graph.n_nodes)[:LATER].tolist())

    lower = sparse.tril(graph.adjacency).tocoo()
    pairs = list(zip(lower.row.tolist(), lower.col.tolist(), strict=True))
    old_pairs = [pair for pair in pairs if not new.intersection(pair)]
    new_pairs = [pair for pair in pairs if new.intersection(pair)]

    folder.mkdir(parents=True, exist_ok=True)
    head, ends = ["id", "words", "n_words", "topic"], ["citing", "cited"]
    papers = [row for node, row in enumerate(rows) if node not in new]
    write(folder / "papers.csv", head, break_some(papers, random, no_id, id_twice, cut_short, no_number))
    citations = [[ids[u], ids[v]] for u, v in old_pairs]
    citations = break_some(citations, random, no_end, too_long, unlisted)
    write(folder / "citations.csv", ends, citations)
    write(folder / "new-papers.csv", head, [[*rows[node][:3], ""] for node in sorted(new)])
    write(folder / "new-citations.csv", ends, [[ids[u], ids[v]] for u, v in new_pairs])
    write(folder / "later-papers.csv", head[:3], [row[:3] for row in rows])
    write(folder / "later-citations.csv", ends, [[ids[u], ids[v]] for u, v in pairs])
    write(folder / "topics.csv", ["id", "topic"], zip(ids, topics, strict=True))


def break_some(rows: list[list[str]], random: np.random.Generator, *ways: object) -> list[list[str]]:
    """The same rows, one in a hundred broken, each way in turn."""
    chosen = random.permutation(len(rows))[: round(BROKEN * len(rows))]
    broken = {int(at): ways[turn % len(ways)] for turn, at in enumerate(chosen)}
    return [broken[at](row, rows[at - 1]) if at in broken else row for at, row in enumerate(rows)]


def no_id(row: list[str], before: list[str]) -> list[str]:
    """An empty first cell."""
    return ["", *row[1:]]


def id_twice(row: list[str], before: list[str]) -> list[str]:
    """The id of the row before."""
    return [before[0], *row[1:]]


def cut_short(row: list[str], before: list[str]) -> list[str]:
    """Only the first two cells."""
    return row[:2]


def no_number(row: list[str], before: list[str]) -> list[str]:
    """A word where a number should be."""
    return [*row[:2], "unknown", *row[3:]]


def no_end(row: list[str], before: list[str]) -> list[str]:
    """An edge with one node."""
    return [row[0], ""]


def too_long(row: list[str], before: list[str]) -> list[str]:
    """A cell too many."""
    return [*row, "1998"]


def unlisted(row: list[str], before: list[str]) -> list[str]:
    """A paper that no table lists."""
    return [row[0], row[1].replace("paper", "report")]


def write(path: Path, head: list[str], rows: Iterable[Iterable[str]]) -> None:
    """A CSV file with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
    print(f"{path.name}: {sum(1 for _ in path.open()) - 1:,} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "cora-tables"))
