"""The tables of docs/comparison.md, from what `kernode compare` stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from table_text import TITLES, bolded, markdown, signed

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.significance import paired
from kernode.search.baselines import METHODS, compared_method
from kernode.search.compare import QUESTIONS, SPLIT, differences
from kernode.search.results import read_record

PARTS = ("k3", "k3-tuned", "n1", "k3-c1", "k3-plain", "k3-heavy")  # what K3 is without one of its parts
PEERS = tuple(  # the default, the fast one, and everybody else's
    name for name in METHODS if name not in PARTS and not name.startswith("k3-")
)
FEW_LABELS = {"5-per-class": "5 labels", "20-per-class": "20 labels"}
By = dict[str, dict[str, Any]]  # results by data set and method


def comparison_tables(folder: Path = RESULTS / "compare") -> dict[str, Callable[[], str]]:
    """All tables by name."""
    figures = cache(partial(stored_figures, folder))
    tables: dict[str, Callable[[], str]] = {
        f"compare_{metric}": partial(_figures_of_split, figures, metric, PEERS)
        for metric in ("accuracy", "map")
    } | {
        f"compare_parts_{metric}": partial(_figures_of_split, figures, metric, PARTS)
        for metric in ("accuracy", "map", "validation")
    }
    few = {split: found for split in FEW_LABELS if (found := figures(split))}
    if few:
        tables["compare_few_labels"] = lambda: few_labels_table(few)
    for split, found in few.items():
        number = split.partition("-")[0]
        tables[f"compare_fast_{number}_labels"] = partial(fast_table, found)
    for kind in ("random", *FEW_LABELS):
        split, name = SPLIT if kind == "random" else kind, kind.partition("-")[0]
        for metric in ("accuracy", "map"):
            tables[f"default_{name}_{metric}"] = partial(default_table, figures, kind, split, metric)
    return tables | {
        "compare_fast": lambda: fast_table(figures()),
        "compare_questions": lambda: questions_table(figures()),
    }


def stored_figures(folder: Path, split: str = SPLIT) -> By:
    """Results of one kind of split; two of one cell are refused, since one of them is out of date."""
    found: By = {}
    for path in sorted(folder.glob("*.json")):
        record = read_record(path)
        if record["settings"]["split"] != split:
            continue
        dataset = record["settings"]["dataset"]
        method = path.stem.rpartition("-")[0].removeprefix(f"{dataset}-")
        if method in found.setdefault(dataset, {}):
            raise ValueError(f"{path} is the second result of {method} on {dataset}: delete the older one.")
        found[dataset][method] = record
    return {dataset: found[dataset] for dataset in TITLES if dataset in found}


def default_table(figures: Callable[[str], By], kind: str, split: str, metric: str) -> str:
    """The default minus each rival on the same splits: mean and 95 % interval, clear ones in bold."""
    stored, columns = figures(split), {}
    for dataset, title in TITLES.items():
        path = RESULTS / "default" / f"{dataset}-{kind}-auto.json"
        own = json.loads(path.read_text()) if path.exists() else {}
        values = own.get({"accuracy": "test"}.get(metric, metric))
        if values and dataset in stored:
            columns[f"{title}, {len(values)} splits"] = values, stored[dataset]
    rows = []
    for method in ("fast", *(name for name in PEERS if name not in ("fast", "default"))):
        cells = []
        for values, results in columns.values():
            theirs = results[method][metric] if method in results else None
            if not theirs or theirs[0] is None:
                cells.append("–")
                continue
            pairs = zip(values, theirs, strict=False)
            found = paired([one - other for one, other in pairs], results[method]["overlap"])
            clear = found.low > 0 or found.high < 0
            cells.append(f"{bolded(signed(found.mean), clear)} ({signed(found.low)} to {signed(found.high)})")
        if any(cell != "–" for cell in cells):
            rows.append([METHODS[method].title if method != "fast" else "`fast`", *cells])
    if not columns:
        return "*Not measured yet.*"
    return markdown(["`auto` minus", *columns], rows)


def _figures_of_split(figures: Callable[[], By], metric: str, methods: tuple[str, ...]) -> str:
    columns = {}
    for dataset, results in figures().items():
        if own := {name: results[name] for name in methods if name in results}:
            splits = max(len(result["accuracy"]) for result in own.values())
            columns[f"{TITLES[dataset]}, {splits} splits"] = own
    return figures_table(columns, metric)


def few_labels_table(by_split: dict[str, By]) -> str:
    """Accuracy with a few labels per class, a column for each graph and number of labels."""
    columns = {
        f"{title}, {FEW_LABELS[split]}": by_split[split][dataset]
        for dataset, title in TITLES.items()
        for split in by_split
        if dataset in by_split[split]
    }
    return figures_table(columns, "accuracy")


def figures_table(columns: By, metric: str) -> str:
    """Mean and spread over the splits; the highest mean of a column in bold."""
    means = {
        (name, title): mean_and_std(result[metric])
        for title, results in columns.items()
        for name, result in results.items()
        if result[metric]
    }
    shown = {title: results for title, results in columns.items() if any(at == title for _, at in means)}
    best = {title: max(mean for (_, at), (mean, _) in means.items() if at == title) for title in shown}
    rows = []
    for name in dict.fromkeys((*PEERS, *PARTS)):
        if not any(name in results for results in shown.values()):
            continue
        cells = []
        for title, results in shown.items():
            if (name, title) not in means:
                cells.append(_reason(results.get(name, {})))
                continue
            mean, std = means[name, title]
            cells.append(f"{bolded(f'{mean:.2f}', mean == best[title])} ± {std:.2f}")
        rows.append([compared_method(name).title, *cells])
    return markdown(["", *shown], rows)


def _reason(result: dict[str, Any]) -> str:
    """Why there is no figure: it was not measured, it has no kernel, or none of its candidates trained."""
    failed = result.get("failed")
    return "–" if failed is None else str(failed["sentence"])


def fast_table(figures: By) -> str:
    """The accuracy of `fast` minus each rival's: mean, 95 % interval, corrected p-value, verdict."""
    rows = []
    for one in differences(
        figures, [("fast", name) for name in PEERS if name not in ("default", "fast")], "accuracy"
    ):
        rows.append([TITLES[one["dataset"]], compared_method(one["against"]).title, *_difference(one)])
    return markdown(["", "against", "difference", "95 % interval", "p", "`fast` is"], rows)


def questions_table(figures: By) -> str:
    """Each question, each graph, both figures."""
    rows = []
    for question, one, other in QUESTIONS:
        if all(one in by_method and other in by_method for by_method in figures.values()):
            for metric, title in (("accuracy", "classes"), ("map", "similarity")):
                for entry in differences(figures, [(one, other)], metric):
                    rows.append([question, title, TITLES[entry["dataset"]], *_difference(entry)])
    return markdown(["", "for", "", "difference", "95 % interval", "p", "with it"], rows)


def _difference(entry: dict[str, Any]) -> list[str]:
    p = entry["p_corrected"]
    interval = f"{signed(entry['low'])} … {signed(entry['high'])}"
    return [signed(entry["mean"]), interval, "< 0.001" if p < 0.001 else f"{p:.3f}", entry["verdict"]]
