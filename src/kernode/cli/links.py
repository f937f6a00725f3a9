"""``kernode links``: fit a link predictor, save it, print its report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from rich.markup import escape

from kernode.cli.console import print_json, say
from kernode.cli.fit import FitGraphOptions, fit_and_save, print_end, runs_and_seeds
from kernode.cli.option_groups import option
from kernode.cli.options.run import FitOptions, OutputOptions
from kernode.cli.settings_file import with_settings


def links(
    *,
    graph: FitGraphOptions,
    variant: Annotated[
        str | None,
        option(
            "auto (kernel while validation rises), kernel (g_θ and dot product), kernel-tuned, "
            "embedding (for vectors of nodes), gae or vgae (Kipf & Welling 2016).",
            show_default="auto, with --all-edges embedding",
        ),
    ] = None,
    run: FitOptions,
    all_edges: Annotated[
        bool, option("Train on every edge, for vectors of nodes: none is left to test.", "--all-edges")
    ] = False,
    output: OutputOptions,
) -> None:
    """Train a link predictor, print test figures, save the model.

    It is trained on 85 % of the edges; AUC, AP, Hits@k and MRR are those of 10 %. 5 % of the edges choose
    the epoch, and all parts have as many non-edges (VGAE's split).

    Example: [bold]kernode links cora --variant gae --replicas 10[/]

    Vectors without any label: [bold]kernode links cora --all-edges[/], then `kernode embed`.
    """
    started = time.perf_counter()
    usual = "embedding" if all_edges else "auto"
    changes = graph.method_changes(run.epochs)
    variant, changes = with_settings(graph.settings_file, "links", variant, usual, changes)

    from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
    from kernode.models.changes import by_part
    from kernode.tasks.links.evaluation import lines

    parameters = by_part(**changes, precision=graph.part("run").precision)
    parameters |= {"random_state": run.seed, "replicas": len(run.seeds()), "device": graph.part("run").device}
    model = (LinkKernelTransformer if all_edges else LinkPredictor)(variant, **parameters)
    out = Path(f"{graph.name}-links-{variant}.safetensors")
    report, _ = fit_and_save(model, lambda read: {"X": read}, graph, run, output, started, usual=out)
    if output.json:
        print_json(report)
        return
    say(f"[bold]{escape(report['dataset'])}[/] · links by {report['variant']} · {runs_and_seeds(report)}")
    for line in lines(report) if "test" in report else ():
        say(f"  {'[bold yellow]' if ': ahead by' in line else ''}{line}")
    files = [] if run.with_graph else graph.model_words
    words = ["embed", "-o", "vectors.parquet"] if all_edges else ["predict-links"]
    print_end(report, [words[0], report["model"], *files, *words[1:]])
