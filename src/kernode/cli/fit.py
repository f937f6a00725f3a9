"""``kernode fit``: fit a classifier on a graph, save it, print its report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kernode.cli.console import print_json, progress
from kernode.cli.files import WRITERS, check_apart, check_out, check_writable, write_table
from kernode.cli.options.graph import GraphOptions, SplitOption, print_notes, require_labels
from kernode.cli.options.method import MethodOptions, TrainingOptions
from kernode.cli.options.run import (
    RUN,
    CheckpointOptions,
    OutputOptions,
    RunOptions,
    SettingsOption,
    TensorBoardOption,
    WithGraphOption,
    check_board,
)
from kernode.cli.predict import predictions as predictions_of
from kernode.cli.reports.fit import log_result, print_report, saved_report
from kernode.cli.settings_file import with_settings


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
    tensorboard: TensorBoardOption = None,
    checkpoint: CheckpointOptions,
    output: OutputOptions,
) -> None:
    """Train a kernel on a graph, print test accuracy, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]

    Your own parts: [bold]kernode fit cora --map "GCN(hidden=(64,))" --kernel rbf --objective joint[/]
    """
    started, named = time.perf_counter(), f"-{variant.lower()}" if variant else ""
    variant, changes = with_settings(settings, "fit", variant, "auto", method.changes() | training.changes())
    out = out or Path(f"{graph.name}{named}.safetensors")
    check_writable(out)
    check_out(predictions, WRITERS)
    check_apart((out, predictions, checkpoint.checkpoint), (graph.data, graph.nodes, settings, split))

    from kernode.cli.progress_bar import ProgressBar
    from kernode.estimators.classifier import NodeKernelClassifier
    from kernode.graph.share import require_whole
    from kernode.models.changes import Changes
    from kernode.models.fit import checkpoint_parts

    board, place = check_board(tensorboard), run.place()
    parameters = Changes.of(**changes, precision=run.precision).parameters()
    model = NodeKernelClassifier(variant, **parameters, random_state=run.seed, device=run.device)
    methods = model.methods()  # errors in the options come before a graph is read
    run.seeds()
    graph.require_memory(methods, place)
    with run.computing(), progress(graph.name, quiet=output.silent) as begin:
        with checkpoint.opened(checkpoint_parts(methods)) as file:
            read = graph.graph()
            require_labels(read, graph.label)
            if with_graph:
                require_whole(read, "a model with its graph")
            model.set_params(
                replicas=len(run.seeds_for(read, place)),
                callbacks=[one for one in (ProgressBar(begin), file, board) if one is not None],
            )
            model.fit(graph=read, split=split)
            final = model.refit() if all_labels and model.leaves_labels else model
        replaced = out.exists()
        final.save(out, with_graph=with_graph)
        if predictions is not None:
            write_table(predictions, predictions_of(final))
        report = saved_report(model, out, run, place, read, started=started, replaced=replaced)
    report |= {
        "trained_again_on": final.model_.train.shape[1] if all_labels else None,
        "predictions": None if predictions is None else str(predictions),
    }
    log_result(report, "accuracy", board, final.model_.training.to_json())
    if output.json:
        print_json(report)
        return
    if read.encoding is not None:
        print_notes(read.notes)
    print_report(report, [] if with_graph else graph.files)
