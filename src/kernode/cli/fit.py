"""``kernode fit``: fit a classifier on a graph, save it, print its report."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.files import WRITERS, check_apart, check_out, check_writable, replaced_file, write_table
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
from kernode.cli.settings_file import with_settings
from kernode.compute.machine import peak_at
from kernode.errors import KernodeError, kept
from kernode.progress import note

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say whether it fits and how long it takes, and end.", **RUN)
    ] = False,
    tensorboard: TensorBoardOption = None,
    checkpoint: CheckpointOptions,
    output: OutputOptions,
) -> None:
    """Train a kernel on a graph, print test accuracy, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]

    Beforehand: [bold]kernode fit synthetic:nodes=1000000 --dry-run[/]; memory is a lower bound, and time is
    predicted from two epochs of the training itself, where the graph is at hand.

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
    if dry_run:
        from kernode.cli.dry_run import dry_run as estimate

        estimate(graph, variant, changes, run, output)
        return
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
    _print_report(report, [] if with_graph else graph.files)


def saved_report(
    model: Any, out: Path, run: RunOptions, place: Place, graph: Graph, *, started: float, replaced: bool
) -> dict[str, Any]:
    """The report of a model that is saved already, so that an error or Ctrl-C here loses nothing."""
    try:
        with kept(lambda: f"The model is saved in {out}; its test figures were not computed."):
            report: dict[str, Any] = model.report().to_json()
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate" not in str(error):
            raise
        sentence = f"out of memory for the test figures. The model is saved in {out}."
        raise KernodeError(sentence, "too-large") from None
    peak = peak_at(place)
    return report | {
        "deterministic": run.deterministic,
        "seconds_total": round(time.perf_counter() - started, 3),
        "peak_memory_mb": None if peak is None else round(peak / 1e6, 1),
        "model": str(out),
        "replaced": replaced,  # a file of that name
        "notes": list(graph.notes),
        "repairs": [repair.to_json() for repair in graph.repairs],
    }


def log_result(report: dict[str, Any], figure: str, board: Any, training: dict[str, Any]) -> None:
    """Log the test figures, and write settings and figures to TensorBoard."""
    test = report.get("test", {})
    if test.get(f"{figure}_mean") is not None:
        sentence = f"test {figure} {test[f'{figure}_mean']:.2f} %"
        note("result", sentence, test=test, model=report["model"])
    if board is not None:
        settings = {name: report[name] for name in ("dataset", "variant", "replicas", "seed")} | training
        numbers = {name: float(one) for name, one in test.items() if type(one) in (int, float)}
        board.finish(
            {name: value for name, value in settings.items() if value is not None},
            {f"test/{name}": number for name, number in numbers.items()},
        )


def runs_and_seeds(report: dict[str, Any]) -> str:
    """How many runs, and from which seeds."""
    r, seed = report["replicas"], report["seed"]
    return f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"


def cpu_threads(report: dict[str, Any]) -> str:
    """Number of CPU threads: the same seed gives the same bits only for the same number."""
    if report["device"] != "cpu" or report["threads"] is None:
        return ""
    return f", {report['threads']} thread{'s' * (report['threads'] > 1)}"


def _print_report(report: dict[str, Any], files: list[str]) -> None:
    """Print figures, cost, and the next command, which needs some files."""
    sizes = " / ".join(f"{report['sizes'][part]:,}" for part in ("train", "validation", "test"))
    name, runs = escape(report["dataset"]), runs_and_seeds(report)
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    if report["chosen_by_validation"]:
        _print_choice(report)
    _print_figures(report)
    cost = f"{report['seconds_total']:.1f} s, {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    cost += cpu_threads(report)
    cost += f", {report['peak_memory_mb']:.0f} MB at most" if report["peak_memory_mb"] else ""
    _line("time and memory", cost)
    again = report["trained_again_on"]
    trained = f" (trained again on all {again:,} labelled nodes)" if again else ""
    _line("model", f"{escape(report['model'])}{trained}{replaced_file(report['replaced'])}")
    if report["predictions"]:
        _line("predictions", escape(report["predictions"]))
    else:
        words = ["kernode", "predict", report["model"], *files, "-o", "predictions.csv"]
        say(f"Next: [bold]{escape(shlex.join(words))}[/]")


def _line(title: str, text: str) -> None:
    say(f"  {title:<20} {text}")


def _print_choice(report: dict[str, Any]) -> None:
    """The method that was kept, and below it the others, each with its epochs."""
    by, epochs = "mAP" if report["select_by"] == "map" else "accuracy", report["epochs_tried"]
    after = {
        name: f"{figure:.2f} % after {epochs[name]}"
        for name, figure in report["chosen_by_validation"].items()
    }
    chosen = report["variant"]
    s = "s" * (epochs[chosen] != 1)
    _line("chosen by validation", f"{chosen}, {by} {after.pop(chosen)} epoch{s}")
    _line("", f"[dim]not: {', '.join(f'{name} {figure}' for name, figure in after.items())}[/]")
    test = report["test"]
    if report["replicas"] > 1 and test["accuracy_mean"] is not None and test["ensemble_accuracy"] is None:
        _line("", "[dim]chosen once for all runs; their validation and test nodes overlap[/]")


def _print_figures(report: dict[str, Any]) -> None:
    from kernode.tasks.classes.evaluation import FEW, all_runs, lines, percent  # here: it imports torch

    r, test, validation = report["replicas"], report["test"], report["validation"]
    if test["accuracy_mean"] is None:
        _line("test accuracy", "none: no node was kept for a test")
    else:
        for line in lines(test, "test accuracy"):
            say(f"  {escape(line)}")
    if validation["accuracy_mean"] is not None:
        _line("validation accuracy", f"{percent(validation, 'accuracy', r)}{all_runs(validation)}")
    if similarity := test["similarity"]:
        figures = {name: f"{similarity[name]:.2f}" for name in ("map", "precision_at_10")}
        if r > 1:
            figures = {name: f"{one} ± {similarity[f'{name}_std']:.2f}" for name, one in figures.items()}
        # Among few nodes hardly ten are of one class: even the best order would seem imprecise.
        among_ten = "" if test["nodes"] < FEW else f", {figures['precision_at_10']} % precision at 10"
        together = similarity.get("ensemble_map")
        all_runs_map = "" if together is None else f"   (all runs together: {together:.2f} % mAP)"
        _line("similar nodes", f"{figures['map']} % mAP{among_ten}{all_runs_map}")
    if report["hop_weights"]:
        shown = ["–" if weight is None else f"{weight:.2f}" for weight in report["hop_weights"]]
        empty = "; –: no such term" if "–" in shown else ""
        _line("hop weights ω", f"{'  '.join(shown)}   (at 0, 1, … hops; mean of the runs{empty})")
