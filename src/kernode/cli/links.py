"""``kernode links``: train a link predictor, score the held-out edges once, save."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import (
    DATA_HELP,
    JsonOption,
    QuietOption,
    check_writable,
    data_name,
    peak_memory_mb,
    print_json,
    progress,
    say,
    telling,
)
from kernode.cli.settings_file import with_settings


def links(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    method: Annotated[
        str | None,
        typer.Option(
            help="kernel (g_θ and dot product), kernel-tuned, gae or vgae (Kipf & Welling 2016).",
            show_default="kernel",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="File that `kernode tune` wrote; other options win over it.", show_default=False),
    ] = None,
    replicas: Annotated[int, typer.Option(help="Runs with seeds S, S+1, …, trained together.")] = 10,
    seed: Annotated[int, typer.Option(help="S, the first run's seed, and the edge split's.")] = 0,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="L2 penalty.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Rate after hidden layers.")] = None,
    input_dropout: Annotated[float | None, typer.Option(help="Rate on the features.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Model file.")] = None,
    precision: Annotated[int, typer.Option(help="32 or 64 bits.")] = 32,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Train a link predictor on 85 % of the edges; print AUC, AP, Hits@k and MRR on 10 %.

    The split is VGAE's: 5 % of the edges choose the epoch, 10 % test, each with as many non-edges.

    Example: [bold]kernode links cora --method kernel --replicas 10[/]
    """
    started = time.perf_counter()
    changes = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "dropout": dropout,
        "input_dropout": input_dropout,
    }
    method, changes = with_settings(settings, "method", method, "kernel", changes)
    out = out or Path(f"{data_name(data)}-links-{method}.safetensors")
    check_writable(out)

    from kernode.compute.place import Place, set_threads
    from kernode.data import load_graph
    from kernode.link_prediction.experiment import configure_links, run_links
    from kernode.training.settings import seeds_from

    configure_links(method, "", **changes)  # what is wrong with the options is said before a graph is fetched
    set_threads(threads)
    place, seeds = Place.of(precision, device), seeds_from(seed, replicas)
    with progress(f"{data_name(data)} {method}", quiet=quiet or json) as begin:
        graph = load_graph(data)
        model, report = run_links(
            graph, method, seeds, place,
            changes=changes,
            progress=lambda steps: telling(begin(steps), "validation_auc", "validation AUC"),
        )  # fmt: skip
    model.save(out)
    report |= {
        "seconds_total": round(time.perf_counter() - started, 3),
        "peak_memory_mb": peak_memory_mb(place.device.type),
        "model": str(out),
    }
    print_json(report) if json else _print_report(report)


def _print_report(report: dict[str, Any]) -> None:
    r, seed = report["replicas"], report["seed"]
    runs = f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"
    say(f"[bold]{escape(report['dataset'])}[/] · links by {report['method']} · {runs}")
    titles = {"auc": "AUC", "ap": "AP", "hits_at_50": "Hits@50", "mrr": "MRR"}
    for name, title in titles.items():
        spread = f" ± {report['test'][f'{name}_std']:.2f}" if r > 1 else ""
        say(f"  {'test ' + title:<20} [bold]{report['test'][f'{name}_mean']:.2f}{spread} %[/]")
    say(f"  {'time':<20} {report['seconds_total']:.1f} s")
    say(f"  {'model':<20} {escape(report['model'])}")
