"""What ``kernode fit`` and ``kernode links`` share: fit an estimator, save it, print its report."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.markup import escape

from kernode.cli.console import progress, say
from kernode.cli.files import check_out, write_table
from kernode.cli.options.graph import GraphOptions, show_notes
from kernode.cli.options.run import FitOptions, FitSettings, OutputOptions
from kernode.cli.options.settings import METHOD
from kernode.cli.settings_file import with_settings
from kernode.compute.machine import peak_at
from kernode.errors import KernodeError, kept
from kernode.progress import log_event, progress_listener


@dataclass(frozen=True, kw_only=True)
class FitGraphOptions(GraphOptions):
    """A graph to fit on, and all settings of a fit."""

    takes: ClassVar[dict[str, Any]] = GraphOptions.takes | METHOD | {"run": FitSettings}


def parameters(
    graph: FitGraphOptions, run: FitOptions, command: str, variant: str | None, usual: str
) -> dict[str, Any]:
    """Parameters of the estimator that the options mean: of a settings file, of --set, and of the others."""
    changes = graph.method_changes(run.epochs)
    variant, changes = with_settings(graph.settings_file, command, variant, usual, changes)
    from kernode.models.overrides import by_part

    settings = graph.part("run")
    about = {"variant": variant, "random_state": run.seed, "device": settings.device}
    limit = {"time_limit": run.time_limit}
    return by_part(**changes, **limit, precision=settings.precision) | about


def fit_and_save(
    model: Any, graph: FitGraphOptions, run: FitOptions, output: OutputOptions, *, usual: str,
    predictions: Path | None = None, split: str | None = None, again: bool = False,
    of_numbers: Callable[[str], Any] | None = None,
) -> tuple[dict[str, Any], Any]:  # fmt: skip
    """Fit an estimator on the graph of the options, save it, log its report.

    Return the report and the model that is saved. ``usual``: the model's file unless --out says another.
    ``again``: train on all labels after the test. ``of_numbers`` makes the regressor, from the column's name,
    where the graph holds numbers.
    """
    started, out, settings = time.perf_counter(), run.out or Path(usual), graph.part("run")
    check_out(out, predictions, run.checkpoint, read=(*graph.inputs, graph.settings_file, split))
    from kernode.cli.numbers import number_report
    from kernode.cli.progress_bar import ProgressBar
    from kernode.estimators.nodes import NodeKernelEstimator
    from kernode.estimators.regressor import NodeKernelRegressor
    from kernode.graph.share import ranks_of, require_whole
    from kernode.io.sizes import GraphSizes
    from kernode.models.fit import checkpoint_parts
    from kernode.tasks.classes.variants import is_sum

    callbacks, options = settings.callbacks(), settings.options()
    methods = {} if isinstance(model, NodeKernelRegressor) else model.methods()
    run.seeds()  # errors in the options come before a graph is read
    graph.require_memory(methods, options)
    with settings.computing(), progress(graph.name, quiet=output.silent) as begin:
        with run.checkpoints(settings.checkpoint_every, checkpoint_parts(methods)) as files:
            read = graph.graph()
            if run.with_graph:
                require_whole(read, "a model with its graph")
            bar = ProgressBar(begin, lambda: show_notes(read, quiet=output.silent))
            if of_numbers is not None and read.holds_numbers:
                model = of_numbers(read.target_name)
            if isinstance(model, NodeKernelRegressor):
                graph.require_numbers(read)
                with progress_listener(bar.on_step), kept(lambda: "Nothing was saved."):
                    model.fit(graph=read, split=split)
                    final = model.refit() if again and model.has_unused_labels else model
            else:
                seeds, given = run.seeds(of_sum=len(methods) > 1), dict[str, Any](X=read)
                if isinstance(model, NodeKernelEstimator):
                    graph.require_labels(read)
                    seeds = run.seeds(GraphSizes.of(read), options, of_sum=is_sum(model.variant))
                    seeds = ranks_of(read).broadcast_object(seeds)
                    given = {"graph": read, "split": split}
                model.set_params(replicas=len(seeds), callbacks=[bar, *files, *callbacks]).fit(**given)
                final = model.refit() if again and model.has_unused_labels else model
            bar.show_notes()
        replaced = out.exists()
        final.save(out, with_graph=run.with_graph)
        if predictions is not None:
            from kernode.cli.predict import predictions as predictions_of

            write_table(predictions, predictions_of(final))
        try:  # an error or Ctrl-C loses nothing
            with kept(lambda: f"The model is saved in {out}; its test figures were not computed."):
                is_regressor = isinstance(model, NodeKernelRegressor)
                report: dict[str, Any] = number_report(model) if is_regressor else model.report().to_json()
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and "allocate" not in str(error):
                raise
            sentence = f"out of memory for the test figures. The model is saved in {out}."
            raise KernodeError(sentence, "too-large") from None
    peak = peak_at(final._on().options)
    report |= {
        "deterministic": settings.deterministic,
        "seconds_total": round(time.perf_counter() - started, 3),
        "peak_memory_mb": None if peak is None else round(peak / 1e6, 1),
        "model": str(out),
        "replaced": replaced,  # a file of that name
        "notes": list(read.notes),
        "repairs": [repair.to_json() for repair in read.repairs],
    }
    for figure, shown in (("accuracy_mean", "{:.2f} %"), ("auc_mean", "{:.2f} %"), ("r2", "{:.4f}")):
        if (mean := report.get("test", {}).get(figure)) is not None:
            said = f"test {figure.removesuffix('_mean')} {shown.format(mean)}"
            log_event("result", said, test=report["test"], model=str(out))
    return report, final


def print_report(
    report: dict[str, Any], title: str, lines: list[str], following: list[str], trained_again: str = ""
) -> None:
    """Print figures, time, memory, the model's file, and the next command, if there is one."""
    r, seed = report["replicas"], report["seed"]
    runs = f"{r} replicas, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 replica, seed {seed}"
    if report.get("task") == "numbers" and r == 1:
        runs = f"seed {seed}"
    say(f"[bold]{escape(report['dataset'])}[/] · {escape(title)} · {runs}")
    for line in lines:
        say(f"  {escape(line)}")
    cost = f"{report['seconds_total']:.1f} s"
    if "seconds_per_epoch" in report:
        cost += f", {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    if report["device"] == "cpu" and report["threads"] is not None:  # the same bits need the same number
        cost += f", {report['threads']} thread{'s' * (report['threads'] > 1)}"
    cost += f", {report['peak_memory_mb']:.0f} MB at most" if report["peak_memory_mb"] else ""
    print_line("time and memory", cost)
    replaced = ", which replaced a file of that name" * report["replaced"]
    print_line("model", f"{report['model']}{trained_again}{replaced}")
    if following:
        say(f"Next: [bold]{escape(shlex.join(['kernode', *following]))}[/]")


def print_line(title: str, text: str) -> None:
    """Print a line of a report."""
    say(f"  {title:<20} {escape(text)}")
