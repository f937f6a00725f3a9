"""``kernode estimate``: whether a run fits and how long it takes, before it is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.options.graph import GraphOptions
from kernode.cli.options.method import MethodOptions, TrainingOptions
from kernode.cli.options.run import OutputOptions, RunOptions
from kernode.compute.machine import readable

if TYPE_CHECKING:
    from kernode.search.estimate import Estimate


def estimate(
    *,
    graph: GraphOptions,
    variant: Annotated[
        str, typer.Option(help="As of fit; of auto, the default, all that it would try.")
    ] = "auto",
    run: RunOptions,
    method: MethodOptions,
    training: TrainingOptions,
    measure: Annotated[
        bool | None,
        typer.Option(
            "--measure/--no-measure",
            help="Train for two epochs to predict the time; for that a graph is made or fetched.",
            show_default="where the graph is at hand",
        ),
    ] = None,
    output: OutputOptions,
) -> None:
    """Say whether what `kernode fit` would do fits, and how long it takes.

    Memory is a lower bound. Time is predicted from two epochs of the training itself, where the graph is at
    hand: a synthetic graph is not made for that, and a data set is not fetched, unless --measure says so.

    Example: [bold]kernode estimate synthetic:nodes=1000000 --replicas 1[/]
    """
    changes = method.changes() | training.changes()

    from kernode.cli.progress_bar import ProgressBar
    from kernode.io.sizes import GraphSizes, look_up
    from kernode.models.halving import rungs
    from kernode.search.estimate import estimate as estimate_run
    from kernode.tasks.classes.configure import candidates
    from kernode.tasks.classes.variants import WORDS
    from kernode.training.run import Run

    candidates(variant, **changes)  # what is wrong with the options is said before a file is read
    place = run.place()
    run.seeds()
    with run.computing(), progress(graph.name, quiet=output.silent) as begin:
        own_tables = len(graph.columns()) > 0
        sizes = GraphSizes.of(graph.graph()) if own_tables else look_up(graph.data)
        one_run = Run(run.seeds(sizes, place), place, (ProgressBar(begin),))
        tried = candidates(variant, sizes.known_as or (WORDS if sizes.filled is not None else ""), **changes)
        found = {
            name: estimate_run(sizes, *settings, one_run, measured=measure is not False)
            for name, settings in tried.items()
        }
        if measure and sizes.graph is None and not any(one.fits is False for one in found.values()):
            sizes = GraphSizes.of(graph.graph())
            found = {name: estimate_run(sizes, *settings, one_run) for name, settings in tried.items()}
    if output.json:
        first, *others = ({"variant": name, **one.to_json()} for name, one in found.items())
        print_json(first | ({"then": others} if others else {}))
        return
    for name, one in found.items():
        _print(one, name)
    if len(found) > 1:
        after = ", ".join(f"{left} after {epoch}" for epoch, left in rungs(len(found)))
        say(f"{variant.lower()} trains these side by side and keeps the best by validation: {after} epochs.")
    if measure is None and sizes.graph is None:
        say("Time: [bold]--measure[/] makes or fetches the graph, measures two epochs and predicts the rest.")


def _print(estimated: Estimate, variant: str) -> None:
    sizes, measured, replicas = estimated.sizes, estimated.measured, estimated.run.replicas
    runs = f"{replicas:,} runs" if replicas > 1 else "1 run"
    say(
        f"[bold]{escape(sizes.name)}[/] · {variant} · {sizes.nodes:,} nodes, {sizes.edges:,} edges, "
        f"{sizes.features:,} features · {runs} · {estimated.run.place.device.type}"
    )
    say(f"  {'operator':<18} {estimated.operator.replace(': ', ', ', 1)}")
    say(f"  {'memory, at least':<18} {readable(estimated.least)}")
    if measured is not None:
        if measured.peak is not None:
            say(f"  {'memory, measured':<18} {readable(measured.peak)} for all that the program holds")
        count = {2: "two"}.get(measured.epochs, str(measured.epochs))
        epochs = f"{estimated.training.epochs:,} epochs of {_time(measured.epoch)}"
        most = "at most " * (estimated.training.patience is not None)
        say(
            f"  {'time':<18} [bold]{most}{_time(measured.total(estimated.training.epochs))}[/], {epochs}: "
            f"predicted from {count} measured epochs"
        )
    elif not estimated.training.epochs:
        say(f"  {'time':<18} not predicted, since there are no epochs to measure")
    verdict = escape(estimated.verdict())
    say(f"[bold]{verdict}[/]" if estimated.fits is False else verdict)


def _time(seconds: float) -> str:
    """A duration for a person.

    >>> _time(0.0123), _time(4.56), _time(400), _time(10_000)
    ('12 ms', '4.6 s', '6.7 min', '2.8 h')
    """
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= (2 * length if length > 1 else 1):
            return f"{seconds / length:,.1f} {unit}"
    return f"{1000 * seconds:.0f} ms"
