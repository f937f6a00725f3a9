"""``kernode fit``: fit a classifier on a graph, save it, print its report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.files import WRITERS, check_apart, check_out, check_writable, replaced_file, write_table
from kernode.cli.options.graph import GraphOptions, SplitOption, require_labels
from kernode.cli.options.run import FitOptions, FitSettings, OutputOptions
from kernode.cli.options.settings import METHOD, board_of
from kernode.cli.predict import predictions as predictions_of
from kernode.cli.settings_file import with_settings
from kernode.compute.machine import peak_at
from kernode.errors import KernodeError, kept
from kernode.progress import note

if TYPE_CHECKING:
    from kernode.graph import Graph


@dataclass(frozen=True, kw_only=True)
class FitGraphOptions(GraphOptions):
    """A graph to fit on, and all settings of a fit."""

    takes: ClassVar[dict[str, Any]] = GraphOptions.takes | METHOD | {"run": FitSettings}


def fit(
    *,
    graph: FitGraphOptions,
    variant: Annotated[
        str | None,
        typer.Option(help="A method with its settings, by name; see below.", show_default="auto"),
    ] = None,
    split: SplitOption = None,
    run: FitOptions,
    all_labels: Annotated[
        bool, typer.Option("--all-labels", help="After testing, train again on all labels; save that.")
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Also predict every node: FILE.csv, .parquet or .json.", show_default=False),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say whether it fits and how long it takes, and end.")
    ] = False,
    output: OutputOptions,
) -> None:
    """Train a kernel on a graph, print test accuracy, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]

    Other settings: [bold]kernode fit cora --set map="GCN(hidden=(64,))" --set training.patience=50[/], or
    those that `kernode tune` found: [bold]--set cora-k3-accuracy.toml[/]
    """
    started, out = time.perf_counter(), f"{graph.name}{f'-{variant.lower()}' if variant else ''}.safetensors"
    changes = graph.method_changes(run.epochs)
    variant, changes = with_settings(graph.settings_file, "fit", variant, "auto", changes)
    check_out(predictions, WRITERS)

    from kernode.estimators.classifier import NodeKernelClassifier
    from kernode.graph.share import ranks_of
    from kernode.io.sizes import GraphSizes
    from kernode.models.changes import Changes

    settings: FitSettings = graph.part("run")
    parameters = Changes.of(**changes, precision=settings.precision).parameters()
    model = NodeKernelClassifier(variant, **parameters, random_state=run.seed, device=settings.device)
    if dry_run:
        from kernode.cli.dry_run import dry_run as estimate

        model.methods()
        estimate(graph, variant, changes, run, output)
        return

    def arguments(read: Graph) -> dict[str, Any]:
        require_labels(read, graph.label)
        seeds = ranks_of(read).told_value(run.seeds(GraphSizes.of(read), settings.place()))
        model.set_params(replicas=len(seeds))
        return {"graph": read, "split": split}

    report, final = fit_and_save(
        model, arguments, graph, run, output, started,
        usual=Path(out), predictions=predictions, split=split, again=all_labels,
    )  # fmt: skip
    report |= {
        "trained_again_on": final.model_.train.shape[1] if all_labels else None,
        "predictions": None if predictions is None else str(predictions),
    }
    if output.json:
        print_json(report)
    else:
        _print_report(report, [] if run.with_graph else graph.model_words)


def fit_and_save(
    model: Any, arguments: Callable[[Graph], dict[str, Any]], graph: FitGraphOptions, run: FitOptions,
    output: OutputOptions, started: float, *, usual: Path, predictions: Path | None = None,
    split: str | None = None, again: bool = False,
) -> tuple[dict[str, Any], Any]:  # fmt: skip
    """Fit an estimator on the graph of the options, save it, log its report.

    Return the report and the model that is saved. ``arguments``: those of ``fit``, for the graph. ``usual``:
    the model's file unless --out says another. ``again``: train on all labels after the test.
    """
    out, settings = run.out or usual, graph.part("run")
    check_writable(out)
    check_apart((out, predictions, run.checkpoint), (*graph.inputs, graph.settings_file, split))
    from kernode.cli.progress_bar import InputNotes, ProgressBar
    from kernode.graph.share import require_whole
    from kernode.models.fit import checkpoint_parts

    board, place, methods = board_of(settings.tensorboard), settings.place(), model.methods()
    run.seeds()  # errors in the options come before a graph is read
    graph.require_memory(methods, place)
    with settings.computing(), progress(graph.name, quiet=output.silent) as begin:
        with run.opened(settings.checkpoint_every, checkpoint_parts(methods)) as file:
            read = graph.graph()
            if run.with_graph:
                require_whole(read, "a model with its graph")
            notes = InputNotes(read, quiet=output.silent)
            callbacks = [one for one in (notes, ProgressBar(begin), file, board) if one is not None]
            model.set_params(callbacks=callbacks).fit(**arguments(read))
            final = model.refit() if again and model.leaves_labels else model
            notes.tell()
        replaced = out.exists()
        final.save(out, with_graph=run.with_graph)
        if predictions is not None:
            write_table(predictions, predictions_of(final))
        try:  # an error or Ctrl-C loses nothing
            with kept(lambda: f"The model is saved in {out}; its test figures were not computed."):
                report: dict[str, Any] = model.report().to_json()
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "allocate" not in str(error):
                raise
            sentence = f"out of memory for the test figures. The model is saved in {out}."
            raise KernodeError(sentence, "too-large") from None
    peak = peak_at(place)
    report |= {
        "deterministic": settings.deterministic,
        "seconds_total": round(time.perf_counter() - started, 3),
        "peak_memory_mb": None if peak is None else round(peak / 1e6, 1),
        "model": str(out),
        "replaced": replaced,  # a file of that name
        "notes": list(read.notes),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
    test = {name: float(one) for name, one in report.get("test", {}).items() if type(one) in (int, float)}
    if test:
        figure = "auc" if "auc_mean" in test else "accuracy"
        note("result", f"test {figure} {test[f'{figure}_mean']:.2f} %", test=report["test"], model=str(out))
    if board is not None:
        shown = {name: report[name] for name in ("dataset", "variant", "replicas", "seed")}
        shown |= final.model_.training.to_json()
        figures = {f"test/{name}": number for name, number in test.items()}
        board.finish({name: value for name, value in shown.items() if value is not None}, figures)
    return report, final


def runs_and_seeds(report: dict[str, Any]) -> str:
    """How many runs, and from which seeds."""
    r, seed = report["replicas"], report["seed"]
    return f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"


def print_line(title: str, text: str) -> None:
    """Print a line of a report."""
    say(f"  {title:<20} {text}")


def print_end(report: dict[str, Any], following: list[str], more: str = "") -> None:
    """Print time, memory, the model's file, and the next command, if there is one."""
    cost = f"{report['seconds_total']:.1f} s"
    if "seconds_per_epoch" in report:
        cost += f", {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    if report["device"] == "cpu" and report["threads"] is not None:  # the same bits need the same number
        cost += f", {report['threads']} thread{'s' * (report['threads'] > 1)}"
    cost += f", {report['peak_memory_mb']:.0f} MB at most" if report["peak_memory_mb"] else ""
    print_line("time and memory", cost)
    print_line("model", f"{escape(report['model'])}{more}{replaced_file(report['replaced'])}")
    if following:
        say(f"Next: [bold]{escape(shlex.join(['kernode', *following]))}[/]")


def _print_report(report: dict[str, Any], files: list[str]) -> None:
    """Print figures, cost, and the next command, which needs some files."""
    sizes = " / ".join(f"{report['sizes'][part]:,}" for part in ("train", "validation", "test"))
    name, runs = escape(report["dataset"]), runs_and_seeds(report)
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    if report["chosen_by_validation"]:
        _print_choice(report)
    _print_figures(report)
    again = report["trained_again_on"]
    trained = f" (trained again on all {again:,} labelled nodes)" if again else ""
    predict = ["predict", report["model"], *files, "-o", "predictions.csv"]
    print_end(report, [] if report["predictions"] else predict, trained)
    if report["predictions"]:
        print_line("predictions", escape(report["predictions"]))


def _print_choice(report: dict[str, Any]) -> None:
    """The method that was kept, and below it the others, each with its epochs."""
    by, epochs = "mAP" if report["select_by"] == "map" else "accuracy", report["epochs_tried"]
    after = {
        name: f"{figure:.2f} % after {epochs[name]}"
        for name, figure in report["chosen_by_validation"].items()
    }
    chosen = report["variant"]
    s = "s" * (epochs[chosen] != 1)
    print_line("chosen by validation", f"{chosen}, {by} {after.pop(chosen)} epoch{s}")
    print_line("", f"[dim]not: {', '.join(f'{name} {figure}' for name, figure in after.items())}[/]")
    test = report["test"]
    if report["replicas"] > 1 and test["accuracy_mean"] is not None and test["ensemble_accuracy"] is None:
        print_line("", "[dim]chosen once for all runs; their validation and test nodes overlap[/]")


def _print_figures(report: dict[str, Any]) -> None:
    from kernode.tasks.classes.evaluation import FEW, all_runs, lines, percent  # here: it imports torch

    r, test, validation = report["replicas"], report["test"], report["validation"]
    if test["accuracy_mean"] is None:
        print_line("test accuracy", "none: no node was kept for a test")
    else:
        for line in lines(test, "test accuracy"):
            say(f"  {escape(line)}")
    if validation["accuracy_mean"] is not None:
        print_line("validation accuracy", f"{percent(validation, 'accuracy', r)}{all_runs(validation)}")
    if similarity := test["similarity"]:
        spread = f" ± {similarity['map_std']:.2f}" if r > 1 else ""
        # Among few nodes hardly ten are of one class: even the best order would seem imprecise.
        ten = "" if test["nodes"] < FEW else f", {similarity['precision_at_10']:.2f} % precision at 10"
        print_line("similar nodes", f"{similarity['map']:.2f}{spread} % mAP{ten}")
    if report["hop_weights"]:
        shown = ["–" if weight is None else f"{weight:.2f}" for weight in report["hop_weights"]]
        empty = "; –: no such term" if "–" in shown else ""
        print_line("hop weights ω", f"{'  '.join(shown)}   (at 0, 1, … hops; mean of the runs{empty})")
