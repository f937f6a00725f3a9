"""``kernode links``: train a link predictor, score the held-out edges once, save."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import (
    check_apart,
    check_writable,
    peak_memory_mb,
    print_json,
    progress,
    say,
    telling,
)
from kernode.cli.curves import check_board, result_on_board, shown_on_board
from kernode.cli.graph_source import notes_of, print_notes
from kernode.cli.options import (
    RUN,
    CheckpointOptions,
    CommonTrainingOptions,
    GraphOptions,
    OutputOptions,
    PartOptions,
    RunOptions,
    SettingsOption,
    TensorBoardOption,
    WithGraphOption,
)
from kernode.cli.reports.fit import runs_and_seeds, said_replaced, said_threads
from kernode.cli.saved_model import saved_already
from kernode.cli.settings_file import with_settings
from kernode.progress import note, timed

if TYPE_CHECKING:
    from kernode.graph import Graph


@dataclass(frozen=True)
class _Asked:
    """What to train on what, and where to; the options are looked through."""

    graph: GraphOptions
    variant: str
    changes: dict[str, Any]
    run: RunOptions
    checkpoint: CheckpointOptions
    out: Path
    all_edges: bool
    with_graph: bool
    tensorboard: Path | None


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
    changes = parts.changes() | training.changes()
    usual = "embedding" if all_edges else "auto"
    variant, changes = with_settings(settings, "links", variant, usual, changes)
    out = out or Path(f"{graph.name}-links-{variant}.safetensors")
    check_writable(out)
    check_apart((out, checkpoint.checkpoint), (graph.data, graph.nodes, settings))
    check_board(tensorboard)
    asked = _Asked(graph, variant, changes, run, checkpoint, out, all_edges, with_graph, tensorboard)
    read, report = _trained(asked, output.silent)
    report["seconds_total"] = round(time.perf_counter() - started, 3)
    if output.json:
        print_json(report)
        return
    if read.encoding is not None:
        print_notes(read)
    _print_report(report)
    words = ["kernode", "embed" if all_edges else "missing", report["model"]]
    words += [*([] if with_graph else graph.files), *(("-o", "vectors.parquet") if all_edges else ())]
    say(f"Next: [bold]{escape(shlex.join(words))}[/]")


def _trained(asked: _Asked, silent: bool) -> tuple[Graph, dict[str, Any]]:
    """Train, save, and judge what is saved: the graph, and the report but for the time."""
    with timed("imports"):
        from kernode.link_prediction.baselines import link_baselines
        from kernode.link_prediction.experiment import embed_links, run_link_variant
        from kernode.link_prediction.variants import configure_links
        from kernode.training.run import Run
        from kernode.version import versions

    # What is wrong with the options is said before a graph is read.
    graph, out, method = asked.graph, asked.out, configure_links(asked.variant, "", **asked.changes)
    place = asked.run.place()
    graph.require_memory({"": method}, place)
    with (
        asked.run.computing(),
        asked.checkpoint.opened() as file,
        progress(graph.name, quiet=silent) as begin,
        shown_on_board(asked.tensorboard),
    ):
        with timed("reading the graph"):
            read = graph.graph()
        told = lambda steps, name: telling(begin(steps, name), "validation_auc", "validation AUC")  # noqa: E731
        runs = Run(asked.run.seeds(), place, told, file)
        run_variant = embed_links if asked.all_edges else run_link_variant
        outcome = run_variant(read, asked.variant, runs, changes=asked.changes)
    replaced, report = out.exists(), outcome.report
    with timed("saving"):
        outcome.model.save(out, read if asked.with_graph else None)
    with saved_already(out), timed("baselines"):
        report["baselines"] = link_baselines(outcome.split)
    if report.get("test", {}).get("auc_mean") is not None:
        note("result", f"test AUC {report['test']['auc_mean']:.2f} %", test=report["test"], model=str(out))
    result_on_board(asked.tensorboard, report, outcome.model.training.to_json())
    return read, report | {
        "deterministic": asked.run.deterministic,
        "versions": versions(),
        "seconds_total": None,
        "peak_memory_mb": peak_memory_mb(place),
        "model": str(out),
        "replaced": replaced,  # whatever model had that name
        "notes": notes_of(read),
        "repairs": [repair.to_json() for repair in read.repairs],
    }


def _print_report(report: dict[str, Any]) -> None:
    from kernode.link_prediction.baselines import NAMES

    r = report["replicas"]
    say(f"[bold]{escape(report['dataset'])}[/] · links by {report['variant']} · {runs_and_seeds(report)}")
    titles = {"auc": "AUC", "ap": "AP", "hits_at_50": "Hits@50", "mrr": "MRR"}
    for name, title in titles.items() if "test" in report else ():
        if f"{name}_mean" not in report["test"]:
            say(f"  {'test ' + title:<20} none: there are too few non-edges to rank among")
            continue
        spread = f" ± {report['test'][f'{name}_std']:.2f}" if r > 1 else ""
        say(f"  {'test ' + title:<20} [bold]{report['test'][f'{name}_mean']:.2f}{spread} %[/]")
        for which, values in report["baselines"].items() if name == "auc" else ():
            ahead = values[name] - report["test"][f"{name}_mean"]
            colour, note = ("bold yellow", f": ahead by {ahead:.2f}") if ahead > 0 else ("dim", "")
            say(f"  {'':<20} [{colour}]{values[name]:.2f} % {NAMES[which]}{note}[/]")
    say(f"  {'time':<20} {report['seconds_total']:.1f} s{said_threads(report)}")
    say(f"  {'model':<20} {escape(report['model'])}{said_replaced(report)}")
