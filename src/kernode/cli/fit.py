"""``kernode fit``: fit a classifier on a graph, save it, print its report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.files import WRITERS, check_apart, check_out, check_writable, replaced_file, write_table
from kernode.cli.option_groups import option
from kernode.cli.options.graph import GraphOptions, SplitOption, require_labels, tell_notes
from kernode.cli.options.run import FitOptions, FitSettings, OutputOptions
from kernode.cli.options.settings import METHOD, board_of
from kernode.cli.predict import predictions as predictions_of
from kernode.cli.settings_file import with_settings
from kernode.compute.machine import peak_at
from kernode.errors import KernodeError, kept
from kernode.progress import log_event

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
        str | None, option("A method with its settings, by name; see below.", show_default="auto")
    ] = None,
    split: SplitOption = None,
    run: FitOptions,
    all_labels: Annotated[
        bool, option("After testing, train again on all labels; save that.", "--all-labels")
    ] = False,
    predictions: Annotated[
        Path | None, option("Also predict every node: FILE.csv, .parquet or .json.")
    ] = None,
    dry_run: Annotated[
        bool, option("Say whether it fits and how long it takes, and end.", "--dry-run")
    ] = False,
    output: OutputOptions,
) -> None:
    """Train a classifier, print test accuracy, save the model.

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
    from kernode.models.changes import by_part

    settings: FitSettings = graph.part("run")
    parameters = by_part(**changes, precision=settings.precision)
    model = NodeKernelClassifier(variant, **parameters, random_state=run.seed, device=settings.device)
    if dry_run:
        from kernode.cli.dry_run import dry_run as estimate

        model.methods()
        estimate(graph, variant, changes, run, output)
        return

    def arguments(read: Graph) -> dict[str, Any]:
        require_labels(read, graph.label)
        seeds = ranks_of(read).broadcast_object(run.seeds(GraphSizes.of(read), settings.place()))
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
    from kernode.cli.progress_bar import ProgressBar
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
            bar = ProgressBar(begin, lambda: tell_notes(read, quiet=output.silent))
            callbacks = [one for one in (bar, file, board) if one is not None]
            model.set_params(callbacks=callbacks).fit(**arguments(read))
            final = model.refit() if again and model.has_unused_labels else model
            bar.tell_notes()
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
        log_event(
            "result", f"test {figure} {test[f'{figure}_mean']:.2f} %", test=report["test"], model=str(out)
        )
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
    from kernode.tasks.classes.evaluation import fit_lines  # here: it imports torch

    sizes = " / ".join(f"{report['sizes'][part]:,}" for part in ("train", "validation", "test"))
    name, runs = escape(report["dataset"]), runs_and_seeds(report)
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    for line in fit_lines(report):
        say(f"  {escape(line)}")
    again, sizes_of = report["trained_again_on"], report["sizes"]
    if not again and sizes_of["train"] < sizes_of["labelled"]:
        share = 100 * sizes_of["train"] / sizes_of["labelled"]
        shown = f"{share:.0f}" if share >= 1 else f"{share:.2g}"
        print_line("trained on", f"{shown} % of the labels; --all-labels trains on all of them")
    trained = f" (trained again on all {again:,} labelled nodes)" if again else ""
    predict = ["predict", report["model"], *files, "-o", "predictions.csv"]
    print_end(report, [] if report["predictions"] else predict, trained)
    if report["predictions"]:
        print_line("predictions", escape(report["predictions"]))
