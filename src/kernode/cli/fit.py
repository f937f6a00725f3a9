"""``kernode fit``: fit a classifier or a regressor on a graph, save it, print its report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from kernode.cli.console import print_json
from kernode.cli.files import WRITERS, check_out
from kernode.cli.fitting import FitGraphOptions, fit_and_save, parameters, print_line, print_report
from kernode.cli.option_groups import flag, option
from kernode.cli.options.graph import SplitOption
from kernode.cli.options.run import FitOptions, OutputOptions


def fit(
    *,
    graph: FitGraphOptions,
    variant: Annotated[
        str | None, option("A method with its settings, by name; see below.", show_default="auto")
    ] = None,
    split: SplitOption = None,
    scoring: Annotated[
        str | None,
        option(
            "What validation chooses by: accuracy, map, or a scorer of scikit-learn: average_precision, r2, …"
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        option("How predict decides between two classes: f1, recall=0.8, or cost=1:10 (false alarm: miss)."),
    ] = None,
    run: FitOptions,
    all_labels: Annotated[
        bool, flag("After testing, train again on all labels; save that.", "--all-labels")
    ] = False,
    predictions: Annotated[
        Path | None, option("Also predict every node: FILE.csv, .parquet or .json.")
    ] = None,
    dry_run: Annotated[
        bool, flag("Say whether it fits and how long it takes, and end.", "--dry-run")
    ] = False,
    output: OutputOptions,
) -> None:
    """Train a classifier, or a regressor on a column of numbers; print test figures, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]

    Numbers, by a Gaussian process: [bold]kernode fit edges.csv --nodes nodes.csv --label price[/]

    Other settings: [bold]kernode fit cora --set map="GCN(hidden=(64,))" --set training.patience=50[/], or
    those that `kernode tune` found: [bold]--set cora-k3-accuracy.toml[/]
    """
    usual = f"{graph.name}{f'-{variant.lower()}' if variant else ''}.safetensors"
    check_out(predictions, extensions=WRITERS)

    from kernode.cli.numbers import means_numbers, regressor
    from kernode.estimators.classifier import NodeKernelClassifier

    own: dict[str, Any] = {"scoring": scoring, "threshold": threshold}
    of_classes = own | {"variant": None if (variant or "auto").lower() == "auto" else variant}
    of_numbers = partial(regressor, graph, run, of_classes)
    if means_numbers(graph):
        model: Any = of_numbers()
    else:
        model = NodeKernelClassifier(**parameters(graph, run, "fit", variant, "auto"), **own)
    if dry_run:
        from kernode.cli.dry_run import dry_run as estimate

        estimate(model, graph, run, output, split=split, of_numbers=of_numbers)
        return
    report, final = fit_and_save(
        model, graph, run, output,
        usual=usual, predictions=predictions, split=split, again=all_labels, of_numbers=of_numbers,
    )  # fmt: skip
    again = final.model_.train.shape[1] if all_labels else None
    report |= {"trained_again_on": again, "predictions": None if predictions is None else str(predictions)}
    if output.json:
        print_json(report)
        return
    sizes, title, lines, labels = report["sizes"], *_described(report)
    used = sizes["train"] + (sizes["validation"] if labels == "numbers" else 0)
    if not again and used < sizes["labelled"]:
        share = 100 * used / sizes["labelled"]
        shown = f"{share:.0f}" if share >= 1 else f"{share:.2g}"
        lines.append(f"{'trained on':<20} {shown} % of the {labels}; --all-labels trains on all of them")
    split_sizes = " / ".join(f"{sizes[part]:,}" for part in ("train", "validation", "test"))
    words = [] if run.with_graph else graph.words(of_model=True)
    following = [] if predictions else ["predict", report["model"], *words, "-o", "predictions.csv"]
    nodes = labels if labels == "numbers" else "labelled nodes"
    trained = f" (trained again on all {again:,} {nodes})" if again else ""
    where = f"split {report['split']} ({split_sizes})"
    print_report(report, f"{title} · {where}", lines, following, trained)
    if predictions:
        print_line("predictions", str(predictions))


def _described(report: dict[str, Any]) -> tuple[str, list[str], str]:
    """What was fitted, the figures as lines, and the word for what was learned from."""
    if report.get("task") != "numbers":
        from kernode.tasks.classes.evaluation import fit_lines

        return report["variant"], fit_lines(report), "labels"
    from kernode.tasks.numbers.evaluation import lines

    by = "a Gaussian process"
    if report["inducing"] is not None:
        by = f"an approximate Gaussian process, {report['inducing']:,} inducing nodes"
    figures = lines(report) if report["sizes"]["test"] else ["no test node"]
    return f"{report['target'] or 'numbers'} by {by}", figures, "numbers"
