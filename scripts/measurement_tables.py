"""The tables of what benchmarks/ stored in results/, a function for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_tables import DEVICES, measured_with
from table_text import TITLES, bolded, markdown, signed, spread

from experiments import RESULTS
from kernode.metrics.accuracy import mean_and_std
from kernode.metrics.significance import paired
from kernode.search.results import read_record

Record = dict[str, Any]


def measurement_tables() -> dict[str, Callable[[], str]]:
    """All tables by name."""
    tables: dict[str, Callable[[], str]] = {
        "fast_fits": lambda: fast_fits([read_record(path) for path in (RESULTS / "fast").glob("*.json")]),
        "fixed_splits": lambda: fixed_splits(_of_default("fastgcn-auto") + _of_default("fixed-auto")),
        "official_splits": lambda: official_splits(_of_default("official-auto")),
        "random_splits": lambda: random_splits(
            *(_of_default(f"random-{name}") for name in ("instant", "auto"))
        ),
        "debian": debian,
        "numbers": numbers,
        "numbers_made": numbers_made,
        "own_graphs": lambda: own_graphs(*(_rows(f"own-graphs-{device}") for device in DEVICES)),
        "calibration": lambda: calibration(_rows("calibration")),
        "prediction_sets": lambda: prediction_sets(_rows("prediction-sets")),
        "faithfulness": lambda: faithfulness(
            [json.loads(path.read_text()) for path in sorted((RESULTS / "faithfulness").glob("*.json"))]
        ),
        "without_labels": lambda: without_labels(_rows("without-labels")),
        "unseen_classes": lambda: unseen_classes(_by_graph("unseen-classes")),
        "kernel_loss": lambda: kernel_loss(_by_graph("kernel-loss")),
        "kernels_together": lambda: kernels_together(_rows("kernels-together")),
        "ranks": lambda: ranks(_rows("bench-ranks-cpu")),
    }
    timed = {
        "first_answer": ("first-answer-cpu", first_answer, "benchmarks/first_answer.py"),
        "similar": ("bench-similar-cpu", similar, "benchmarks/similar.py"),
        "links_beside_gae": ("links-beside-gae", links_beside_gae, "benchmarks/links_beside_gae.py"),
    } | {
        f"cost_beside_gcn_{device}": (
            f"cost-beside-gcn-{device}", cost_beside_gcn, f"benchmarks/cost_beside_gcn.py --device {device}",
        )
        for device in DEVICES
    }  # fmt: skip
    return tables | {name: lambda given=given: _measured(*given) for name, given in timed.items()}


def _rows(name: str) -> list[Record]:
    rows: list[Record] = read_record(RESULTS / f"{name}.json")["rows"]
    return rows


def _by_graph(folder: str) -> list[Record]:
    """Records of a folder, in the order of the graphs' titles."""
    found = [read_record(path) for path in sorted((RESULTS / folder).glob("*.json"))]
    return sorted(found, key=lambda one: list(TITLES).index(one["dataset"]))


def _title(row: Record) -> str:
    return TITLES.get(row["dataset"], row["dataset"])


# Accuracy


def fast_fits(records: list[Record]) -> str:
    """What `kernode fit --variant fast` gives with nothing else set: a line for each graph and split."""
    splits = {"fastgcn": "FastGCN", "jk": "JK"}  # others are files, named after their graph

    def order(one: Record) -> tuple[Any, ...]:
        return one["split"] not in splits, one["split"], list(TITLES).index(one["dataset"])

    rows = []
    for one in sorted(records, key=order):
        figures = (
            f"{one[part]['accuracy_mean']:.2f} ± {one[part]['accuracy_std']:.2f}"
            for part in ("validation", "test")
        )
        seconds = f"{one['seconds_total']:.0f}{' †' * (one['device'] == 'cuda')}"
        split = splits.get(one["split"], "Luo et al.")
        rows.append([_title(one), split, one["variant"], str(one["replicas"]), *figures, seconds])
    return markdown(["graph", "split", "variant", "runs", "validation", "test accuracy", "seconds"], rows)


PUBLISHED = {"tolokers": "85.91, Polynormer", "squirrel_filtered": "45.01, tuned GCN",
             "minesweeper": "98.99, BuNN"}  # fmt: skip


def _of_default(kind: str) -> list[Record]:
    """Records of benchmarks/default.py, in the order of the graphs' titles."""
    found = [read_record(path) for path in (RESULTS / "default").glob(f"*-{kind}.json")]
    return sorted(found, key=lambda one: list(TITLES).index(one["dataset"]))


def random_splits(instant: list[Record], auto: list[Record]) -> str:
    """The untrained kernel and the default, beside `fast` on the same random splits."""
    sums = {one["dataset"]: one for one in auto}
    lines = []
    for one in instant:
        graph, count = one["dataset"], len(one["test"])
        stored = (read_record(path) for path in (RESULTS / "compare").glob(f"{graph}-fast-*.json"))
        fast = next(record for record in stored if record["settings"]["split"] == "0.6/0.2/0.2")
        cells = [f"{one['mean']:.2f} ± {one['std']:.2f}", f"{one['seconds'] / count:.1f}"]
        average, std = mean_and_std(fast["accuracy"][:count])
        cells.append(f"{average:.2f} ± {std:.2f}")
        if own := sums.get(graph):
            pairs = zip(own["test"], fast["accuracy"], strict=False)
            found = paired([ours - theirs for ours, theirs in pairs], fast["overlap"])
            mark = _mark(own) + f" (of {len(own['test'])})" * (len(own["test"]) < count)
            cells.append(f"{own['mean']:.2f} ± {own['std']:.2f}{mark}")
            cells.append(f"{signed(found.mean)} ({signed(found.low)} to {signed(found.high)})")
            cells.append(f"{own['seconds'] / len(own['test']):.0f}{_mark(own)}")
        lines.append([_title(one), *cells, *["–"] * (6 - len(cells))])
    head = ["graph", "instant", "its seconds", "fast", "auto", "auto − fast (95 %)", "its seconds"]
    return markdown(head, lines)


def debian() -> str:
    """Accuracy and seconds on Debian's packages: a line for each method."""
    found = [json.loads(path.read_text()) for path in (RESULTS / "debian").glob("*.json")]
    lines = []
    for one in sorted(found, key=lambda one: one["packages"]):
        best = max(float(np.mean(row["accuracy"])) for row in one["methods"].values())
        for name, row in one["methods"].items():
            figure = spread(row["accuracy"], bold=float(np.mean(row["accuracy"])) == best)
            seconds = f"{np.median(row['seconds']):.0f}"
            lines.append([f"{one['packages']:,}", name, figure, str(len(row["accuracy"])), seconds])
    return markdown(["packages", "method", "accuracy, %", "draws", "seconds"], lines)


# Of Jia and Benson (KDD 2020), the best of theirs: means of ten splits of the year 2012, 60 % known.
PUBLISHED_R2 = {
    "county_2012-income": 0.795, "county_2012-education": 0.706, "county_2012-unemployment": 0.781,
    "county_2012-election": 0.691, "ChicagoSketch-flow": 0.719,
}  # fmt: skip
NUMBERS = {
    "county_2012-income": "US counties, income",
    "county_2012-education": "education",
    "county_2012-unemployment": "unemployment",
    "county_2012-election": "election",
    "ChicagoSketch-flow": "Chicago, road traffic",
    "chameleon-log_traffic": "chameleon, page traffic",
    "chameleon-log_traffic-deduplicated": "the same without twins",
}


def numbers() -> str:
    """R² of the regressor and of baselines, coverage of intervals: a line for each target."""
    lines = []
    for name, title in NUMBERS.items():
        one = _of_numbers(name)
        if one is None:
            continue
        rivals = ("ridge", "features", "boosting", "label propagation")
        approximate = _of_numbers(f"{name}-approximate")
        r2 = [one["r2"], *(one["baselines"][rival] for rival in rivals)]
        if approximate is not None:
            r2.insert(1, approximate["r2"])
        texts = [_spread_of(values) for values in r2]
        best = max(range(len(r2)), key=lambda at: np.mean(r2[at]))
        texts[best] = f"**{texts[best]}**"
        if approximate is None:
            texts.insert(1, "–")
        published = f"{PUBLISHED_R2[name]:.3f}" if name in PUBLISHED_R2 else "–"
        covered = (
            f"{np.mean([row['measured'] for row in one['coverage'][method]]):.1f}"
            for method in ("conformal", "loo", "gaussian")
        )
        seconds = f"{np.median(one['seconds']):.0f}"
        lines.append([title, *texts, published, " / ".join(covered), seconds])
    head = ["", "exact", "approximate", "ridge", "boosting on features", "boosting with neighbours' means",
            "label propagation", "published", "coverage, %", "seconds"]  # fmt: skip
    return markdown(head, lines)


def numbers_made() -> str:
    """Seconds and memory on made graphs."""
    found = [json.loads(path.read_text()) for path in sorted((RESULTS / "numbers").glob("made-*.json"))]
    lines = [
        [
            f"{one['nodes']:,}",
            f"{one['edges']:,}",
            *(f"{one['seconds'][part]:.0f}" for part in ("fit", "predict", "intervals")),
            f"{one['peak_memory_mb'] / 1000:.1f} GB",
        ]
        for one in found
    ]
    head = ["nodes", "edges", "fit, s", "predictions with deviations, s", "conformal intervals, s", "memory"]
    return markdown(head, lines)


def _of_numbers(name: str) -> Record | None:
    path = RESULTS / "numbers" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _spread_of(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


def _mark(one: Record) -> str:
    """What marks a figure from a GPU."""
    return " †" * bool(one["machine"]["gpu"])


def fixed_splits(records: list[Record]) -> str:
    """The default on one fixed split, beside `fast`: the mean of replicas, and all of them together."""
    lines = []
    for one in records:
        split = "fastgcn" if one["dataset"] in ("cora", "citeseer", "pubmed") else "fixed"
        fast = read_record(RESULTS / "fast" / f"{one['dataset']}-{split}.json")["test"]
        lines.append(
            [
                _title(one),
                {"fastgcn": "FastGCN", "fixed": "Luo et al."}[split],
                str(len(one["test"])),
                f"{one['mean']:.2f}" + (f" ± {one['std']:.2f}" if one["std"] else "") + _mark(one),
                f"{one['together']:.2f}",
                f"{fast['accuracy_mean']:.2f} ± {fast['accuracy_std']:.2f}",
                f"{one['seconds']:.0f}{_mark(one)}",
            ]
        )
    head = ["graph", "split", "replicas", "auto", "its replicas together", "fast", "seconds of auto"]
    return markdown(head, lines)


def official_splits(records: list[Record]) -> str:
    """The default on official splits: a line for each graph, with the members of most weight."""
    lines = []
    for one in records:
        names = {name for split in one["members"] for name in split}
        weights = {
            name: float(np.mean([split.get(name, [0.0])[0] for split in one["members"]])) for name in names
        }
        heaviest = sorted(weights, key=lambda name: -weights[name])[:4]
        lines.append(
            [
                _title(one),
                {"roc_auc": "ROC AUC", "accuracy": "accuracy"}[one["figure"]],
                f"{one['mean']:.2f} ± {one['std']:.2f}",
                PUBLISHED[one["dataset"]],
                ", ".join(f"{weights[name]:.2f} {name}" for name in heaviest),
            ]
        )
    return markdown(["graph", "figure", "auto", "highest published", "mean weights"], lines)


def own_graphs(cpu: list[Record], cuda: list[Record]) -> str:
    """Accuracies and times, a line for each graph and task; the highest mean in bold.

    Ours is the CPU's where it was measured there, a rival's the GPU's.
    """
    names = {
        "pyg-gcn": "GCN",
        "pyg-gcn, rows scaled": "GCN, rows scaled",
        "pyg-label-propagation": "label propagation",
    }
    rivals = [system for system in names if any(row["system"] == system for row in cuda)]

    def find(rows: list[Record], system: str) -> Record:
        return next((r for r in rows if (r["dataset"], r["task"], r["system"]) == (*here, system)), {})

    def mean(row: Record) -> float:
        return mean_and_std(row["accuracies"])[0] if row.get("accuracies") else -1.0

    def accuracy(row: Record) -> str:
        if not row.get("accuracies"):
            return "–"
        average, std = mean_and_std(row["accuracies"])
        return bolded(f"{average:.2f} ± {std:.2f}", average == best)

    def seconds(on_cpu: Record, on_gpu: Record) -> str:
        return f"{np.median((on_cpu or on_gpu)['seconds']):.1f}{'' if on_cpu else ' †'}"

    lines = []
    for gcn in (row for row in cuda if row["system"] == "pyg-gcn"):
        here = gcn["dataset"], gcn["task"]
        timed = find(cpu, "kernode")
        on_cpu = bool(timed.get("accuracies"))
        ours = timed if on_cpu else find(cuda, "kernode")
        theirs = [find(cuda, system) for system in rivals]
        best = max(mean(row) for row in (ours, *theirs))
        chosen = sorted(set(ours["chosen"]), reverse=True)
        lines.append([
            f"{_title(gcn)}, {here[1]}",
            accuracy(ours) + ("" if on_cpu else " †"),
            ", ".join(f"{name} {ours['chosen'].count(name)}×" for name in chosen),
            *(f"{accuracy(row)} †" for row in theirs),
            seconds(timed, ours), seconds(find(cpu, "pyg-gcn"), gcn),
        ])  # fmt: skip
    titles = [names[system] for system in rivals]
    return markdown(["graph, labelled", "kernode", "chosen", *titles, "kernode, s", "GCN, s"], lines)


def calibration(rows: list[Record]) -> str:
    """A line for each graph: as trained, calibrated, and by chance; bold what chance does not explain."""

    def error(one: Record) -> str:
        return bolded(f"{one['error_mean']:.2f}", one["error_mean"] > one["by_chance_at_most"])

    def cells(before: Record, after: Record) -> list[str]:
        return [error(before), error(after), f"{after['by_chance']:.2f}, {after['by_chance_at_most']:.2f}"]

    lines = []
    for row in rows:
        before, after = row["test"]["before"], row["test"]["after"]
        together = cells(before["ensemble"], after["ensemble"])
        lines.append([_title(row), *cells(before, after), *together])
    chance = "by chance, mean and most"
    head = [
        "calibration error, %",
        "as trained",
        "calibrated",
        chance,
        "all ten as trained",
        "calibrated",
        chance,
    ]
    return markdown(head, lines)


def prediction_sets(rows: list[Record]) -> str:
    """A line for each graph and kind of split: coverage, its lowest, and mean size, by how sets were made."""
    by: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for row in sorted(rows, key=lambda one: (list(TITLES).index(one["dataset"]), one["split"] != "fastgcn")):
        by.setdefault((row["dataset"], row["split"]), {})[row["variant"]] = row["runs"]
    lines, ways = [], list(next(iter(by.values())))
    for (dataset, split), found in by.items():
        count = len(found["fast"])
        name = "FastGCN" if split == "fastgcn" else f"{count} random"
        low, high = np.mean([run["by_chance_95"] for run in found["fast"]], axis=0)
        cells = [f"{np.mean([run['accuracy'] for run in found['fast']]):.1f}", f"{low:.1f} to {high:.1f}"]
        for way in ways:
            if (runs := found.get(way)) is None:
                cells += ["–", "–"]
                continue
            covered = [run["covered"] for run in runs]
            lowest = f", {min(covered):.1f}" * (count > 1)
            size = np.mean([run["mean_size"] for run in runs])
            cells += [f"{np.mean(covered):.1f}{lowest}", f"{size:.2f}"]
        lines.append([TITLES[dataset], name, *cells])
    head = [part for way in ways for part in (f"{way}: cover, %", "classes")]
    return markdown(["", "splits", "accuracy of fast", "by chance", *head], lines)


def without_labels(rows: list[Record]) -> str:
    """A line for each graph and figure, a column for each system: mean ± deviation, the highest bold."""
    names = {
        "links": "`LinkKernelTransformer`", "dgi": "Deep Graph Infomax", "node2vec": "node2vec",
        "smoothed": "smoothed features", "features": "features",
    }  # fmt: skip
    figures = {"public_test": "20 labels per class", "fastgcn_test": "FastGCN's split", "retrieval": "mAP"}
    systems = [one for one in names if any(row["system"] == one for row in rows)]

    def cell(row: Record | None, figure: str, highest: float | None) -> str:
        if row is None:
            return "not run"
        mean, std = mean_and_std(row[figure])
        runs = row["runs"]
        text = bolded(f"{mean:.2f}" + (f" ± {std:.2f}" if runs > 1 else ""), round(mean, 2) == highest)
        # Where nothing is drawn, there is only one run.
        return text if runs == 10 or row["system"] in ("smoothed", "features") else f"{text} ({runs})"

    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        found = {row["system"]: row for row in rows if row["dataset"] == dataset}
        for figure, title in figures.items():
            means = [round(mean_and_std(row[figure])[0], 2) for row in found.values()]
            highest = max(means) if len(means) > 1 else None
            lines.append(
                [TITLES[dataset], title, *(cell(found.get(one), figure, highest) for one in systems)]
            )
    return markdown(["", "", *(names[one] for one in systems)], lines)


# Similarity and explanations


def unseen_classes(records: list[Record]) -> str:
    """A line for each kernel; mean and spread over pairs of left-out classes, the highest bold."""
    figures = {"map": "mAP", "accuracy": "five-shot accuracy"}
    columns = [(one, figure) for one in records for figure in figures]
    best = [max(system[figure] for system in one["systems"].values()) for one, figure in columns]
    lines = []
    for name in records[0]["systems"]:
        cells = [name]
        for (one, figure), most in zip(columns, best, strict=True):
            system = one["systems"][name]
            cells.append(spread([pair[figure] for pair in system["pairs"]], system[figure] == most))
        lines.append(cells)
    return markdown(["", *(f"{_title(one)}, {figures[figure]}" for one, figure in columns)], lines)


def kernel_loss(records: list[Record]) -> str:
    """A line for each graph and loss: mAP and accuracy, and what the loss adds to mAP, in pairs."""
    lines = []
    for one in records:
        best = max(np.mean(found["map"]) for found in one["losses"].values())
        for name, found in one["losses"].items():
            adds = found["adds"]
            added = [signed(adds["mean"]), f"{signed(adds['low'])} … {signed(adds['high'])}"]
            lines.append([
                _title(one), str(one["splits"]), name,
                spread(found["map"], bool(np.mean(found["map"]) == best)),
                f"{np.mean(found['accuracy']):.2f}", *(["–", "–"] if name == "λ = 0" else added),
            ])  # fmt: skip
    return markdown(["", "splits", "loss", "mAP", "accuracy", "adds to mAP", "95 % interval"], lines)


def kernels_together(rows: list[Record]) -> str:
    """A line for each graph: mAP of single runs, and of several as one kernel."""
    sizes = list(rows[0]["groups"])
    titles = ["", *("one run" if size == "1" else f"{size} runs as one" for size in sizes)]
    return markdown(titles, [[_title(row), *(spread(row["groups"][size]) for size in sizes)] for row in rows])


def faithfulness(records: list[Record]) -> str:
    """A line for each method on each model; bold is the largest fall, and the least time."""
    ways = list(records[0]["methods"]["kernode"]["falls"])
    lines = []
    for record in records:
        methods = record["methods"]
        falls = {name: [f"{one['falls'][way]['mean']:.3f}" for way in ways] for name, one in methods.items()}
        times = {name: f"{1000 * one['seconds']:.1f}" for name, one in methods.items()}
        best, least = (
            [max(column) for column in zip(*falls.values(), strict=True)],
            min(times.values(), key=float),
        )
        for name in methods:
            cells = [bolded(fall, fall == most) for fall, most in zip(falls[name], best, strict=True)]
            model = f"{_title(record)}, `{record['variant']}`, {record['nodes']} nodes: {name}"
            lines.append([model, *cells, bolded(times[name], times[name] == least)])
    return markdown(["the score falls by", *ways, "ms"], lines)


# Cost


def _measured(file: str, table: Callable[[Record], str], command: str) -> str:
    """A table below the line that names the machine and the command."""
    path = Path(RESULTS / f"{file}.json")
    if not path.exists():
        return f"*Not measured yet: `python {command} --results results`.*"
    values = json.loads(path.read_text())
    return f"{measured_with(values, f'python {command}')}\n\n{table(values)}"


def _shorter_bold(*seconds: float) -> list[str]:
    return [bolded(f"{one:.1f}", one == min(seconds)) for one in seconds]


def first_answer(values: Record) -> str:
    """`kernode fit` and ten GCNs: medians over turns."""
    return markdown(
        ["", "`kernode fit --variant fast`, s", "ten GCNs, s", "ratio", "turns"],
        [
            [_title(row), *_shorter_bold(row["medians"]["ours"], row["medians"]["gcns"]),
             f"{row['ours_to_gcns']:.2f}", str(len(row["ours"]))]
            for row in values["rows"]
        ],
    )  # fmt: skip


def similar(values: Record) -> str:
    """Exact search and the index, on models and on parts of the largest graph."""
    lines = []
    for row in (*values["rows"], *values["sizes"]):
        kernel = "RBF" if "RBF" in row["kernel"] else "dot product"
        times = [
            text
            for how in ("alone_ms", "together_ms")
            for text in (
                f"{row[how]['exact']:.2f}, {row[how]['index']:.2f}",
                f"{row[how]['ratio']:.1f} ({row[how]['fastest_ratio']:.1f})",
            )
        ]
        name = TITLES.get(row.get("dataset"), row.get("dataset", "first nodes"))
        cells = [name, f"{row['nodes']:,}", f"{kernel}, {row['numbers']}", f"{row['recall_at_10']:.4f}"]
        lines.append([*cells, *times, f"{row['build_s']:.1f}"])
    head = ["", "nodes", "kernel, numbers of a vector", "recall@10", "one at a time: all, index, ms", "ratio",
            "256 at once: all, index, ms", "ratio", "making it, s"]  # fmt: skip
    return markdown(head, lines)


def links_beside_gae(values: Record) -> str:
    """`kernode links` and as many GAEs: seconds and test figures of both."""
    by = {(row["dataset"], row["system"]): row for row in values["rows"]}
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in values["rows"]):
        pair = ours, theirs = by[dataset, "kernode links"], by[dataset, "pyg-gae"]
        ratio = ours["median_seconds"] / theirs["median_seconds"]
        figures = [f"{row['test_auc']:.2f}, {row['test_ap']:.2f}" for row in pair]
        seconds = _shorter_bold(*(row["median_seconds"] for row in pair))
        counts = [str(ours["runs"]), str(len(ours["seconds"]))]
        lines.append([TITLES[dataset], *seconds, f"{ratio:.2f}", *figures, *counts])
    head = ["", "`kernode links`, s", "GAE, s", "ratio", "AUC, AP", "GAE's AUC, AP", "runs of each", "turns"]
    return markdown(head, lines)


def cost_beside_gcn(values: Record) -> str:
    """`fast`, its winner alone, and the GCN that people tune today."""
    lines = []
    for row in values["rows"]:
        found, measured = row["medians"], row["gcn_accuracy"] is not None
        lines.append([
            _title(row), f"{found['ours']:.1f}", row["chosen"], f"{found['winner_alone']:.1f}",
            f"{found['ours_to_winner_alone']:.2f}",
            f"{found['gcn']:.1f}" + ("" if measured else f" ({row['timed_epochs']} epochs timed)"),
            f"{1 / found['gcn_to_ours']:.2f}", f"{row['accuracy']:.2f}",
            f"{row['gcn_accuracy']:.2f}" if measured else "–",
        ])  # fmt: skip
    head = [
        "",
        "`fast`, s",
        "chosen",
        "winner alone, s",
        "times",
        "tuned GCN, s",
        "ratio",
        "accuracy",
        "GCN's",
    ]
    return markdown(head, lines)


def ranks(rows: list[Record]) -> str:
    """A line for each number of processes; the largest figures of its ranks."""

    def mb(count: float) -> str:
        return f"{count / 1e6:,.0f} MB"

    whole = rows[0]["ranks"][0]["rows_bytes"]
    lines = []
    for row in rows:
        held, most = (max(rank[name] for rank in row["ranks"]) for name in ("rows_bytes", "most_bytes"))
        lines.append([
            str(row["processes"]), mb(held), f"{held / whole:.3f}", mb(most), mb(row["loopback_bytes"]),
            f"{row['seconds_per_epoch']:.2f}", spread(row["accuracy"]),
        ])  # fmt: skip
    head = ["processes", "rows of adjacency and features", "share of one", "most memory",
            "passed by the system", "seconds an epoch", "test accuracy"]  # fmt: skip
    return markdown(head, lines)
