"""``kernode tune``: search for settings that are good on validation data, and write them to a file."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernode.cli.console import print_json, progress
from kernode.cli.files import check_apart, check_writable
from kernode.cli.jobs import JobOptions
from kernode.cli.options.graph import GraphOptions, SplitOption, require_labels
from kernode.cli.options.run import RUN, OutputOptions, TensorBoardOption, check_board
from kernode.cli.reports.tune import (
    METRICS,
    command_of,
    has_random_split,
    next_command,
    print_report,
    report_of,
    validated_on,
)
from kernode.errors import InputError, KernodeError, bad_setting, kept

if TYPE_CHECKING:
    from kernode.search.space import Problem
    from kernode.search.tune import Found


def tune(
    *,
    graph: GraphOptions,
    variant: Annotated[
        str | None,
        typer.Option(
            help="A variant of `kernode fit`, with auc of `kernode links`.", show_default="k3, kernel"
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials in all, those of earlier calls included.")] = 50,
    metric: Annotated[
        str, typer.Option(help="What to raise on validation data: accuracy, map, or auc of links.")
    ] = "accuracy",
    folds: Annotated[int, typer.Option(help="Cross-validate on so many folds; 0: as split.")] = 0,
    batch: Annotated[int, typer.Option(help="Trials that are trained at a time.")] = 16,
    epochs: Annotated[
        int | None, typer.Option(help="Training epochs.", show_default="as the variant has them")
    ] = None,
    split: SplitOption = None,
    study: Annotated[
        Path | None, typer.Option(help="File of the search.", show_default="DATA-VARIANT-METRIC.db")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Settings file.", show_default="DATA-VARIANT-METRIC.toml"),
    ] = None,
    replicas: Annotated[int, typer.Option(help="Runs of each trial, with seeds S, S+1, …", **RUN)] = 1,
    seed: Annotated[int, typer.Option(help="S: of the search, the split and the first run.", **RUN)] = 0,
    tensorboard: TensorBoardOption = None,
    device: JobOptions,
    output: OutputOptions,
) -> None:
    """Search for good settings, many trials at a time; no test label is read.

    After an interrupt the same command goes on, and one with more --trials goes further.

    Example: [bold]kernode tune cora --trials 100[/], then [bold]kernode fit cora --settings
    cora-k3-accuracy.toml[/]

    Four stacks of trials at a time: [bold]kernode tune cora --trials 100 --jobs 4[/]

    Your own tables: [bold]kernode tune edges.csv --nodes nodes.csv --label topic[/]
    """
    started = time.perf_counter()
    _check(metric, {"trials": trials, "replicas": replicas, "batch": batch, "folds": folds}, split, seed)
    variant = (variant or ("kernel" if metric == "auc" else "k3")).lower()
    stem = f"{graph.name}-{variant}-{metric}"
    study, out = study or Path(f"{stem}.db"), out or Path(f"{stem}.toml")
    for path in (study, out):
        check_writable(path)
    check_apart((study, out), (graph.data, graph.nodes, split))
    board = check_board(tensorboard, elsewhere=device.elsewhere)

    from kernode.search.space import Problem
    from kernode.search.tune import search

    place = device.place()
    with progress(f"tune {graph.name} {variant}", quiet=output.silent) as begin:
        read = graph.graph()
        problem = Problem(read, variant, metric, replicas, seed, epochs, split, folds)
        if not problem.of_links:
            require_labels(read, graph.label)
        in_file = f"What is done is in {study}; the same command goes on from there."
        with kept(lambda: in_file), device.computing(), device.workers():
            found = search(
                problem, study, trials=trials, batch=batch, place=place, threads=device.threads_each,
                progress=begin(trials), callbacks=() if board is None else (board,),
            )  # fmt: skip
    if not found.trials:
        raise KernodeError(f"none of {found.count} trials could be trained: {found.failures[-1]}", "failed")
    following = next_command(problem, graph.words, out)
    _write(out, problem, found, following)
    report = report_of(problem, found) | {
        "device": place.device.type,
        "seconds_total": round(time.perf_counter() - started, 3),
        "study": str(study),
        "settings": str(out),
    }
    print_json(report) if output.json else print_report(report, following)


def _check(metric: str, counts: dict[str, int], split: str | None, seed: int) -> None:
    from kernode.compute.replicas import seeds_from

    if metric not in METRICS:
        raise bad_setting("metric", f"one of {', '.join(METRICS)}", metric)
    for name, count in counts.items():
        least = 0 if name == "folds" else 1
        if count < least:
            raise bad_setting(name, f"an integer ≥ {least}", count)
    seeds_from(seed, 1)
    if metric == "auc" and (counts["folds"] or split is not None):
        raise InputError(
            "folds and splits are of nodes. Leave them out for the AUC of links.",
            "conflict", setting="folds" if counts["folds"] else "split",
        )  # fmt: skip


def _write(out: Path, problem: Problem, found: Found, following: str) -> None:
    """Write the settings of the best trial, with comments on their origin."""
    from kernode.cli.settings_file import write_settings

    best = found.trials[0]
    failed = f", {len(found.failures)} of which failed" if found.failures else ""
    comments = [
        f"Chosen by: {shlex.join(['kernode', *sys.argv[1:]])}",
        f"Best of {found.count} trials{failed}: validation {METRICS[problem.metric]} "
        f"{best.value:.2f} % ({validated_on(problem)}).",
        "The best of many is somewhat lucky: expect a little less on other nodes.",
        f"Use it: {following}",
    ]
    if has_random_split(problem):
        comments.append("Other seeds split otherwise: their test nodes were seen by this search.")
    write_settings(out, command_of(problem), problem.variant, best.settings, comments)
