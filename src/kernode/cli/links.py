"""``kernode links``: fit a link predictor, save it, print its report."""

from __future__ import annotations

from typing import Annotated

from kernode.cli.console import print_json
from kernode.cli.fitting import FitGraphOptions, fit_and_save, parameters, print_report
from kernode.cli.option_groups import flag, option
from kernode.cli.options.run import FitOptions, OutputOptions


def links(
    *,
    graph: FitGraphOptions,
    variant: Annotated[
        str | None,
        option(
            "auto (a sum of kernels), fast (one kernel, while validation rises), kernel (g_θ and dot "
            "product), kernel-tuned, masked, masked-near, masked-standardized, masked-deep, smoothed, "
            "embedding (for vectors of nodes), gae or vgae (Kipf & Welling 2016).",
            show_default="auto, with --all-edges embedding",
        ),
    ] = None,
    run: FitOptions,
    all_edges: Annotated[
        bool, flag("Train on every edge, for vectors of nodes: none is left to test.", "--all-edges")
    ] = False,
    output: OutputOptions,
) -> None:
    """Train a link predictor, print test figures, save the model.

    It is trained on 85 % of the edges; AUC, AP, Hits@k and MRR are those of 10 %. 5 % of the edges choose
    epochs and weights, and all parts have as many non-edges (VGAE's split).

    Example: [bold]kernode links cora --variant gae --replicas 10[/]

    Vectors without any label: [bold]kernode links cora --all-edges[/], then `kernode embed`.
    """
    settings = parameters(graph, run, "links", variant, "embedding" if all_edges else "auto")

    from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
    from kernode.tasks.links.evaluation import lines

    model = (LinkKernelTransformer if all_edges else LinkPredictor)(**settings)
    usual = f"{graph.name}-links-{model.variant}.safetensors"
    report, _ = fit_and_save(model, graph, run, output, usual=usual)
    if output.json:
        print_json(report)
        return
    command, *more = ["embed", "-o", "vectors.parquet"] if all_edges else ["predict-links"]
    files = [] if run.with_graph else graph.words(of_model=True)
    following = [command, report["model"], *files, *more]
    print_report(report, f"links by {report['variant']}", lines(report), following)
