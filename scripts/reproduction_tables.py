"""The tables of README.md, docs/reproduction.md and docs/systems.md, from the stored results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from statistics import fmean
from typing import Any

from table_text import TITLES as ALL_TITLES
from table_text import markdown, signed

from experiments import RESULTS
from experiments.reproduce.report import report
from experiments.reproduce.tables import TABLES, Row, Table, read_tables
from kernode.search.results import Results

TITLES = {name: ALL_TITLES[name] for name in ("cora", "citeseer", "pubmed")}
READINGS = {"each": "Eq. 7", "last": "`last`", "released": "`released`"}
VERDICTS = ("matches", "close", "differs")
STORE = Results(RESULTS)


def reproduction_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    return {
        "core": core_table,
        "summary": summary_table,
        "matches": in_one_line,
        "counts": counts_table,
        **{name: partial(scored_table, name) for name in ("table2", "table3", "table4", "beyond")},
        "table5": partial(links_table, "table5"),
        "tuned": tuned_table,
        "tuned_links": partial(links_table, "tuned-links"),
        "similarity": similarity_table,
        "silhouettes": silhouettes_table,
        "claims": claims_table,
        "unstated": unstated_table,
        "seconds": seconds_table,
        "superseded": superseded_table,
        "one_split": one_split_table,
        "searches": searches_table,
        "choices": choices_table,
    }


@cache
def _tables() -> tuple[Table, ...]:
    return tuple(read_tables(TABLES))


@cache
def _report() -> dict[str, Any]:
    return report(_tables(), STORE)


def _entries(name: str) -> list[dict[str, Any]]:
    return next(table["entries"] for table in _report()["tables"] if table["table"] == name)


def _figure(figure: dict[str, Any]) -> str:
    return f"{figure['mean']:.2f} ± {figure['std']:.2f}"


def _ours(entry: dict[str, Any]) -> str:
    return _figure(entry["ours"]) + (" †" if entry["device"] == "cuda" else "")


def _judged(entry: dict[str, Any]) -> str:
    if "difference" not in entry:
        return ""
    return f"{signed(entry['difference'])} {entry['verdict']}"


def _grouped(entries: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, list[dict[str, Any]]]]:
    """Entries by row and reading, then by data set."""
    grouped: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for entry in entries:
        row = grouped.setdefault((entry["title"], entry["reading"]), {})
        row.setdefault(entry["dataset"], []).append(entry)
    return grouped


def _name(title: str, reading: str) -> str:
    return title if reading in ("", "each") else f"{title}, `map.powers={reading}`"


def core_table() -> str:
    """The README's: the paper's own variants next to the paper's figures."""
    entries = [entry for entry in _entries("table2") if entry["row"] in ("k1", "k2", "k3", "n1")]
    head = ["test accuracy, %"] + [text for title in TITLES.values() for text in (title, "paper")]
    rows = []
    for (title, reading), by_data in _grouped(entries).items():
        name = f"**{title}**" if reading == "each" else _name(title, reading)
        cells = [
            text
            for (entry,) in by_data.values()
            for text in (_ours(entry), entry["paper"] if reading == "each" else "")
        ]
        rows.append([name, *cells])
    return markdown(head, rows)


def scored_table(name: str) -> str:
    """A table of accuracies: ours, the paper's, the difference with its verdict."""
    grouped = _grouped(_entries(name))
    datasets = list(next(iter(grouped.values())))
    printed = any(entry["paper"] for entry in _entries(name))
    head = [""] + [text for d in datasets for text in ([TITLES[d], "paper", ""] if printed else [TITLES[d]])]
    rows = []
    for (title, reading), by_data in grouped.items():
        cells = []
        for (entry,) in by_data.values():
            cells += [_ours(entry), *([entry["paper"] or "–", _judged(entry)] if printed else [])]
        rows.append([_name(title, reading).replace("*", "\\*"), *cells])
    return markdown(head, rows)


def links_table(name: str) -> str:
    """Links: one line per row and figure."""
    head = [""] + [text for title in TITLES.values() for text in (title, "paper", "")]
    rows = []
    for (title, reading), by_data in _grouped(_entries(name)).items():
        for at, metric in enumerate(("AUC", "AP")):
            cells = []
            for entries in by_data.values():
                cells += [_ours(entries[at]), entries[at]["paper"] or "–", _judged(entries[at])]
            rows.append([f"{_name(title, reading)}: {metric}", *cells])
    return markdown(head, rows)


def tuned_table() -> str:
    """K3 tuned, on both splits: accuracy, the runs together, the paper's K3, retrieval."""
    rows = []
    for name, split in (("tuned", "FastGCN"), ("tuned-jk", "JK")):
        for by_data in _grouped(_entries(name)).values():
            for dataset, (accuracy, similar) in by_data.items():
                together = f"{accuracy['ensemble']:.2f}" if "ensemble" in accuracy else "–"
                rows.append([
                    TITLES[dataset], split, _ours(accuracy), together, accuracy["paper"], _judged(accuracy),
                    _figure(similar["ours"]),
                ])  # fmt: skip
    return markdown(["", "split", "accuracy", "ten runs together", "paper, K3", "", "mAP"], rows)


def similarity_table() -> str:
    """Retrieval by the kernel, one line per row."""
    rows = []
    for (title, _), by_data in _grouped(_entries("similarity")).items():
        cells = [_figure(entry["ours"]) for entries in by_data.values() for entry in entries]
        rows.append([title, *cells])
    figures = ("mAP", "precision at 10", "accuracy")
    return markdown(["", *(f"{TITLES[d]} {f}" for d in ("cora", "citeseer") for f in figures)], rows)


def counts_table() -> str:
    """Table 1."""
    head = [""] + [text for title in TITLES.values() for text in (title, "paper")]
    rows = []
    for (title, _), by_data in _grouped(_entries("table1")).items():
        cells = [text for (entry,) in by_data.values() for text in (entry["ours"], entry["paper"] or "–")]
        rows.append([title, *cells])
    return markdown(head, rows)


def summary_table() -> str:
    """How many cells came out, table by table, by reading."""
    rows = []
    for table in _report()["tables"]:
        if table["kind"] not in ("nodes", "links") or not table["table"].startswith("table"):
            continue
        for reading, name in {"": "no hop operator", **READINGS}.items():
            if own := _of_the_paper(table, reading):
                rows.append([_short(table), name, *_counted(own)])
    return markdown(["", "hop operator", "figures", *VERDICTS, "within a point", "mean distance"], rows)


def _of_the_paper(table: dict[str, Any], reading: str) -> list[dict[str, Any]]:
    """Entries with a printed figure, without our own kernel for links, which is another method."""
    return [
        entry for entry in table["entries"]
        if entry["reading"] == reading and "difference" in entry and entry["row"] != "kernel"
    ]  # fmt: skip


def _short(table: dict[str, Any]) -> str:
    return table["title"].partition(":")[0]


def _counted(entries: list[dict[str, Any]]) -> list[str]:
    counts = Counter(entry["verdict"] for entry in entries)
    distances = [abs(entry["difference"]) for entry in entries]
    near, mean = sum(distance <= 1 for distance in distances), fmean(distances)
    return [str(len(entries)), *(str(counts[verdict]) for verdict in VERDICTS), str(near), f"{mean:.2f}"]


def in_one_line() -> str:
    """The README's: matches by table and reading."""
    parts = []
    for table in _report()["tables"]:
        if table["kind"] in ("nodes", "links") and table["table"].startswith("table"):
            shares = []
            for reading, name in READINGS.items():
                if own := _of_the_paper(table, reading):
                    matching = sum(entry["verdict"] == "matches" for entry in own)
                    shares.append(f"{matching} of {len(own)} ({name})")
            parts.append(f"{_short(table)} {', '.join(shares)}")
    return f"Figures of the paper's own systems that match: {'; '.join(parts)}."


def silhouettes_table() -> str:
    """How compact the classes of the test nodes are."""
    rows = []
    for entry in _entries("figures"):
        if entry["row"].startswith("embedding-"):
            one = entry["figure"]["silhouette"]
            rows.append([
                TITLES[entry["dataset"]], entry["title"].rpartition(": ")[2],
                f"{one['mean']:.3f} ± {one['std']:.3f}", f"{one['sampling_error']:.3f}",
                f"{entry['figure']['silhouette_in_plane']:.3f}",
            ])  # fmt: skip
    rows.sort(key=lambda row: row[0])
    head = ["", "", "silhouette, ten runs", "nodes' standard error", "of the drawn points (run 0)"]
    return markdown(head, rows)


def claims_table() -> str:
    """Every claim with its verdicts."""
    rows = []
    for claim in _report()["claims"]:
        ours, sentence = claim["ours"], claim["sentence"]
        if len(set(ours.values())) == 1:
            verdict = next(iter(ours.values()))
        else:
            verdict = ", ".join(f"{READINGS[reading]} {found}" for reading, found in ours.items())
        for reading in filter(None, ours):
            sentence = sentence.replace(f"{reading}: ", f"{READINGS[reading]}: ", 1)
        device = claim["where"].removeprefix("cost (").removesuffix(")")  # where both have been measured
        name = claim["claim"] if device == claim["where"] else f"{claim['claim']}; on a {device}"
        rows.append([_escaped(name), claim["paper"], verdict, _escaped(sentence)])
    return markdown(["claim", "the paper's own figures", "ours", "how it came out"], rows)


def _escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("|", r"\|")


def unstated_table() -> str:
    """Row by row, what the paper does not state and what we run otherwise."""
    rows = []
    for table in _tables():
        if table.kind not in ("nodes", "links") or "tuned" in table.name or table.name == "similarity":
            continue
        seen = set()
        for row in table.rows:
            if row.name in seen or (table.name == "table4" and row.name != "default"):
                continue
            seen.add(row.name)
            marks = table.marks[row.name]
            parts = [
                ", ".join(f"{key} {_by_data(row, key)}" for key in marks if marks[key] == part)
                for part in ("unstated", "changed")
            ]
            title = table.title.partition(":")[0]
            rows.append([title, row.title.replace("*", "\\*"), parts[0], parts[1] or "–"])
    return markdown(["", "", "not stated by the paper", "stated, and run otherwise"], rows)


def _by_data(row: Row, key: str) -> str:
    """A row's value on its first data set, and on which of the others it is another."""
    (_, first), *others = [(dataset, _plain(cell.settings[key])) for dataset, cell in row.cells.items()]
    differing = [f"{value} on {TITLES[dataset]}" for dataset, value in others if value != first]
    return f"{first} ({', '.join(differing)})" if differing else first


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " → ".join(map(str, value)) if value else "no hidden layer"
    return f"{value:g}" if isinstance(value, float) else str(value)


def seconds_table() -> str:
    """How long the stored cells took; one that two tables share counts in the first."""
    rows, seen = [], set()
    for table in _tables():
        if table.kind == "counts" or "tuned" in table.name or table.name == "similarity":
            continue
        records = {cell.digest: STORE.find(cell) for cell in table.cells() if cell.digest not in seen}
        seen |= records.keys()
        spent = Counter()
        for record in records.values():
            spent[record["device"]] += record["seconds"]
        times = [f"{spent[device] / 60:.1f} min" if spent[device] else "–" for device in ("cpu", "cuda")]
        rows.append([table.title.partition(":")[0], str(len(records)), *times])
    return markdown(["", "cells", "on two CPU cores", "on an H200"], rows)


def superseded_table() -> str:
    """What the five systems that were scored twice gave the first time."""
    rows = []
    for system in ("k1-gcn", "k2-gat", "gae", "vgae"):
        stored = [json.loads((RESULTS / "superseded" / f"{d}-{system}.json").read_text()) for d in TITLES]
        cells = [_first_scoring(record["report"]) for record in stored]
        rows.append([f"`{system}`", stored[0]["settings"], *cells])
    first = [json.loads((RESULTS / "superseded" / f"{d}-jk.json").read_text()) for d in ("cora", "citeseer")]
    rows.append(["JK-Concat", "scaled rows", *(_figure(one["test"]["accuracy"]) for one in first), "–"])
    return markdown(["first scoring", "settings", *TITLES.values()], rows)


def one_split_table() -> str:
    """Table 5 as it was scored on one edge split, before the ten."""
    rows = []
    for system in ("gae", "vgae", "kernel-plain-each", "kernel-plain-last", "kernel-each", "kernel-last"):
        stored = [
            json.loads((RESULTS / "superseded" / f"{d}-{system}-one-split.json").read_text()) for d in TITLES
        ]
        figures = [" / ".join(_figure(one["test"][name]) for name in ("auc", "ap")) for one in stored]
        rows.append([f"`{system}`", *figures])
    return markdown(["one split, AUC / AP", *TITLES.values()], rows)


def _first_scoring(values: dict[str, Any]) -> str:
    test = values["test"]
    names = ("accuracy",) if "accuracy_mean" in test else ("auc", "ap")
    text = " / ".join(f"{test[f'{name}_mean']:.2f} ± {test[f'{name}_std']:.2f}" for name in names)
    return text + (" †" if "accuracy_mean" in test and values["device"] == "cuda" else "")


def choices_table() -> str:
    """What benchmarks/system_choices.py found: the settings that are used, and the best of the others."""
    by_system: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for path in sorted((RESULTS / "choices").glob("*.json")):
        record = json.loads(path.read_text())
        by_system.setdefault(record["system"], {})[record["dataset"]] = record["tried"]
    rows = []
    for system, by_data in by_system.items():
        tried = max(len(one) for one in by_data.values())
        cells = [_chosen(by_data.get(d), _USED_ELSEWHERE.get((system, d), {})) for d in TITLES]
        rows.append([f"`{system}`", str(tried), *cells])
    return markdown(["validation", "settings", *TITLES.values()], rows)


def searches_table() -> str:
    """What benchmarks/pinned_searches.py found: where the tuned settings stand among all trials."""
    rows = []
    for path in sorted((RESULTS / "searches").glob("*.json")):
        record = json.loads(path.read_text())
        used, values = record["used"]["value"], [one["value"] for one in record["trials"]]
        above, tried = sum(value > used for value in values), len(values) + len(record["failures"])
        name = f"{TITLES[record['dataset']]}, `{record['variant']}`, {record['metric']}"
        rows.append([name, str(tried), f"{used:.2f}", f"{max(values):.2f}", str(above)])
    return markdown(["searched again", "trials", "the settings used", "best trial", "trials above"], rows)


# Where a data set has settings of its own; elsewhere the first of the list is used.
_USED_ELSEWHERE: dict[tuple[str, str], dict[str, Any]] = {
    ("jk", "cora"): {"normalize_rows": False},
    ("jk", "citeseer"): {"normalize_rows": False},
    ("vgae", "pubmed"): {"weight_decay": 0.0, "epochs": 400},
}


def _chosen(tried: list[dict[str, Any]] | None, used: dict[str, Any]) -> str:
    """Validation figures of what is used and of the best of the others."""
    if not tried:
        return "–"
    means = {i: fmean(one["validation"]) for i, one in enumerate(tried)}
    chosen = means.pop(next(i for i, one in enumerate(tried) if one["changes"] == used))
    best = max(means, key=means.__getitem__)
    other = _named(tried[best]["changes"]) or " (as on the others)"
    return f"{chosen:.2f}{_named(used)}, best other {means[best]:.2f}{other}"


def _named(changes: dict[str, Any]) -> str:
    listed = ", ".join(f"{name} {_plain(value)}" for name, value in changes.items())
    return f" ({listed})" if changes else ""
