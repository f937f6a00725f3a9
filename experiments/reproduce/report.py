"""Tables, verdicts and claims: as plain values for documents, and printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.markup import escape
from rich.table import Table as Printout

from experiments.reproduce.claims import judge_claims
from experiments.reproduce.tables import Cell, Row, Table
from experiments.reproduce.verdicts import NOT_PRINTED, judge
from kernode.cli.console import new_table, print_table, say
from kernode.search.results import Results

SAME, OTHER = "the same", "another count"


def report(tables: Iterable[Table], results: Results) -> dict[str, Any]:
    """Everything that is known of some tables."""
    tables = list(tables)
    return {
        "tables": [
            {
                "table": table.name,
                "title": table.title,
                "kind": table.kind,
                "entries": entries(table, results),
            }
            for table in tables
        ],
        "claims": [asdict(claim) for claim in judge_claims(tables, results)],
    }


def entries(table: Table, results: Results) -> list[dict[str, Any]]:
    """One entry per row, data set and figure."""
    made = {"counts": _counted, "figures": _drawn}.get(table.kind, partial(_scored, table.metrics))
    return [entry for row in table.rows for cell in row.cells.values() for entry in made(row, cell, results)]


def _named(row: Row, cell: Cell) -> dict[str, Any]:
    return {"row": row.name, "title": row.title, "reading": row.reading, "dataset": cell.dataset}


def _counted(row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    ours = record["counts"][row.name] if record else None
    paper = cell.paper["counts"].text if cell.paper else None
    verdict = NOT_PRINTED if paper is None else None if ours is None else SAME if ours == paper else OTHER
    return [_named(row, cell) | {"ours": ours, "paper": paper, "verdict": verdict}]


def _scored(metrics: tuple[str, ...], row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    return [_score(row, cell, record, metric) for metric in metrics]


def _score(row: Row, cell: Cell, record: dict[str, Any] | None, metric: str) -> dict[str, Any]:
    paper = cell.paper.get(metric)
    entry = _named(row, cell) | {"metric": metric, "paper": paper.text if paper else None}
    if record is None:
        return entry | {"ours": None, "verdict": None}
    figure = record["test"][metric]
    entry |= {"ours": figure, "seconds": record["seconds"], "device": record["device"]}
    if metric == "accuracy" and record.get("ensemble_accuracy") is not None:
        entry["ensemble"] = record["ensemble_accuracy"]  # the runs' mean probability
    if paper is None:
        return entry | {"verdict": NOT_PRINTED}
    return entry | asdict(judge(figure, paper, cell.settings["split"]))


def _drawn(row: Row, cell: Cell, results: Results) -> list[dict[str, Any]]:
    record = results.find(cell)
    entry = _named(row, cell)
    if record is None:
        return [entry | {"figure": None}]
    figure = record["figure"]
    shown = {name: figure[name] for name in _SHOWN if name in figure}
    if "before" in figure:  # of K̄, the means; the images are for drawing
        shown |= {
            when: {k: v for k, v in figure[when].items() if k != "image"} for when in ("before", "after")
        }
    if "mean" in figure:  # of ω_h, the last epoch's
        shown |= {"last_mean": figure["mean"][-1], "last_std": figure["std"][-1]}
    return [entry | {"figure": shown, "seconds": record["seconds"], "device": record["device"]}]


# Of a figure's values, those that are not for drawing alone.
_SHOWN = ("silhouette", "silhouette_by_class", "silhouette_in_plane", "class_names")


LEGEND = """[dim]ours: mean ± standard deviation of the runs. error: standard error of the difference: of the
runs, and of the test nodes or edges where ours are not the paper's. matches: the error explains the
difference (Welch's t-test, 5 %). close: it does not, but it is at most half a point. (each): Eq. 7's hop
operator; (last): the one that the authors' program intends; (released): the one that it computes.[/]"""
_COLOURS = {"matches": "green", "the same": "green", "holds": "green", "close": "yellow", "differs": "red",
            "does not hold": "red", "holds in part": "yellow"}  # fmt: skip


_ORDER = ("matches", "close", "differs", "not in the paper")


def print_report(values: dict[str, Any]) -> None:
    """Print every table, then every claim."""
    for table in values["tables"]:
        if table["entries"]:
            {"figures": _print_figures}.get(table["kind"], _print_table)(table)
    if any("difference" in entry for table in values["tables"] for entry in table["entries"]):
        say(LEGEND)
    if values["claims"]:
        _print_claims(values["claims"])


def _print_table(values: dict[str, Any]) -> None:
    scored = values["kind"] != "counts"
    columns = ["", "data", "ours", "paper", *(["difference", "error"] if scored else []), "verdict"]
    table = new_table(columns, left=("", "data", "verdict"), title=escape(values["title"]))
    last = None
    for entry in values["entries"]:
        name = _row_name(entry)
        cells = [name if name != last else "", _data_name(entry), _ours(entry), entry["paper"] or "–"]
        if scored:
            known = "difference" in entry
            cells += [f"{entry['difference']:+.2f}" if known else "", _error(entry) if known else ""]
        table.add_row(*cells, _verdict(entry))
        last = name
    print_table(table)
    if scored:
        counts = Counter(entry["verdict"] for entry in values["entries"] if entry["verdict"])
        say("  " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict]))


def _row_name(entry: dict[str, Any]) -> str:
    return escape(entry["title"]) + (f" [dim]({entry['reading']})[/]" if entry["reading"] else "")


def _data_name(entry: dict[str, Any]) -> str:
    named = {"auc": " AUC", "ap": " AP", "map": " mAP", "precision_at_10": " at 10"}
    metric = named.get(entry.get("metric", ""), "")
    return f"{entry['dataset']}{metric}"


def _ours(entry: dict[str, Any]) -> str:
    ours = entry["ours"]
    if ours is None:
        return "not run"
    return ours if isinstance(ours, str) else f"{ours['mean']:.2f} ± {ours['std']:.2f}"


def _error(entry: dict[str, Any]) -> str:
    return f"{entry['standard_error']:.2f}"


def _verdict(entry: dict[str, Any]) -> str:
    verdict = entry["verdict"] or ""
    return f"[{_COLOURS.get(verdict, 'dim')}]{verdict}[/]"


def _print_figures(values: dict[str, Any]) -> None:
    table = Printout("", "data", "figures", title=escape(values["title"]))
    for entry in values["entries"]:
        table.add_row(escape(entry["title"]), entry["dataset"], _figure(entry["figure"]))
    print_table(table)


def _figure(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "not run"
    if "silhouette" in figure:
        one = figure["silhouette"]
        return f"silhouette {one['mean']:.3f} ± {one['std']:.3f}, drawn {figure['silhouette_in_plane']:.3f}"
    if "last_mean" in figure:
        return "ω " + "  ".join(
            f"{mean:.2f} ± {std:.2f}"
            for mean, std in zip(figure["last_mean"], figure["last_std"], strict=True)
        )
    return ", ".join(
        f"{when}: {figure[when]['within']:.2f} within classes, {figure[when]['between']:.2f} between"
        for when in ("before", "after")
    )


def _print_claims(claims: list[dict[str, Any]]) -> None:
    say("\n[bold]The paper's claims[/] (its own figures · ours, by reading of the hop operator)")
    for claim in claims:
        ours = ", ".join(
            f"[{_COLOURS.get(verdict, 'dim')}]{verdict}[/]{f' ({reading})' if reading else ''}"
            for reading, verdict in claim["ours"].items()
        )
        say(f"  [bold]{escape(claim['claim'])}[/]")
        say(f"    {escape(claim['paper'])} · {ours}. [dim]{escape(claim['sentence'])}[/]")
