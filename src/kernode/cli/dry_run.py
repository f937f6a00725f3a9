"""``kernode fit --dry-run``: whether a run fits and how long it takes, before it is started."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from kernode.cli.console import print_json, progress, say
from kernode.cli.options.graph import GraphOptions
from kernode.cli.options.run import FitOptions, OutputOptions
from kernode.cli.progress_bar import ProgressBar
from kernode.compute.machine import readable
from kernode.io.sizes import GraphSizes, look_up
from kernode.models.fit import rungs
from kernode.search.estimate import Estimate, estimate
from kernode.tasks.classes.sum import RUNGS
from kernode.tasks.classes.variants import WORDS, candidates, is_sum
from kernode.training.run import Run


def dry_run(model: Any, graph: GraphOptions, run: FitOptions, output: OutputOptions) -> None:
    """Print a bound of memory and, of a graph that is at hand, the time, of every method to be tried."""
    model.methods()  # wrong settings come before a graph is read
    settings, variant = graph.part("run"), model.variant
    options = settings.options()
    with settings.computing(), progress(graph.name, quiet=output.silent) as begin:
        sizes = GraphSizes.of(graph.graph()) if graph.columns() else look_up(graph.data)
        one_run = Run(run.seeds(sizes, options, of_sum=is_sum(variant)), options, (ProgressBar(begin),))
        key = sizes.known_as or (WORDS if sizes.filled is not None else "")
        tried = candidates(variant, key, model._changes)
        tried = {name: pair for name, pair in tried.items() if not pair[0].closed_form} or tried
        found = {name: estimate(sizes, *settings, one_run) for name, settings in tried.items()}
    if output.json:
        first, *others = ({"variant": name, **one.to_json()} for name, one in found.items())
        print_json(first | ({"then": others} if others else {}))
        return
    for name, one in found.items():
        _print(one, name)
    if len(found) > 1:
        is_added = is_sum(variant)
        rounds = (
            [(epoch, left) for epoch, left in RUNGS if left < len(found)] if is_added else rungs(len(found))
        )
        after = ", ".join(f"{left} after {epoch}" for epoch, left in rounds)
        kept = "sums their kernels" if is_added else "keeps the best by validation"
        say(f"{variant} trains these side by side and {kept}: {after} epochs.")
    if sizes.graph is None:
        say("Time: not predicted of a graph that is still to be made or fetched.")


def _print(estimated: Estimate, variant: str) -> None:
    sizes, seconds, replicas = estimated.sizes, estimated.seconds, estimated.run.replicas
    runs = f"{replicas:,} replicas" if replicas > 1 else "1 replica"
    counted = f"{sizes.nodes:,} nodes, {sizes.edges:,} edges, {sizes.features:,} features"
    device = estimated.run.options.device.type
    say(f"[bold]{escape(sizes.name)}[/] · {variant} · {counted} · {runs} · {device}")
    say(f"  operator           {escape(estimated.operator.replace(': ', ', ', 1))}")
    say(f"  memory, at least   {readable(estimated.least)}")
    if estimated.peak is not None:
        say(f"  memory, measured   {readable(estimated.peak)} for all that the program holds")
    if seconds is not None:
        most = "at most " * (estimated.training.stopping_rule is not None)
        per_epoch = f"{estimated.training.epochs:,} epochs of {_time(seconds['epoch'])}"
        measured = f"from {estimated.measured_epochs} that were measured"
        say(f"  time               {most}{_time(seconds['total'])}: {per_epoch}, {measured}")
    say(f"[bold]{escape(estimated.verdict())}[/]")


def _time(seconds: float) -> str:
    """A duration for a person.

    >>> _time(0.0123), _time(4.56), _time(400), _time(10_000)
    ('12 ms', '4.6 s', '6.7 min', '2.8 h')
    """
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= (2 * length if length > 1 else 1):
            return f"{seconds / length:,.1f} {unit}"
    return f"{1000 * seconds:.0f} ms"
