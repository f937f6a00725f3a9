"""``kernode tune``: search for settings that are good on validation data, and write them to a file."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernode.cli.console import (
    DATA_HELP,
    JsonOption,
    QuietOption,
    check_writable,
    data_name,
    print_json,
    progress,
    say,
)
from kernode.errors import InputError, KernodeError

if TYPE_CHECKING:
    from kernode.studies.tune.question import Question
    from kernode.studies.tune.search import Found

METRICS = {"accuracy": "accuracy", "map": "mean average precision", "auc": "AUC"}
_SHOWN = 5  # trials


def tune(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    variant: Annotated[
        str | None,
        typer.Option(
            help="A method of `kernode fit`, with auc of `kernode links`.", show_default="k3, kernel"
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials in all, those of earlier calls included.")] = 50,
    metric: Annotated[
        str, typer.Option(help="What to raise on validation data: accuracy, map, or auc of links.")
    ] = "accuracy",
    folds: Annotated[int, typer.Option(help="Cross-validate on so many folds; 0: as split.")] = 0,
    runs: Annotated[int, typer.Option(help="Runs of each trial, with seeds S, S+1, …")] = 1,
    batch: Annotated[int, typer.Option(help="Trials that are trained at a time.")] = 16,
    epochs: Annotated[
        int | None, typer.Option(help="Training epochs.", show_default="as the variant has them")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="fastgcn, public, jk, fractions or counts, as for `kernode fit`.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="File of the search.", show_default="DATA-VARIANT-METRIC.db")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Settings file.", show_default="DATA-VARIANT-METRIC.toml"),
    ] = None,
    seed: Annotated[int, typer.Option(help="S: of the search, the split and the first run.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Search for good settings, many trials at a time; no test label is read.

    Interrupt it at any time: the same command goes on, and one with more --trials goes further.

    Example: [bold]kernode tune cora --trials 100[/], then [bold]kernode fit cora --settings
    cora-k3-accuracy.toml[/]
    """
    started = time.perf_counter()
    _check(metric, {"trials": trials, "runs": runs, "batch": batch}, folds, split, seed)
    variant = variant or ("kernel" if metric == "auc" else "k3")
    stem = f"{data_name(data)}-{variant}-{metric}"
    study, out = study or Path(f"{stem}.db"), out or Path(f"{stem}.toml")
    for path in (study, out):
        check_writable(path)

    from kernode.compute.place import Place, set_threads
    from kernode.data import load_graph
    from kernode.studies.tune.question import LinkQuestion, NodeQuestion
    from kernode.studies.tune.search import search
    from kernode.studies.tune.study import import_optuna

    import_optuna()  # what is missing is said before a graph is fetched
    set_threads(threads)
    place = Place.of(32, device)
    with progress(f"tune {data_name(data)} {variant}", quiet=quiet or json) as begin:
        graph = load_graph(data)
        question: Question
        if metric == "auc":
            question = LinkQuestion(graph, variant, metric, runs, seed, epochs)
        else:
            question = NodeQuestion(graph, variant, metric, runs, seed, epochs, split, folds)
        try:
            found = search(question, study, trials=trials, batch=batch, place=place, watch=begin(trials))
        except KeyboardInterrupt:
            sys.stderr.write(f"What is done is in {study}; the same command goes on from there.\n")
            raise
    if not found.trials:
        raise KernodeError(f"none of {found.count} trials could be trained: {found.failures[-1]}")
    _write(out, question, found, data)
    report = _report(question, found) | {
        "device": place.device.type,
        "seconds_total": round(time.perf_counter() - started, 3),
        "study": str(study),
        "settings": str(out),
    }
    print_json(report) if json else _print_report(report, _next(question, data, out))


def _check(metric: str, counts: dict[str, int], folds: int, split: str | None, seed: int) -> None:
    from kernode.training.settings import seeds_from

    if metric not in METRICS:
        raise InputError(f"--metric must be one of {', '.join(METRICS)}. Got {metric!r}.")
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"--{name} must be an integer ≥ 1. Got {count}.")
    seeds_from(seed, 1)
    if folds < 0:
        raise InputError(f"--folds must be an integer ≥ 0. Got {folds}.")
    if metric == "auc" and (folds or split is not None):
        raise InputError("--folds and --split are of nodes. Leave them out with --metric auc.")


def _kind(question: Question) -> str:
    return "method" if question.metric == "auc" else "variant"


def _write(out: Path, question: Question, found: Found, data: str) -> None:
    from kernode.cli.settings_file import write_settings

    best, kind = found.trials[0], _kind(question)
    failed = f", {len(found.failures)} of which failed" if found.failures else ""
    comments = [
        f"Chosen by: {shlex.join(['kernode', *sys.argv[1:]])}",
        f"Best of {found.count} trials{failed}: validation {METRICS[question.metric]} "
        f"{best.value:.2f} % ({_how(question)}).",
        "The best of many is somewhat lucky: expect a little less on other nodes.",
        f"Use it: {_next(question, data, out)}",
    ]
    if _random_split(question):
        comments.append("Other seeds split otherwise: their test nodes were seen by this search.")
    write_settings(out, kind, question.name, best.settings, comments)


def _random_split(question: Question) -> bool:
    return _kind(question) == "method" or getattr(question, "split_name", "") not in ("fastgcn", "public")


def _next(question: Question, data: str, out: Path) -> str:
    """The command that uses the file, on test data that the search has not seen."""
    words = ["kernode", "links" if _kind(question) == "method" else "fit", data, "--settings", str(out)]
    if split := getattr(question, "split", None):
        words += ["--split", split]
    if _random_split(question):
        words += ["--seed", str(question.seed)]
    if _random_split(question) and _kind(question) == "variant":  # runs on links share the first's split
        words += ["--replicas", "1"]
    return shlex.join(words)


def _how(question: Question) -> str:
    """Which validation data, in words."""
    split, folds = getattr(question, "split_name", None), getattr(question, "folds", 0)
    parts = [f"split {split}"] if split else []
    parts += [f"{folds} folds"] if folds else []
    parts += [f"{question.runs} runs" if question.runs > 1 else "1 run", f"seed {question.seed}"]
    return ", ".join(parts)


def _report(question: Question, found: Found) -> dict[str, Any]:
    return {
        "dataset": question.graph.name,
        _kind(question): question.name,
        "metric": question.metric,
        "split": getattr(question, "split_name", None),
        "folds": getattr(question, "folds", 0),
        "runs": question.runs,
        "seed": question.seed,
        "trials": found.count,
        "failed": found.failures,
        "best": [
            {"trial": one.number, "value": round(one.value, 4), "runs": one.runs, "settings": one.settings}
            for one in found.trials[:_SHOWN]
        ],
    }


def _print_report(report: dict[str, Any], following: str) -> None:
    name = report.get("variant") or report["method"]
    failed = f" ({len(report['failed'])} failed: {report['failed'][-1]})" if report["failed"] else ""
    say(f"[bold]{escape(report['dataset'])}[/] · {name} · {report['trials']} trials{escape(failed)}")
    table = Table(box=None, pad_edge=False)
    table.add_column("trial", justify="right")
    table.add_column(f"validation {report['metric']}", justify="right", no_wrap=True)
    table.add_column("settings")
    for one in report["best"]:
        told = ", ".join(f"{key} {_short(value)}" for key, value in one["settings"].items())
        table.add_row(str(one["trial"]), f"{one['value']:.2f} %", escape(told))
    Console(width=120 if not Console().is_terminal else None, highlight=False).print(table)
    say(f"  {'time':<20} {report['seconds_total']:.1f} s")
    say(f"  {'search':<20} {escape(report['study'])}   (more --trials go on from it)")
    say(f"  {'settings':<20} {escape(report['settings'])}")
    say(f"Next: [bold]{escape(following)}[/]")


def _short(value: Any) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
