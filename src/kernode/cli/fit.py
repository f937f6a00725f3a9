"""``kernode fit``: train, score the test nodes once, save."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import check_apart, check_writable, peak_memory_mb, print_json, progress, telling
from kernode.cli.curves import check_board, result_on_board, shown_on_board
from kernode.cli.graph_source import notes_of, print_notes, require_labels
from kernode.cli.options import (
    RUN,
    CheckpointOptions,
    GraphOptions,
    MethodOptions,
    OutputOptions,
    RunOptions,
    SettingsOption,
    SplitOption,
    TensorBoardOption,
    TrainingOptions,
    WithGraphOption,
)
from kernode.cli.predictions import check_suffix, write_predictions
from kernode.cli.reports.fit import print_report
from kernode.cli.saved_model import saved_already
from kernode.cli.settings_file import with_settings
from kernode.progress import note, timed

if TYPE_CHECKING:
    from kernode.cli.console import Begin
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.node_classification.experiment import Outcome
    from kernode.node_classification.model_on_graph import ModelOnGraph
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.run import Run


@dataclass(frozen=True)
class _Asked:
    """What to train on what, and where to; the options are looked through."""

    graph: GraphOptions
    variant: str
    changes: dict[str, Any]
    split: str | None
    run: RunOptions
    checkpoint: CheckpointOptions
    out: Path
    predictions: Path | None
    all_labels: bool
    with_graph: bool
    tensorboard: Path | None


@dataclass(frozen=True)
class _Fitted:
    """What has been trained, saved and judged."""

    graph: Graph
    outcome: Outcome
    on: ModelOnGraph
    replaced: bool
    peak_memory_mb: float | None


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
    started = time.perf_counter()
    named = f"-{variant.lower()}" if variant else ""
    variant, changes = with_settings(settings, "fit", variant, "auto", method.changes() | training.changes())
    out = out or Path(f"{graph.name}{named}.safetensors")
    for path in (out, predictions):
        check_writable(path)
    check_suffix(predictions)
    check_apart((out, predictions, checkpoint.checkpoint), (graph.data, graph.nodes, settings, split))
    check_board(tensorboard)
    asked = _Asked(
        graph, variant, changes, split, run, checkpoint, out, predictions, all_labels, with_graph, tensorboard
    )
    fitted = _fitted(asked, output.silent)
    report = _report(asked, fitted, started)
    if (test := report["test"]).get("accuracy_mean") is not None:  # else no node was left to test
        note("result", f"test accuracy {test['accuracy_mean']:.2f} %", test=test, model=str(out))
    result_on_board(tensorboard, report, fitted.on.model.training.to_json())
    if output.json:
        print_json(report)
        return
    if fitted.graph.encoding is not None:
        print_notes(fitted.graph)
    print_report(report, [] if with_graph else graph.files)


def _fitted(asked: _Asked, silent: bool) -> _Fitted:
    """Train, save, and judge what is saved."""
    with timed("imports"):
        from kernode.node_classification.choosing import checkpoint_parts
        from kernode.node_classification.experiment import fit_all_labels, run_variant
        from kernode.node_classification.report import judge_outcome
        from kernode.node_classification.variants import candidates

    # What is wrong with the options is said before a graph is read.
    methods, graph = candidates(asked.variant, **asked.changes), asked.graph
    place = asked.run.place()
    asked.run.seeds()
    graph.require_memory(methods, place)
    with asked.run.computing(), progress(graph.name, quiet=silent) as begin:
        with (
            asked.checkpoint.opened(checkpoint_parts(methods)) as file,
            shown_on_board(asked.tensorboard),
        ):
            read = _read(asked)
            runs = _runs(asked, read, place, begin, file)
            outcome = run_variant(read, asked.variant, runs, split=asked.split, changes=asked.changes)
            on = outcome.on
            some_are_left = outcome.sizes["train"] < outcome.sizes["labelled"]
            if asked.all_labels and some_are_left:
                on = fit_all_labels(read, on.model, runs)
        replaced = asked.out.exists()
        with timed("saving"):
            on.model.save(asked.out, read if asked.with_graph else None)
            if asked.predictions is not None:
                write_predictions(asked.predictions, on)
        with saved_already(asked.out), timed("evaluation"):
            outcome.report["test"] |= judge_outcome(outcome)
    return _Fitted(read, outcome, on, replaced, peak_memory_mb(place))


def _read(asked: _Asked) -> Graph:
    """The graph, if it is one that can be learned from."""
    from kernode.graph.share import require_whole

    with timed("reading the graph"):
        read = asked.graph.graph()
    require_labels(read, asked.graph.label)
    if asked.with_graph:
        require_whole(read, "--with-graph")
    return read


def _runs(asked: _Asked, read: Graph, place: Place, begin: Begin, file: Checkpoint | None) -> Run:
    """As many as the graph can afford, and who is told of them."""
    from kernode.data.sizes import GraphSizes
    from kernode.graph.share import ranks_of
    from kernode.training.run import Run

    told = lambda steps, name: telling(begin(steps, name), "validation_accuracy", "validation")  # noqa: E731
    seeds = ranks_of(read).told_value(asked.run.seeds(GraphSizes.of(read), place))
    return Run(seeds, place, told, file)


def _report(asked: _Asked, fitted: _Fitted, started: float) -> dict[str, Any]:
    from kernode.version import versions

    outcome, read = fitted.outcome, fitted.graph
    return outcome.report | {
        "sizes": outcome.sizes,
        "deterministic": asked.run.deterministic,
        "versions": versions(),
        "seconds_total": round(time.perf_counter() - started, 3),
        "seconds_per_epoch": round(outcome.seconds_per_epoch, 5),
        "peak_memory_mb": fitted.peak_memory_mb,
        "model": str(asked.out),
        "replaced": fitted.replaced,  # whatever model had that name
        "trained_again_on": fitted.on.model.train.shape[1] if asked.all_labels else None,
        "predictions": None if asked.predictions is None else str(asked.predictions),
        "notes": notes_of(read),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
