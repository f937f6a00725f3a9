"""``kernode fit --dry-run``: whether a run fits and how long it takes, before it is started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.options.graph import GraphOptions
from kernode.cli.options.run import FitOptions, OutputOptions
from kernode.cli.progress_bar import ProgressBar
from kernode.compute.machine import free_bytes, readable
from kernode.compute.replicas import seed_from
from kernode.estimators.regressor import NodeKernelRegressor, split_numbers
from kernode.graph import Graph
from kernode.io.sizes import GraphSizes, look_up
from kernode.models.fit import rungs
from kernode.search.estimate import Estimate, estimate
from kernode.tasks.classes.sum import RUNGS, affordable
from kernode.tasks.classes.variants import BEST, WORDS, candidates, is_sum
from kernode.training.run import Run


def dry_run(
    model: Any, graph: GraphOptions, run: FitOptions, output: OutputOptions, *,
    split: str | None, of_numbers: Callable[[str], Any],
) -> None:  # fmt: skip
    """Print a bound of memory, and the time if the graph is available, for every method to be tried."""
    is_regressor = isinstance(model, NodeKernelRegressor)
    if not is_regressor:
        model.methods()  # wrong settings come before a graph is read
    settings = graph.part("run")
    options = settings.options()
    with settings.computing(), progress(graph.name, quiet=output.silent) as begin:
        sizes = GraphSizes.of(graph.graph()) if graph.columns() else look_up(graph.data)
        if sizes.graph is None and not sizes.classes:  # a store
            sizes = GraphSizes.of(graph.graph())
        if is_regressor or (sizes.graph is not None and sizes.graph.holds_numbers):
            read = graph.graph() if sizes.graph is None else sizes.graph
            _print_numbers(model if is_regressor else of_numbers(read.target_name), read, split, output)
            return
        variant = model.variant
        one_run = Run(run.seeds(sizes, options, of_sum=is_sum(variant)), options, (ProgressBar(begin),))
        key = sizes.known_as or (WORDS if sizes.filled is not None else "")
        tried = candidates(variant, key, model._changes)
        tried = {name: pair for name, pair in tried.items() if not pair[0].closed_form} or tried
        thorough = variant.lower() == BEST or options.device.type == "cuda"
        if is_sum(variant) and not thorough:
            tried = affordable(tried, sizes) or tried
        found = {name: estimate(sizes, *settings, one_run) for name, settings in tried.items()}
    if is_sum(variant):
        rounds = [] if thorough else [(epoch, left) for epoch, left in RUNGS if left < len(found)]
    else:
        rounds = rungs(len(found))
    whole = _total(list(found.values()), rounds) if all(one.seconds for one in found.values()) else None
    if output.json:
        first, *others = ({"variant": name, **one.to_json()} for name, one in found.items())
        print_json(
            first
            | ({"then": others, "seconds_at_most": round(whole, 1) if whole else None} if others else {})
        )
        return
    if len(found) == 1:
        _print(next(iter(found.values())), variant)
    else:
        _print_several(found, variant)
        is_added = is_sum(variant)
        kept = [(epoch, f"{left} continue" if left > 1 else "one continues") for epoch, left in rounds]
        steps = [f"after {epoch} epochs the best {best}" for epoch, best in kept]
        steps += ["then their kernels are summed"] * is_added
        say(f"{variant} trains these together: {', '.join(steps)}.")
        if whole is not None:
            say(f"[bold]In all at most {_time(whole)}; members mostly stop earlier.[/]")
    if sizes.graph is None:
        say("Time: not predicted, since the graph is still to be made or fetched.")


def _print_numbers(
    model: NodeKernelRegressor, graph: Graph, split: str | None, output: OutputOptions
) -> None:
    """Print whether the posterior is exact, and a bound of memory."""
    parts = split_numbers(graph, split, (seed_from(model.random_state),))
    known = len(parts.train) + len(parts.validation)
    process, n, free = model.process(), graph.n_nodes, free_bytes()
    exact, least = process.is_exact(n, known), process.least_bytes(n, graph.n_features, known)
    fits, inducing = False if least > free else None, None if exact else process.inducing_count(n)
    if output.json:
        facts = {"dataset": graph.name, "task": "numbers", "target": graph.target_name, "nodes": n}
        facts |= {"edges": graph.n_edges, "features": graph.n_features, "known": known, "exact": exact}
        facts |= {"inducing": inducing, "device": "cpu"}
        facts |= {"least_memory_mb": round(least / 1e6, 1), "free_mb": round(free / 1e6, 1), "fits": fits}
        print_json(facts)
        return
    counted = f"{n:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features"
    say(f"[bold]{escape(graph.name)}[/] · {escape(graph.target_name or 'numbers')} · {counted} · cpu")
    how = "exact" if exact else f"approximate, {inducing:,} inducing nodes stand for all"
    say(f"  posterior          {how} ({known:,} known numbers)")
    say(f"  memory, at least   {readable(least)}")
    verdict = f"may fit: {readable(free)} free."
    if fits is False:
        verdict = f"does not fit: {readable(free)} are free. Use fewer known numbers or inducing nodes."
    say(f"[bold]{verdict}[/]")


def _total(methods: list[Estimate], rounds: list[tuple[int, int]]) -> float:
    """Seconds of all methods at most: after each round the most expensive ones go on."""
    seconds = sum(one.seconds["preparing"] + one.seconds["evaluating"] for one in methods if one.seconds)
    left = sorted(methods, key=lambda one: -one.seconds["total"] if one.seconds else 0.0)
    before = 0
    for epoch, count in [*rounds, (max(one.training.epochs for one in methods), 0)]:
        for one in left:
            more = max(0, min(epoch, one.training.epochs) - before)
            seconds += more * (one.seconds["epoch"] if one.seconds else 0.0)
        left, before = left[:count], epoch
    return seconds


def _print_several(found: dict[str, Estimate], variant: str) -> None:
    """One row for each method that is tried."""
    _print_title(next(iter(found.values())), variant)
    table = new_table(("method", "memory", "epochs", "per epoch", "time at most"), left=("method",))
    for name, one in found.items():
        times = [_time(one.seconds[key]) for key in ("epoch", "total")] if one.seconds else ["–", "–"]
        table.add_row(name, readable(one.peak or one.least), f"{one.training.epochs:,}", *times)
    print_table(table)
    for verdict in dict.fromkeys(one.verdict() for one in found.values() if not one.fits):
        say(f"[bold]{escape(verdict)}[/]")


def _print_title(estimated: Estimate, variant: str) -> None:
    sizes, replicas = estimated.sizes, estimated.run.replicas
    runs = f"{replicas:,} replicas" if replicas > 1 else "1 replica"
    counted = f"{sizes.nodes:,} nodes, {sizes.edges:,} edges, {sizes.features:,} features"
    device = estimated.run.options.device.type
    say(f"[bold]{escape(sizes.name)}[/] · {variant} · {counted} · {runs} · {device}")


def _print(estimated: Estimate, variant: str) -> None:
    _print_title(estimated, variant)
    seconds = estimated.seconds
    say(f"  operator           {escape(estimated.operator.replace(': ', ', ', 1))}")
    say(f"  memory, at least   {readable(estimated.least)}")
    if estimated.peak is not None:
        say(f"  memory, measured   {readable(estimated.peak)} in all")
    if seconds is not None:
        most = "at most " * (estimated.training.stopping_rule is not None)
        per_epoch = f"{estimated.training.epochs:,} epochs of {_time(seconds['epoch'])}"
        measured = f"measured over {estimated.measured_epochs}"
        say(f"  time               {most}{_time(seconds['total'])} ({per_epoch}, {measured})")
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
