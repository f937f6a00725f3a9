"""The tables of docs/comparison.md, from what `kernode compare` stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from kernode.metrics.accuracy import mean_and_std
from kernode.studies.compare.contestants import CONTESTANTS
from kernode.studies.compare.report import QUESTIONS, differences
from kernode.studies.results import SHIPPED, read_record

TITLES = {
    "cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "amazon_photo": "Photo", "dblp": "DBLP",
    "coauthor_cs": "CS", "wordnet30_synsets": "WordNet",
}  # fmt: skip
OTHERS = ("gcn", "gat", "sgc", "appnp")


def comparison_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {
        "compare_accuracy": partial(figures_table, "accuracy"),
        "compare_map": partial(figures_table, "map"),
        "compare_validation": partial(figures_table, "validation"),
        "compare_default": partial(differences_table, [("default", other) for other in OTHERS], "accuracy"),
        "compare_default_map": partial(differences_table, [("default", other) for other in OTHERS], "map"),
        "compare_questions": questions_table,
    }


@cache
def _figures(folder: Path = SHIPPED / "compare") -> dict[str, dict[str, Any]]:
    """Results by data set and method."""
    found: dict[str, dict[str, Any]] = {dataset: {} for dataset in TITLES}
    for path in sorted(folder.glob("*.json")):
        name = path.stem.rpartition("-")[0]
        dataset = next(one for one in TITLES if name.startswith(f"{one}-"))
        found[dataset][name.removeprefix(f"{dataset}-")] = read_record(path)
    return found


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def figures_table(metric: str) -> str:
    """Mean and spread over the splits; the highest mean of a data set in bold."""
    figures = _figures()
    methods = [name for name in CONTESTANTS if all(name in by_method for by_method in figures.values())]
    shown = [dataset for dataset in TITLES if figures[dataset]["k3"][metric]]
    means = {
        (name, dataset): mean_and_std(figures[dataset][name][metric]) for name in methods for dataset in shown
    }
    rows = []
    for name in methods:
        cells = []
        for dataset in shown:
            mean, std = means[name, dataset]
            best = mean == max(means[other, dataset][0] for other in methods)
            cells.append(f"**{mean:.2f}** ± {std:.2f}" if best else f"{mean:.2f} ± {std:.2f}")
        rows.append([CONTESTANTS[name].title, *cells])
    return _markdown(["", *(TITLES[dataset] for dataset in shown)], rows)


def differences_table(pairs: list[tuple[str, str]], metric: str) -> str:
    """The first of each pair minus the second: mean, 95 % interval, corrected p-value, verdict."""
    rows = []
    for one in differences(_figures(), pairs, metric):
        rows.append([TITLES[one["dataset"]], CONTESTANTS[one["against"]].title, *_difference(one)])
    return _markdown(["", "against", "difference", "95 % interval", "p", "the default is"], rows)


def questions_table() -> str:
    """Each question, each graph, both figures."""
    rows = []
    for question, one, other in QUESTIONS:
        if all(other in by_method for by_method in _figures().values()):
            for metric, title in (("accuracy", "classes"), ("map", "similarity")):
                for entry in differences(_figures(), [(one, other)], metric):
                    rows.append([question, title, TITLES[entry["dataset"]], *_difference(entry)])
    return _markdown(["", "for", "", "difference", "95 % interval", "p", "with it"], rows)


def _difference(entry: dict[str, Any]) -> list[str]:
    p = entry["p_corrected"]
    numbers = [f"{entry['mean']:+.2f}", f"{entry['low']:+.2f} … {entry['high']:+.2f}"]
    return [text.replace("-", "−") for text in numbers] + [
        "< 0.001" if p < 0.001 else f"{p:.3f}", entry["verdict"],
    ]  # fmt: skip
