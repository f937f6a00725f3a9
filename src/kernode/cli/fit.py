"""``kernode fit``: train, score the test nodes once, save."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kernode.cli.console import check_apart, check_writable, peak_memory_mb, print_json, progress, telling
from kernode.cli.graph_source import notes_of, print_notes, require_labels
from kernode.cli.options import (
    RUN,
    CheckpointOptions,
    GraphOptions,
    MethodOptions,
    OutputOptions,
    ProfileOption,
    RunOptions,
    SettingsOption,
    SplitOption,
    TrainingOptions,
    WithGraphOption,
)
from kernode.cli.predictions import check_suffix, write_predictions
from kernode.cli.reports.fit import print_report
from kernode.cli.reports.profile import print_profile, profile_of
from kernode.cli.saved_model import saved_already
from kernode.cli.settings_file import with_settings
from kernode.progress import Stopwatch, timed_by


def fit(
    *,
    graph: GraphOptions,
    variant: Annotated[
        str | None,
        typer.Option(help="A method with its settings, by name; all are listed below.", show_default="auto"),
    ] = None,
    settings: SettingsOption = None,
    split: SplitOption = None,
    run: RunOptions,
    method: MethodOptions,
    training: TrainingOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file.", show_default="DATA.safetensors", **RUN),
    ] = None,
    all_labels: Annotated[
        bool,
        typer.Option("--all-labels", help="After testing, train again on all labels; save that.", **RUN),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Also predict every node: FILE.csv, .parquet or .json.", show_default=False, **RUN),
    ] = None,
    with_graph: WithGraphOption = False,
    profile: ProfileOption = False,
    checkpoint: CheckpointOptions,
    output: OutputOptions,
) -> None:
    """Train a kernel on a graph, print test accuracy, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]

    Your own parts: [bold]kernode fit cora --map "GCN(hidden=(64,))" --kernel rbf --objective joint[/]
    """
    started, watch = time.perf_counter(), Stopwatch()
    named = f"-{variant.lower()}" if variant else ""
    variant, changes = with_settings(settings, "fit", variant, "auto", method.changes() | training.changes())
    out = out or Path(f"{graph.name}{named}.safetensors")
    for path in (out, predictions):
        check_writable(path)
    check_suffix(predictions)
    check_apart((out, predictions, checkpoint.checkpoint), (graph.data, graph.nodes, settings, split))

    with watch.part("imports"):
        from kernode.data.sizes import GraphSizes
        from kernode.graph.share import ranks_of, require_whole
        from kernode.node_classification.choosing import checkpoint_parts
        from kernode.node_classification.experiment import fit_all_labels, run_variant
        from kernode.node_classification.report import judge_outcome
        from kernode.node_classification.variants import candidates
        from kernode.training.run import Run
        from kernode.version import versions

    methods = candidates(variant, **changes)  # what is wrong with the options is said before a graph is read
    place = run.place()
    run.seeds()
    graph.require_memory(methods, place)
    with timed_by(watch), run.computing(), progress(graph.name, quiet=output.silent) as begin:
        with checkpoint.opened(checkpoint_parts(methods)) as file:
            with watch.part("reading the graph"):
                read = graph.graph()
            require_labels(read, graph.label)
            if with_graph:
                require_whole(read, "--with-graph")
            told = lambda steps, name: telling(begin(steps, name), "validation_accuracy", "validation")  # noqa: E731
            seeds = ranks_of(read).told_value(run.seeds(GraphSizes.of(read), place))
            runs = Run(seeds, place, told, file, threads=run.of_training())
            outcome = run_variant(read, variant, runs, split=split, changes=changes)
            fitted, report, seconds = outcome.on, outcome.report, outcome.seconds_per_epoch
            if all_labels and outcome.sizes["train"] < outcome.sizes["labelled"]:  # else all have trained
                fitted = fit_all_labels(read, fitted.model, runs)
        model, replaced = fitted.model, out.exists()
        with watch.part("saving"):
            model.save(out, read if with_graph else None)
            if predictions is not None:
                write_predictions(predictions, fitted)
        with saved_already(out), watch.part("evaluation"):
            report["test"] |= judge_outcome(outcome)
    report |= {
        "sizes": outcome.sizes,
        "deterministic": run.deterministic,
        "versions": versions(),
        "seconds_total": round(time.perf_counter() - started, 3),
        "seconds_per_epoch": round(seconds, 5),
        "peak_memory_mb": peak_memory_mb(place),
        "model": str(out),
        "replaced": replaced,  # whatever model had that name
        "trained_again_on": model.train.shape[1] if all_labels else None,
        "predictions": None if predictions is None else str(predictions),
        "notes": notes_of(read),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
    if profile:
        report["profile"] = profile_of(watch)
    if output.json:
        print_json(report)
        return
    if read.encoding is not None:
        print_notes(read)
    print_report(report, [] if with_graph else graph.files)
    if profile:
        print_profile(report["profile"])
