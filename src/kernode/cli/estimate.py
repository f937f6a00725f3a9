"""``kernode estimate``: memory and time of a run, by part, before anything is computed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernode.cli.console import DATA_HELP, JsonOption, QuietOption, print_json, say
from kernode.cli.fit import _widths
from kernode.compute.memory import readable

if TYPE_CHECKING:
    from kernode.studies.cost import Estimate

_LIBRARIES = 0.3  # seconds that libraries take to begin, when they are first used


def estimate(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    variant: Annotated[
        str, typer.Option(help="A method by name; auto, the default of fit, is k3-tuned and then diffusion.")
    ] = "auto",
    replicas: Annotated[int, typer.Option(help="Runs, trained together.")] = 10,
    hops: Annotated[int | None, typer.Option(help="H: neighbours at 0 … H hops.")] = None,
    hidden: Annotated[str | None, typer.Option(help="Hidden widths: 16, or 64,32.")] = None,
    powers: Annotated[str | None, typer.Option(help="each, last or plain.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.")] = None,
    precision: Annotated[int, typer.Option(help="32 or 64 bits.")] = 32,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Say what `kernode fit` would take: memory and time by part, and whether it fits.

    A synthetic graph is not made for that, and a data set is not fetched.

    Example: [bold]kernode estimate synthetic:nodes=1000000 --replicas 1[/]
    """
    started = time.perf_counter()
    changes: dict[str, Any] = {"hops": hops, "hidden": _widths(hidden), "powers": powers, "epochs": epochs}

    from kernode.compute.place import Place
    from kernode.node_classification.variants import WORDS, candidates
    from kernode.studies import cost as estimates
    from kernode.training.settings import seeds_from

    starting = time.perf_counter() - started + _LIBRARIES
    candidates(variant, **changes)  # what is wrong with the options is said before a file is read
    place, replicas = Place.of(precision, device), len(seeds_from(0, replicas))
    sizes = estimates.look_up(data)
    tried = candidates(variant, sizes.known_as or (WORDS if sizes.filled is not None else ""), **changes)
    found = {
        name: estimates.estimate(sizes, method, training, replicas, place, starting=starting)
        for name, (method, training) in tried.items()
    }
    if json:
        values = [{"variant": name, **one.to_json()} for name, one in found.items()]
        print_json(values[0] | ({"then": values[1:]} if len(values) > 1 else {}))
        return
    for name, one in found.items():
        _print(one, name)
    if len(found) > 1:
        say(f"auto trains these one after another and keeps one: {' and '.join(found)}.")


_COLUMNS: tuple[Literal["left", "right"], ...] = ("left", "right", "right", "left")

# What each part is called, and the time that belongs to it.
_TITLES = {
    "program": ("program", "starting"),
    "graph": ("graph", "loading"),
    "features": ("features", ""),
    "splits": ("splits", ""),
    "operator": ("operator", ""),
    "operator_building": ("preparing", "preparing"),
    "parameters": ("parameters and Adam", ""),
    "activations": ("training: activations", "epochs"),
    "triplets": ("training: triplets", ""),
    "evaluation": ("evaluating at the end", "evaluating"),
}


def _print(estimated: Estimate, variant: str) -> None:
    sizes, parts, seconds = estimated.sizes, estimated.parts, estimated.seconds
    say(
        f"[bold]{escape(sizes.name)}[/] · {variant} · {sizes.nodes:,} nodes, {sizes.edges:,} edges, "
        f"{sizes.features:,} features · {_runs(estimated)} · {estimated.place.device.type}"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for justify in _COLUMNS:
        table.add_column(justify=justify, no_wrap=True)
    notes = {"epochs": f"{parts.epochs:,} epochs of {_time(seconds['epoch'])}"} if parts.epochs > 1 else {}
    for name, size in estimated.memory.items():
        title, clock = _TITLES.get(name, ("", ""))
        if title and (size or seconds.get(clock)):
            taken = _time(seconds[clock]) if clock else ""
            table.add_row(f"  {title}", readable(size), taken, notes.get(clock, ""))
    about = "roughly" if estimated.rough else "about"
    table.add_row(
        f"  [bold]at most, {about}[/]",
        f"[bold]{readable(estimated.peak)}[/]",
        f"[bold]{_time(seconds['total'])}[/]",
        "in all",
    )
    Console(width=100 if not Console().is_terminal else None, highlight=False).print(table)
    say(f"Operator: {estimated.operator.reason.replace(': ', ', ', 1)}.")
    say(
        "Preparing, training and evaluating follow one another, so the most is less than the sum. "
        f"Expect {'a factor of 2' if estimated.rough else '30 %'} more or less in memory, "
        f"a factor of {3 if estimated.rough else 2} in time."
    )
    verdict = escape(estimated.verdict())
    say(verdict if estimated.fits else f"[bold]{verdict}[/]")


def _runs(estimated: Estimate) -> str:
    replicas, together = estimated.replicas, estimated.parts.together
    if replicas == 1:
        return "1 run"
    return f"{replicas:,} runs" + (f", {together:,} at a time" if together < replicas else " at once")


def _time(seconds: float) -> str:
    """A duration for a person.

    >>> _time(0.0123), _time(4.56), _time(400), _time(10_000)
    ('12 ms', '4.6 s', '6.7 min', '2.8 h')
    """
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= (2 * length if length > 1 else 1):
            return f"{seconds / length:,.1f} {unit}"
    return f"{1000 * seconds:.0f} ms"
