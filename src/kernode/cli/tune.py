"""``kernode tune``: search for settings that are good on validation data, and write them to a file."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.files import check_out
from kernode.cli.fitting import print_line
from kernode.cli.jobs import JobOptions, JobsOption
from kernode.cli.option_groups import option
from kernode.cli.options.graph import GraphOptions, SplitOption, show_notes
from kernode.cli.options.run import OutputOptions
from kernode.cli.settings_file import write_settings
from kernode.errors import InputError, KernodeError, bad_setting, kept

_SHOWN = 5  # trials


@dataclass(frozen=True, kw_only=True)
class TuneSettings(JobOptions):
    """How a search runs."""

    batch: int = 16  # trials that are trained at a time
    folds: int = 0  # to cross-validate on; 0: as split
    study: Path | None = None  # file of the search, DATA-VARIANT-METRIC.db

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("batch", 1), ("folds", 0)):
            if getattr(self, name) < least:
                raise bad_setting(name, f"an integer ≥ {least}", getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class TuneGraphOptions(GraphOptions):
    """A graph to search settings for, and all settings of the search."""

    takes: ClassVar[dict[str, Any]] = GraphOptions.takes | {"run": TuneSettings}


def tune(
    *,
    graph: TuneGraphOptions,
    variant: Annotated[
        str | None,
        option("A variant of `kernode fit`, with auc of `kernode links`.", show_default="k3, kernel"),
    ] = None,
    trials: Annotated[int, option("Trials in total, including those of earlier calls.", min=1)] = 50,
    metric: Annotated[
        Literal["accuracy", "map", "auc"], option("Metric to maximise on validation data; auc: links.")
    ] = "accuracy",
    epochs: Annotated[int | None, option("Training epochs.", show_default="as the variant has them")] = None,
    split: SplitOption = None,
    out: Annotated[
        Path | None, option("Settings file.", "--out", "-o", show_default="DATA-VARIANT-METRIC.toml")
    ] = None,
    replicas: Annotated[int, option("Runs of each trial, with seeds S, S+1, …", min=1)] = 1,
    seed: Annotated[int, option("S: of the search, the split and the first run.")] = 0,
    jobs: JobsOption = None,
    output: OutputOptions,
) -> None:
    """Search for settings that validate best.

    Trials are trained in groups; no test label is read.

    After an interrupt, repeat the command to continue; raise --trials to search further.

    Example: [bold]kernode tune cora --trials 100[/], then [bold]kernode fit cora --set
    cora-k3-accuracy.toml[/]
    """
    started, device = time.perf_counter(), graph.part("run").with_jobs(jobs)
    folds = device.folds
    if metric == "auc" and (folds or split is not None):
        sentence = "folds and splits are for nodes. Leave them out for links."
        raise InputError(sentence, "conflict", setting="folds" if folds else "split")
    variant = (variant or ("kernel" if metric == "auc" else "k3")).lower()
    stem = f"{graph.name}-{variant}-{metric}"
    study, out = device.study or Path(f"{stem}.db"), out or Path(f"{stem}.toml")
    check_out(study, out, read=(*graph.inputs, split))

    from kernode.io.node_split import is_split_file
    from kernode.search.tune import Problem, search

    options = device.options()
    with progress(f"tune {graph.name} {variant}", quiet=output.silent) as begin:
        read = graph.graph()
        problem = Problem(read, variant, metric, replicas, seed, epochs, split, folds)
        if not problem.of_links:
            graph.require_labels(read)
        show_notes(read, quiet=output.silent)
        in_file = f"Finished trials are in {study}; repeat the command to continue."
        with kept(lambda: in_file), device.computing(), device.workers():
            found = search(
                problem, study, trials=trials, batch=device.batch, options=options,
                threads=device.threads_each, progress=begin(trials),
            )  # fmt: skip
    if not found.trials:
        raise KernodeError(f"none of {found.count} trials could be trained: {found.failures[-1]}", "failed")
    command, best = "links" if problem.of_links else "fit", found.trials[0]
    words = ["kernode", command, *graph.words(), "--set", str(out), *(["--split", split] if split else [])]
    comments = [
        f"Chosen by: {shlex.join(['kernode', *sys.argv[1:]])}",
        f"Best of {found.count} trials: validation {metric} {best.value:.2f} % (optimistic).",
    ]
    used = problem.split_name
    if used is None or (used not in ("fastgcn", "public") and not is_split_file(used)):
        # replicas on links share the first's split
        words += ["--seed", str(seed), *(["--replicas", "1"] if command == "fit" else [])]
        comments.append("Other seeds split otherwise: their test nodes were seen by this search.")
    following = shlex.join(words)
    write_settings(out, command, variant, best.settings, [*comments, f"Use it: {following}"])
    report = {
        "dataset": read.name,
        "command": command,
        "variant": variant,
        "metric": metric,
        "split": problem.split_name,
        "folds": folds,
        "replicas": replicas,
        "seed": seed,
        "trials": found.count,
        "failed": found.failures,
        "best": [
            {"trial": one.number, "value": round(one.value, 4), "runs": one.runs, "settings": one.settings}
            for one in found.trials[:_SHOWN]
        ],
        "device": options.device.type,
        "seconds_total": round(time.perf_counter() - started, 3),
        "study": str(study),
        "settings": str(out),
        "notes": list(read.notes),
    }
    if output.json:
        print_json(report)
        return
    failed = f" ({len(found.failures)} failed: {found.failures[-1]})" if found.failures else ""
    say(f"[bold]{escape(read.name)}[/] · {variant} · {found.count} trials{escape(failed)}")
    table = new_table(("trial", f"validation {metric}", "settings"), left=("settings",))
    for one in found.trials[:_SHOWN]:
        values = ", ".join(f"{key} {value}" for key, value in one.settings.items())
        table.add_row(str(one.number), f"{one.value:.2f} %", escape(values))
    print_table(table)
    print_line("time", f"{report['seconds_total']:.1f} s")
    print_line("search", f"{study}   (raise --trials to continue it)")
    print_line("settings", str(out))
    say(f"Next: [bold]{escape(following)}[/]")
