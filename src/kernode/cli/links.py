"""``kernode links``: fit a link predictor, save it, print its report."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.files import check_apart, check_writable, replaced_file
from kernode.cli.fit import cpu_threads, log_result, runs_and_seeds, saved_report
from kernode.cli.options.graph import GraphOptions, print_notes
from kernode.cli.options.method import CommonTrainingOptions, PartOptions
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
from kernode.cli.settings_file import with_settings


def links(
    *,
    graph: GraphOptions,
    variant: Annotated[
        str | None,
        typer.Option(
            help="auto (kernel while validation rises), kernel (g_θ and dot product), kernel-tuned, "
            "embedding (for vectors of nodes), gae or vgae (Kipf & Welling 2016).",
            show_default="auto, with --all-edges embedding",
        ),
    ] = None,
    settings: SettingsOption = None,
    run: RunOptions,
    parts: PartOptions,
    training: CommonTrainingOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file.", show_default="DATA-links-VARIANT.safetensors", **RUN),
    ] = None,
    all_edges: Annotated[
        bool,
        typer.Option(
            "--all-edges", help="Train on every edge, for vectors of nodes: none is left to test.", **RUN
        ),
    ] = False,
    with_graph: WithGraphOption = False,
    tensorboard: TensorBoardOption = None,
    checkpoint: CheckpointOptions,
    output: OutputOptions,
) -> None:
    """Train a link predictor on 85 % of the edges; print AUC, AP, Hits@k and MRR on 10 %.

    The split is VGAE's: 5 % of the edges choose the epoch, 10 % test, each with as many non-edges. The
    first run's seed is the split's, too.

    Example: [bold]kernode links cora --variant gae --replicas 10[/]

    Vectors without any label: [bold]kernode links cora --all-edges[/], then `kernode embed`.

    Your own tables: [bold]kernode links edges.csv --nodes nodes.parquet[/]
    """
    started = time.perf_counter()
    usual = "embedding" if all_edges else "auto"
    variant, changes = with_settings(settings, "links", variant, usual, parts.changes() | training.changes())
    out = out or Path(f"{graph.name}-links-{variant}.safetensors")
    check_writable(out)
    check_apart((out, checkpoint.checkpoint), (graph.data, graph.nodes, settings))

    from kernode.cli.progress_bar import ProgressBar
    from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
    from kernode.models.changes import Changes
    from kernode.tasks.links.evaluation import lines

    board, place = check_board(tensorboard), run.place()
    parameters = Changes.of(**changes, precision=run.precision).parameters()
    estimator = LinkKernelTransformer if all_edges else LinkPredictor
    model = estimator(
        variant, **parameters, random_state=run.seed, replicas=len(run.seeds()), device=run.device
    )
    graph.require_memory(model.methods(), place)  # errors in the options come before a graph is read
    with (
        run.computing(),
        checkpoint.opened() as file,
        progress(graph.name, quiet=output.silent) as begin,
    ):
        read = graph.graph()
        model.set_params(callbacks=[one for one in (ProgressBar(begin), file, board) if one is not None])
        model.fit(read)
    replaced = out.exists()
    model.save(out, with_graph=with_graph)
    report = saved_report(model, out, run, place, read, started=started, replaced=replaced)
    log_result(report, "auc", board, model.model_.training.to_json())
    if output.json:
        print_json(report)
        return
    if read.encoding is not None:
        print_notes(read.notes)
    say(f"[bold]{escape(report['dataset'])}[/] · links by {report['variant']} · {runs_and_seeds(report)}")
    for line in lines(report) if "test" in report else ():
        say(f"  {'[bold yellow]' if ': ahead by' in line else ''}{line}")
    say(f"  {'time':<20} {report['seconds_total']:.1f} s{cpu_threads(report)}")
    say(f"  {'model':<20} {escape(report['model'])}{replaced_file(report['replaced'])}")
    words = ["kernode", "embed" if all_edges else "missing", report["model"]]
    words += [*([] if with_graph else graph.files), *(("-o", "vectors.parquet") if all_edges else ())]
    say(f"Next: [bold]{escape(shlex.join(words))}[/]")
